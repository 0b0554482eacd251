"""Backups of either database into either, and what a restore does to tickets and logs."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from fairbai.cli import main
from fairbai.service.domain.operations import Expire
from fairbai.service.reading.chains import read_heads
from fairbai.service.reading.verify import verify
from fairbai.service.storage import copies, deletions, keyring
from fairbai.service.storage.copies import backup
from fairbai.service.storage.database import open_database
from fairbai.service.storage.failures import DatabaseError
from fairbai.service.storage.schema import SCHEMA, metadata
from fairbai.service.storage.upgrades import schema_version, upgrade
from fairbai.service.writing import restoring
from fairbai.service.writing.restoring import restore
from tests.service.earlier import take_back
from tests.service.running import FORM, Local, address, ask, create, opened, play, running, tell


def saved(url: str, file: Path) -> dict[str, int]:
    with closing(open_database(url)) as database:
        return backup(database, file)


def restored(file: Path, url: str) -> dict[str, int]:
    with closing(open_database(url)) as database:
        return restore(file, database)


def rows(url: str) -> dict[str, list[Any]]:
    """Everything in a database."""
    with closing(open_database(url)) as database, database.snapshot() as connection:
        return {
            name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for name, table in metadata.tables.items()
        }


def verified(url: str, *heads: str) -> list[str]:
    with closing(open_database(url)) as database:
        return [difference for _, found in verify(database, read_heads(heads)) for difference in found]


def filled(client: Local) -> list[str]:
    """Experiments of all kinds."""
    one = create(client, delta=1e-9)
    play(client, one, 20)
    client.post(f"{one}/batches", json={"batch": "x", "pulls": {"a": 3}, "sums": {"a": 1.5}})
    drawn = create(client, stopping="design_based", family="bernoulli", name="gezählt")
    tell(client, drawn, {ticket["ticket"]: 1.0 for ticket in ask(client, drawn, 5)[1:]})
    closed = create(client)
    ask(client, closed, 3)
    client.post(f"{closed}/close")
    return [one, drawn, closed]


def test_a_backup_while_the_server_runs_restores_to_the_same(tmp_path: Path) -> None:
    file, target = tmp_path / "backup.db", f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        experiments = filled(client)
        counts = saved(address(tmp_path), file)
        lost, before = ask(client, experiments[0], 3), [client.get(at).json() for at in experiments]
        head = f"{experiments[0].rsplit('/', 1)[1]}={client.get(f'{experiments[0]}/head').json()['head']}"
    assert (counts["experiments"], counts["keys"]) == (3, 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["backup.db", "test.db"]
    assert restored(file, target) == counts
    assert verified(target) == []
    assert any("restored from a backup" in difference for difference in verified(target, head))
    with running(target) as client:
        for at, was in zip(experiments, before, strict=True):
            now = client.get(at).json()
            assert now["recommendation"] == was["recommendation"]
        assert client.get(experiments[0]).json()["trials"] == before[0]["trials"] - 3
        ask(client, experiments[0], 3)
        body = {"rewards": [{"ticket": lost[0]["ticket"], "reward": 1.0}]}
        assert client.post(f"{experiments[0]}/tell", json=body).json()["title"] == "Ticket of a lost history"
        log = client.get(f"{experiments[0]}/events?format=ndjson").text.splitlines()
        (line,) = (found for found in map(json.loads, log) if found["kind"] == "restored")
        detail = json.loads(line["detail"])
        assert detail["restores"] == 1
        assert detail["stream"] > 0  # it draws anew
    assert verified(target) == []


def test_tickets_of_the_backup_stay_valid(tmp_path: Path) -> None:
    file, target = tmp_path / "backup.db", f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        at = create(client)
        tickets = ask(client, at, 5)
    saved(address(tmp_path), file)
    restored(file, target)
    saved(target, tmp_path / "again.db")
    restored(tmp_path / "again.db", f"sqlite:///{tmp_path}/newer.db")
    with running(f"sqlite:///{tmp_path}/newer.db") as client:
        assert tell(client, at, {ticket["ticket"]: 1.0 for ticket in tickets})["counted"] == 5
    with closing(sqlite3.connect(tmp_path / "newer.db")) as connection:
        assert connection.execute("SELECT restores FROM experiments").fetchall() == [(2,)]
    assert verified(f"sqlite:///{tmp_path}/newer.db") == []


def test_a_bare_number_does_not_void_the_reward_of_another_trial(tmp_path: Path) -> None:
    """Somebody has exported the log before the restore, and wants to void what is there under number 5."""
    target = f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        at = create(client, delta=1e-9)
        kept = ask(client, at, 5)
        tell(client, at, {ticket["ticket"]: 1.0 for ticket in kept})
        assert client.post(f"{at}/void", json={"tickets": ["0"], "reason": "sent twice"}).json()["voided"] == 1
        saved(address(tmp_path), tmp_path / "backup.db")
        (lost,) = ask(client, at)
        tell(client, at, {lost["ticket"]: 1e9})
    restored(tmp_path / "backup.db", target)
    with running(target) as client:
        (now,) = ask(client, at)
        tell(client, at, {now["ticket"]: 1.0})
        wrong = {"5": 409, lost["ticket"]: 410, now["ticket"]: 200, kept[1]["ticket"]: 200, "2": 409}
        answers = {
            ticket: client.post(f"{at}/void", json={"tickets": [ticket], "reason": "in cents"}) for ticket in wrong
        }
        assert {ticket: answer.status_code for ticket, answer in answers.items()} == wrong
        assert "Ticket 5 must be given in full, as in the column full_ticket" in answers["5"].json()["detail"]
    assert verified(target) == []


def test_a_name_that_is_taken_while_the_backup_is_written_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tmp_path / "backup.db", copies._write

    def write(*given: Any) -> dict[str, int]:
        file.write_text("of somebody else")
        return real(*given)

    monkeypatch.setattr(copies, "_write", write)
    with opened(address(tmp_path)), pytest.raises(FileExistsError):
        saved(address(tmp_path), file)
    assert file.read_text() == "of somebody else"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["backup.db", "test.db"]


def test_a_backup_during_a_deletion_is_restored(tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        deleted, kept = create(client), create(client)
        with client.app.service.database.writer.begin() as connection:
            deletions.record(connection, deleted.rsplit("/", 1)[1], 1.0, None)
        saved(address(tmp_path), tmp_path / "backup.db")
    restored(tmp_path / "backup.db", target)
    assert verified(target) == []
    with running(target) as client:
        assert [client.get(at).status_code for at in (deleted, kept)] == [404, 200]


def test_bare_tickets_expire_in_a_restore_of_an_earlier_schema(tmp_path: Path) -> None:
    """Where rewards are counted at an age they are silent at that age, and not before."""
    target = f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        leased, endless, aged = create(client), create(client, lease=None), create(client, report_after=1000.0)
        given = [ask(client, at, 4) for at in (leased, endless, aged)]
        for at, tickets in zip((leased, endless, aged), given, strict=True):
            tell(client, at, {tickets[0]["ticket"]: 1.0})
    take_back(address(tmp_path), "0005")
    assert saved(address(tmp_path), tmp_path / "backup.db")["tickets"] == 12
    restored(tmp_path / "backup.db", target)
    with closing(open_database(target)) as database:
        assert schema_version(database) == SCHEMA
    with running(target) as client:
        found = [client.get(at).json() for at in (leased, endless, aged)]
        assert [(one["pending"], one["expired"]) for one in found] == [(0, 3), (0, 3), (4, 0)]
        refused = client.post(f"{aged}/tell", json={"rewards": [{"ticket": "1", "reward": 1.0}]})
        assert refused.json()["title"] == "Ticket of a lost history"
        service = client.app.service
        assert client.wait(_expire(service, aged)) == 4
    assert verified(target) == []


async def _expire(service: Any, at: str) -> int:
    found: int = await service.writer.submit(Expire(at.rsplit("/", 1)[1], None, [0, 1, 2, 3]))
    return found


def test_what_a_restore_refuses(tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    with running(address(tmp_path)) as client:
        filled(client)
    saved(address(tmp_path), file)
    before = rows(address(tmp_path))
    with pytest.raises(DatabaseError, match=r"test\.db has experiments, which a restore would destroy"):
        restored(file, address(tmp_path))
    assert rows(address(tmp_path)) == before
    with pytest.raises(FileExistsError, match="never written over another file"):
        saved(address(tmp_path), file)
    empty = f"sqlite:///{tmp_path}/empty.db"
    with pytest.raises(DatabaseError, match="no such file"):
        restored(tmp_path / "nowhere.db", empty)
    (tmp_path / "text").write_text("not a database at all" * 100)
    with pytest.raises(DatabaseError, match="file is not a database"):
        restored(tmp_path / "text", empty)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(DatabaseError, match="is not a backup of fairbai"):
        restored(tmp_path / "other.db", empty)
    with pytest.raises(DatabaseError, match="no tables: there is nothing to back up"):
        saved(empty, tmp_path / "nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseError, match=r"the backup was written by a newer fairbai \(schema 9999\)"):
        restored(file, empty)
    assert not list(tmp_path.glob(".*.part*"))


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    with running(address(tmp_path)) as client:
        filled(client)
    saved(address(tmp_path), file)
    data = bytearray(file.read_bytes())
    data[8192:16384] = bytes(8192)
    file.write_bytes(data)
    with pytest.raises(DatabaseError, match=r"is damaged|malformed"):
        restored(file, f"sqlite:///{tmp_path}/new.db")


def test_a_restore_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, target = tmp_path / "backup.db", f"sqlite:///{tmp_path}/new.db"
    with running(address(tmp_path)) as client:
        filled(client)
    saved(address(tmp_path), file)
    with opened(target):
        pass  # as a server that was started too early leaves it
    before = rows(target)

    def fail(*_: Any) -> None:
        raise OSError("power")

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "_mark", fail)
        with pytest.raises(OSError, match="power"):
            restored(file, target)
    assert rows(target) == before
    restored(file, target)
    assert verified(target) == []


def test_a_server_that_runs_on_the_database_refuses_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read before what units are hashed with: each of them would be new."""
    monkeypatch.setattr(keyring, "REMEMBERED", 3600.0)  # keys, too, are replaced by those of the backup
    target, units = f"sqlite:///{tmp_path}/new.db", [{"unit": f"visitor {number}"} for number in range(5)]
    with running(address(tmp_path)) as client:
        at = create(client)
        given = [client.post(f"{at}/ask", json=unit).json()["tickets"] for unit in units]
    saved(address(tmp_path), tmp_path / "backup.db")
    said = "The database was restored from a backup while this server was running: it must be restarted"
    with running(target) as client:
        assert client.get("/readyz").status_code == 200
        restored(tmp_path / "backup.db", target)
        calls = [(f"{at}/ask", unit) for unit in units] + [(f"{at}/ask", {}), ("/v1/experiments", FORM)]
        for path, form in calls:
            refused = client.post(path, json=form)
            assert (refused.status_code, refused.json()["detail"]) == (503, said)
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, said)
    with running(target) as client:
        assert client.get("/readyz").status_code == 200
        assert [client.post(f"{at}/ask", json=unit).json()["tickets"] for unit in units] == given
    assert verified(target) == []


