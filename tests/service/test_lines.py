"""The log: one line per event, with the request's id and without secrets; and the access log."""

from __future__ import annotations

import json
import logging
import logging.config
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from fairbai.cli import main
from fairbai.service.http.lines import MAX_TEXTS, MAX_WARNINGS, Lines, RepeatLimit, configuration
from fairbai.service.http.tracing import new_id, request_id
from fairbai.service.storage import settings
from tests.service.running import address, create, running
from tests.service.wire import listening

PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
LOGGERS = ("uvicorn", "fairbai")
SECRET = "fb_4f2a90c1d3e8_ypERqrU7oli4CfGiPReDH3gMUNSKhk5rBfEtbaLjqyA"


def pairs(line: str) -> dict[str, str]:
    """What a line says, read as a collector of logs would."""
    assert "\n" not in line
    found = PAIR.findall(line)
    assert " ".join(f"{name}={value}" for name, value in found) == line
    return {name: json.loads(value) if value.startswith('"') else value for name, value in found}


def line(message: str, *arguments: Any, **more: Any) -> str:
    record = logging.LogRecord(
        "fairbai.service", logging.WARNING, "", 0, message, arguments, more.pop("exc_info", None)
    )
    vars(record).update(more)
    return Lines().format(record)


def test_a_line_has_time_level_request_and_message() -> None:
    assert pairs(line("kernels"))["request"] == "-"
    token = request_id.set("abc-1")
    found = pairs(line('a "word" = %s\nand another', "x y", fields={"status": 200, "empty": ""}))
    request_id.reset(token)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.pop("time"))
    del found["process"]
    assert found == {
        "level": "warning",
        "logger": "fairbai.service",
        "request": "abc-1",
        "message": 'a "word" = x y\nand another',
        "status": "200",
        "empty": "",
    }


def test_a_line_has_the_whole_error_and_no_secret() -> None:
    try:
        raise ValueError(f"no {SECRET} at postgresql://me:hush@host/name")
    except ValueError:
        text = line("failed with %s", SECRET, exc_info=sys.exc_info())
    found = pairs(text)
    assert "Traceback" in found["error"]
    assert "fb_4f2a90c1d3e8_***" in found["error"]  # which key it was is no secret
    assert "postgresql://me:***@host/name" in found["error"]
    assert SECRET not in text
    assert "hush" not in text


@pytest.mark.parametrize(
    "text", ["\u2028", "\x85", "\x9b31m", "\x1b[31m", "\x7f", "\u202e", "\ufeff", "\u200b", "\udc80"]
)
def test_nobody_forges_a_line(text: str) -> None:
    """No character of a client's ends a line, or is a command to a terminal; all can be read back."""
    forged = f"é{text}time=2025-01-01T00:00:00.000Z level=error"
    found = line("%s", f"/{forged}", fields={"path": forged})
    assert found.isprintable()
    assert len(found.splitlines()) == 1
    assert pairs(found)["path"] == forged
    assert pairs(found)["message"] == f"/{forged}"
    assert "message=/é" in line("/é")  # letters are left as they are


def warning(
    message: str = "Invalid HTTP request received.", *arguments: Any, level: int = logging.WARNING
) -> logging.LogRecord:
    return logging.LogRecord("uvicorn.error", level, "", 0, message, arguments, None)


def test_any_number_of_the_same_warning_takes_few_lines() -> None:
    now = 0.0
    limit = RepeatLimit(lambda: now)

    def passing(*records: logging.LogRecord) -> list[dict[str, str]]:
        return [pairs(Lines().format(record)) for record in records if limit.filter(record)]

    assert len(passing(*(warning() for _ in range(1000)))) == MAX_WARNINGS
    assert len(passing(warning("another"))) == 1
    assert len(passing(*(warning(level=logging.ERROR) for _ in range(20)))) == 20
    now = 1.0
    assert [found.get("left_out") for found in passing(warning(), warning())] == [str(1000 - MAX_WARNINGS), None]
    assert len(passing(*(warning("experiment %s: doubt", number) for number in range(2 * MAX_TEXTS)))) == 2 * MAX_TEXTS
    assert len(limit._known) <= MAX_TEXTS


