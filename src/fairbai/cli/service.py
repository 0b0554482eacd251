"""``fairbai serve``, ``verify``, ``backup`` and ``restore``: the HTTP service."""

import argparse
import contextlib
import os
from pathlib import Path
from typing import Any

from fairbai.cli.flags import add_json, duration, time_span
from fairbai.cli.printing import print_json
from fairbai.service.storage.settings import DEFAULT

HOSTS, SECRET = "FAIRBAI_WEBHOOK_HOSTS", "FAIRBAI_WEBHOOK_SECRET"  # environment variables
UNIT_SECRET = "FAIRBAI_UNIT_SECRET"
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # what NumPy heeds when it is imported
SERVE_EXAMPLES = """examples:
  fairbai serve
  fairbai serve --demo
  fairbai serve --database postgresql://user@host/name --workers 4 --host 0.0.0.0 --port 8000

The first start on an empty database prints an admin key. SQLite allows one process; use PostgreSQL for more.
"""
VERIFY_EXAMPLES = """examples:
  fairbai verify --database sqlite:///fairbai.db
  fairbai verify --head 9f31c0de5a7b2468=1204:5e0c...
  fairbai verify --head heads.txt

Replays the log of every experiment, compares the result with what is stored, and follows the hashes that chain its
events; the exit code is 1 if anything differs. A log that was cut off at its end is only seen with a head that was
kept elsewhere: every answer of tell has one.
"""
BACKUP_EXAMPLES = """examples:
  fairbai backup backup-2025-05-01.db
  fairbai backup backup.db --database postgresql://user@host/name

Writes a snapshot of the whole database to a new SQLite file, while servers go on.
"""
RESTORE_EXAMPLES = """examples:
  fairbai restore backup-2025-05-01.db --database sqlite:///new.db
  fairbai restore backup.db --database postgresql://user@host/name

Fills an empty database from a backup of either database, and verifies it. Tickets that were given out after the backup
was made are refused from then on, and every experiment's log says that it was restored.
"""


def add_serve(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai serve``."""
    add_database(parser, None, "; with --demo, a temporary one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of processes (default: 1; SQLite allows only 1)"
    )
    parser.add_argument(
        "--session", type=duration, default="12h", metavar="TIME", help="how long people stay signed in (default: 12h)"
    )
    parser.add_argument(
        "--key-rate",
        type=float,
        default=2000.0,
        metavar="N",
        help="requests per second that a key may send to a worker, twice as many at once; 0: any (default: 2000)",
    )
    parser.add_argument(
        "--trusted-proxies",
        default="",
        metavar="LIST",
        help="addresses or networks of proxies whose X-Forwarded-For and -Proto are believed (default: none)",
    )
    parser.add_argument(
        "--policy-seconds",
        type=duration,
        default=60.0,
        metavar="TIME",
        help="how long a policy for edge nodes stays the same: seconds, or 5m (default: 60)",
    )
    parser.add_argument("--access-log", action="store_true", help="log every request")
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a limit, such as connections=8000; docs/exposing.md lists them; may be given several times",
    )
    parser.add_argument(
        "--retention",
        type=time_span,
        metavar="DURATION",
        help="delete experiments this long after their end: 365d (default: never)",
    )
    parser.add_argument(
        "--unit-retention",
        type=time_span,
        metavar="DURATION",
        help="forget units, such as visitors, this long after their assignment: 90d (default: never)",
    )
    parser.add_argument(
        "--unit-secret",
        metavar="FILE",
        help=f"file with the secret that units are hashed with (default: {UNIT_SECRET}, or a key in the database)",
    )
    parser.add_argument(
        "--webhook-host",
        action="append",
        metavar="HOST",
        help="host to which webhooks may be sent, such as hooks.example.com or *.example.com; repeatable "
        f"(default: {HOSTS}, with commas, or none)",
    )
    parser.add_argument(
        "--webhook-secret", metavar="FILE", help=f"file with the secret that signs webhooks (default: {SECRET})"
    )
    parser.add_argument("--demo", action="store_true", help="run an experiment with simulated visitors")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai verify``."""
    parser.add_argument(
        "--head",
        action="append",
        default=[],
        metavar="EXPERIMENT=SEQUENCE:HASH",
        help="a head that was kept, or a file with one per line; may be repeated",
    )
    add_database(parser)
    add_json(parser)


def add_backup(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai backup``."""
    parser.add_argument("file", metavar="FILE", help="the file to write, which must not exist")
    add_database(parser)
    add_json(parser)


def add_restore(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai restore``."""
    parser.add_argument("file", metavar="FILE", help="the backup")
    parser.add_argument("--database", required=True, metavar="URL", help="URL of the empty database to fill")
    add_json(parser)


def add_database(parser: argparse.ArgumentParser, default: str | None = DEFAULT, note: str = "") -> None:
    """The flag ``--database``."""
    parser.add_argument("--database", default=default, metavar="URL", help=f"database URL (default: {DEFAULT}{note})")


def run_serve(options: argparse.Namespace) -> None:
    """Serve until interrupted."""
    if options.workers < 1:
        raise ValueError(f"workers must be a whole number from 1, got {options.workers}")
    if options.session == 0.0:
        raise ValueError("session must be longer than 0, such as 12h")
    if not options.key_rate >= 0.0:
        raise ValueError(f"key-rate must be a number from 0, got {options.key_rate:g}")
    _use_one_blas_thread()
    serve = service_module("serve")
    limits = service_module("storage.limits").Limits().changed(options.limit)
    database = options.database or (None if options.demo else DEFAULT)
    with contextlib.nullcontext(database) if database else serve.temporary_database() as url:
        settings = service_module("storage.settings").ServerSettings(
            database=url,
            demo=options.demo,
            session_seconds=options.session,
            key_rate=options.key_rate,
            policy_seconds=options.policy_seconds,
            limits=limits,
            trusted_proxies=options.trusted_proxies,
            access_log=options.access_log,
            **_operation(options),
        )
        serve.serve(settings, options.host, options.port, options.workers, _say)


def _use_one_blas_thread() -> None:
    """Unless the user says how many threads: matrices are small here, and threads that wait for a core take longer."""
    if not any(name in os.environ for name in BLAS_THREADS):
        os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))