def test_sessions_are_left_out(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        create(client)
    with closing(sqlite3.connect(tmp_path / "test.db")) as connection, connection:
        connection.execute("INSERT INTO sessions SELECT 'x', id, 1.0, 2.0 FROM keys")
    saved(address(tmp_path), tmp_path / "backup.db")
    kept, copied = rows(address(tmp_path)), rows(f"sqlite:///{tmp_path}/backup.db")
    assert (len(kept.pop("sessions")), copied.pop("sessions")) == (1, [])
    assert copied == kept


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "backup.db")
    with running(address(tmp_path)) as client:
        ask(client, create(client))
    assert main(["backup", file, "--database", address(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{file}: 1 experiment, 2 events, 1 ticket, 1 key\n"
    assert main(["restore", file, "--database", f"sqlite:///{tmp_path}/new.db"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"restored 1 experiment, 2 events, 1 ticket, 1 key from {file}\n")
    assert said.endswith("0 of 1 experiments differ from their log\n")
    assert main(["restore", file, "--database", f"sqlite:///{tmp_path}/new.db"]) == 2
    assert main(["restore", file, "--json", "--database", f"sqlite:///{tmp_path}/other.db"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"]["events"], said["different"]) == (2, 0)


@pytest.mark.system
def test_either_database_into_either(tmp_path: Path, postgresql: str) -> None:
    """SQLite, PostgreSQL and SQLite again: every row is the same but for what the restores add."""
    with running(address(tmp_path)) as client:
        experiments = filled(client)
        saved(address(tmp_path), tmp_path / "one.db")
        assert rows(f"sqlite:///{tmp_path}/one.db") == rows(address(tmp_path))
        lost = ask(client, experiments[0], 5)
    restored(tmp_path / "one.db", postgresql)
    assert verified(postgresql) == []
    with pytest.raises(DatabaseError, match="has experiments"):
        restored(tmp_path / "one.db", postgresql)
    with running(postgresql) as client:
        ask(client, experiments[0], 5)
        for one in lost:
            body = {"rewards": [{"ticket": one["ticket"], "reward": 1.0}]}
            assert client.post(f"{experiments[0]}/tell", json=body).status_code == 410
        play(client, experiments[0], 5)
        saved(postgresql, tmp_path / "two.db")
        play(client, experiments[0], 5)
    assert verified(f"sqlite:///{tmp_path}/two.db") == []
    restored(tmp_path / "two.db", f"sqlite:///{tmp_path}/three.db")
    assert verified(f"sqlite:///{tmp_path}/three.db") == []
    before, after = (rows(f"sqlite:///{tmp_path}/{name}.db") for name in ("one", "three"))
    assert set(before["events"]) < set(after["events"])
    assert set(before["history"]) <= set(after["history"])
    kinds = [row[3] for row in after["events"] if row[0] == experiments[2].rsplit("/", 1)[1]]
    assert kinds == ["created", "asked", "closed", "restored", "restored"]


@pytest.mark.system
def test_an_empty_postgresql_with_tables_is_filled(tmp_path: Path, postgresql: str) -> None:
    with running(address(tmp_path)) as client:
        filled(client)
    saved(address(tmp_path), tmp_path / "one.db")
    with closing(open_database(postgresql)) as database:
        upgrade(database)
    restored(tmp_path / "one.db", postgresql)
    assert verified(postgresql) == []