def test_wrong_requests_take_few_lines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(one, one.handlers[:], one.propagate, one.level) for one in loggers]
    try:
        with listening(tmp_path) as wire:
            logging.config.dictConfig(configuration())
            capfd.readouterr()
            for _ in range(50):
                assert wire.answer(b"no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    finally:
        for one, handlers, propagate, level in before:
            one.handlers, one.propagate = handlers, propagate
            one.setLevel(level)
    said = capfd.readouterr().err.count("Invalid HTTP request")
    assert 1 <= said < 50


def test_requests_keep_a_sound_id_and_get_one_otherwise(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        kept = client.get("/healthz", headers={"X-Request-Id": "proxy/7f.3"})
        assert kept.headers.get_list("x-request-id") == ["proxy/7f.3"]
        seen = set()
        for wrong in ("", "a b", 'x"', "a" * 101, "ü", "a\tb"):
            answer = client.request("GET", "/nothing", headers=[(b"X-Request-Id", wrong.encode())])
            seen.add(answer.headers["x-request-id"])
            assert answer.json()["request_id"] == answer.headers["x-request-id"] != wrong
        assert len(seen) == 6
        at = create(client)
        for refused in (
            client.post(f"{at}/ask", json={"n": 0}),  # on the fast lane, and beside it
            client.post("/v1/plan", json={}),
            client.get("/readyz", headers={"Authorization": "Bearer x"}),
        ):
            assert refused.json()["request_id"] == refused.headers["x-request-id"]
    assert new_id() != new_id()


def test_errors_are_logged_with_the_id_of_their_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(Lines().format(record))  # type: ignore[method-assign]
    monkeypatch.setattr("fairbai.service.http.trial_forms.Ask.model_validate_json", lambda _: 1 / 0)
    logging.getLogger("fairbai").addHandler(handler)
    try:
        with running(address(tmp_path)) as client:
            at = create(client)
            failed = client.post(f"{at}/ask", headers={"X-Request-Id": "mine"})
    finally:
        logging.getLogger("fairbai").removeHandler(handler)
    assert (failed.status_code, failed.json()["request_id"]) == (500, "mine")
    (found,) = [pairs(text) for text in lines if "level=error" in text]
    assert found["request"] == "mine"
    assert "ZeroDivisionError" in found["error"]


def test_the_access_log_says_who_did_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fairbai.access")
    with running(address(tmp_path), access_log=True) as client:
        at = create(client)
        caplog.clear()
        client.post(f"{at}/ask?secret=1", json={}, headers={"X-Request-Id": "mine"})
        client.get("/readyz", headers={"Authorization": f"Bearer {SECRET}"})
        key = client.http.headers["Authorization"].split()[1]
    asked, refused = [record.fields for record in caplog.records if record.name == "fairbai.access"]
    assert 0.0 < asked.pop("milliseconds") < 10_000.0
    assert asked.pop("key") in (key.split("_")[1], "-")
    assert asked == {
        "method": "POST",
        "route": "/v1/experiments/{experiment}/ask",
        "path": f"{at}/ask",
        "status": 200,
        "address": "127.0.0.1",
    }
    assert (refused["status"], refused["key"]) == (401, "-")
    assert key not in caplog.text
    assert SECRET not in caplog.text


def test_requests_are_not_logged_unless_that_is_wanted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fairbai.access")
    with running(address(tmp_path)) as client:
        client.get("/healthz")
    assert [record for record in caplog.records if record.name == "fairbai.access"] == []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_that_is_taken_is_noticed_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        database = address(tmp_path) if workers == "1" else "postgresql://nobody@127.0.0.1:9/none"
        assert main(["serve", "--port", port, "--database", database, "--workers", workers]) == 2
    printed = capsys.readouterr()
    assert f"port {port} of 127.0.0.1 is already in use" in printed.err
    assert "key" not in printed.out
    assert list(tmp_path.iterdir()) == []


def test_where_to_listen_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, said in (
        (["--host", "203.0.113.1"], "cannot listen on port 8000 of 203.0.113.1"),
        (["--host", "a..b"], "host must be an address of this machine, got 'a..b'"),
        (["--port", "70000"], "port must be from 0 to 65535, got 70000"),
        (["--limit", "speed=1"], "a limit must be one of head_bytes"),
        (["--trusted-proxies", "nginx"], "trusted_proxies must be addresses or networks"),
    ):
        assert main(["serve", "--database", address(tmp_path), *given]) == 2
        assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_limits_and_proxies_reach_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.service.serve._run_one", lambda *_: None)
    monkeypatch.setenv(settings.VARIABLE, "{}")  # so that it is put back afterwards
    given = ["--limit", "connections=7", "--limit", "head_seconds=2", "--trusted-proxies", "10.0.0.0/8", "--access-log"]
    assert main(["serve", "--database", address(tmp_path), "--port", "0", *given]) == 0
    found = settings.ServerSettings.from_environment()
    assert (found.limits.connections, found.limits.head_seconds) == (7, 2.0)
    assert (found.trusted_proxies, found.access_log) == ("10.0.0.0/8", True)