def _operation(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of retention, units and webhooks, checked."""
    named = os.environ.get(HOSTS, "").split(",") if options.webhook_host is None else options.webhook_host
    hosts = service_module("domain.webhooks").checked_hosts([host for host in named if host])
    secret, unit_secret = _secret(options.webhook_secret, SECRET), _secret(options.unit_secret, UNIT_SECRET)
    least = service_module("domain.webhooks").MIN_SECRET
    if hosts and len(secret or "") < least:
        raise ValueError(f"webhooks need a secret of at least {least} characters: give --webhook-secret or {SECRET}")
    if unit_secret is not None and len(unit_secret) < least:
        raise ValueError(f"the secret of units must have at least {least} characters, got {len(unit_secret)}")
    for given in filter(None, (options.retention, options.unit_retention)):
        service_module("domain.cycles").checked_retention(given)
    return {
        "retention": options.retention,
        "unit_retention": options.unit_retention,
        "unit_secret": unit_secret,
        "webhook_hosts": hosts,
        "webhook_secret": secret if hosts else None,
    }


def _secret(file: str | None, variable: str) -> str | None:
    """A secret from a file or, without one, from the environment."""
    return os.environ.get(variable) if file is None else Path(file).read_text(encoding="utf-8").strip()


def _say(line: str) -> None:
    print(line, flush=True)


def run_verify(options: argparse.Namespace) -> int:
    """Replay all logs; returns 1 if anything differs."""
    databases, heads = service_module("storage.database"), service_module("reading.chains").read_heads(options.head)
    database = databases.open_database(options.database, create=False)
    service_module("storage.upgrades").check_version(database)
    try:
        return _verify(database, heads, options.json)
    finally:
        database.close()


def _verify(database: Any, heads: dict[str, Any], json: bool, **before: Any) -> int:
    """Print what differs, in JSON with what was done before; returns 1 if anything does."""
    verify, chains = service_module("reading.verify"), service_module("reading.chains")
    found = {}
    for experiment, differences in verify.verify(database, heads):
        found[experiment] = list(differences)
        for difference in () if json else found[experiment]:
            print(f"{experiment}: {difference}")
    earlier, seen = verify.earlier_experiments(database), chains.seen(database, heads)
    wrong = sum(map(bool, found.values()))
    if json:
        counts = {"experiments": len(found), "different": wrong}
        print_json({**before, **counts, "differences": found, "earlier": earlier, **seen})
        return 1 if wrong else 0
    if earlier:
        print(f"created by an earlier version, so only counts, sums and tickets were compared: {', '.join(earlier)}")
    for sentence in chains.sentences(seen):
        print(sentence)
    print(f"{wrong} of {len(found)} experiments differ from their log")
    return 1 if wrong else 0


def run_backup(options: argparse.Namespace) -> None:
    """Write a backup."""
    database = service_module("storage.database").open_database(options.database, create=False)
    try:
        counts = service_module("storage.copies").backup(database, Path(options.file))
    finally:
        database.close()
    print_json({"file": options.file, "rows": counts}) if options.json else print(f"{options.file}: {_counted(counts)}")


def run_restore(options: argparse.Namespace) -> int:
    """Restore a backup and verify it; returns 1 if anything differs."""
    database = service_module("storage.database").open_database(options.database)
    try:
        counts = service_module("writing.restoring").restore(Path(options.file), database)
        if not options.json:
            print(f"restored {_counted(counts)} from {options.file}")
            print("Keys are those of the backup: revoke those that were revoked since (fairbai keys list)")
        return _verify(database, {}, options.json, rows=counts)
    finally:
        database.close()


def _counted(counts: dict[str, int]) -> str:
    named = {name: name.removesuffix("s") if counts[name] == 1 else name for name in counts}
    return ", ".join(f"{counts[name]:,} {named[name]}" for name in ("experiments", "events", "tickets", "keys"))


def service_module(name: str) -> Any:
    """A module of the service; raises an error that says how to install what it needs."""
    from fairbai.simulation.extras import needs

    return needs(f"fairbai.service.{name}", "service")
