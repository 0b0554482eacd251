"""``fairbai serve``, ``keys`` and ``verify``: the HTTP service."""

import argparse
import contextlib
from datetime import UTC, datetime
from typing import Any

from fairbai.cli.flags import add_json
from fairbai.cli.printing import print_json, print_table
from fairbai.service.storage.settings import DEFAULT

SERVE_EXAMPLES = """examples:
  fairbai serve
  fairbai serve --demo
  fairbai serve --database postgresql://user@host/name --workers 4 --host 0.0.0.0 --port 8000

The first start on an empty database prints an admin key. SQLite allows one process; use PostgreSQL for more.
"""
KEYS_EXAMPLES = """examples:
  fairbai keys create --role writer --name "web shop"
  fairbai keys list
  fairbai keys revoke 4f2a90c1d3e8
"""
VERIFY_EXAMPLES = """examples:
  fairbai verify --database sqlite:///fairbai.db

Replays the log of every experiment and compares the result with what is stored; the exit code is 1 if they differ.
"""


def add_serve(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai serve``."""
    _add_database(parser, None, "; with --demo, a temporary one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of processes (default: 1; SQLite allows only 1)"
    )
    parser.add_argument("--demo", action="store_true", help="run an experiment with simulated visitors")


def add_keys(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai keys``."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    create = actions.add_parser("create", help="create a key; it is shown only once")
    create.add_argument("--role", choices=["admin", "writer", "reader"], required=True, help="what the key may do")
    create.add_argument("--name", default="", help="who uses the key")
    shown = actions.add_parser("list", help="list all keys, without their secrets")
    revoke = actions.add_parser("revoke", help="revoke a key")
    revoke.add_argument("key", help="the id of the key")
    for action in (create, shown, revoke):
        _add_database(action)
        add_json(action)


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai verify``."""
    _add_database(parser)
    add_json(parser)


def _add_database(parser: argparse.ArgumentParser, default: str | None = DEFAULT, note: str = "") -> None:
    parser.add_argument("--database", default=default, metavar="URL", help=f"database URL (default: {DEFAULT}{note})")


def run_serve(options: argparse.Namespace) -> None:
    """Serve until interrupted."""
    if options.workers < 1:
        raise ValueError(f"workers must be a whole number from 1, got {options.workers}")
    serve = _module("serve")
    database = options.database or (None if options.demo else DEFAULT)
    with contextlib.nullcontext(database) if database else serve.temporary_database() as url:
        settings = _module("storage.settings").ServerSettings(database=url, demo=options.demo)
        serve.serve(settings, options.host, options.port, options.workers, _say)


def _say(line: str) -> None:
    print(line, flush=True)


def run_keys(options: argparse.Namespace) -> None:
    """Create, list or revoke keys."""
    keys, databases = _module("storage.keys"), _module("storage.database")
    upgrades = _module("storage.upgrades")
    database = databases.open_database(options.database, create=options.action == "create")
    prepare = upgrades.upgrade if options.action == "create" else upgrades.check_version
    prepare(database)  # a key may be created before the first start
    if options.action == "create":
        key = keys.create_key(database, options.role, options.name)
        print_json({"key": key}) if options.json else print(key)
    elif options.action == "revoke":
        keys.revoke_key(database, options.key)
        if options.json:
            print_json({"revoked": options.key})
    elif options.json:
        print_json(keys.list_keys(database))
    else:
        rows = [[key["id"], key["role"], _day(key["created_at"]), _day(key["revoked_at"]), key["name"]]
                for key in keys.list_keys(database)]  # fmt: skip
        print_table(["id", "role", "created", "revoked", "name"], rows)
    database.close()


def run_verify(options: argparse.Namespace) -> int:
    """Replay all logs; returns 1 if anything differs."""
    verify, databases = _module("reading.verify"), _module("storage.database")
    database = databases.open_database(options.database, create=False)
    _module("storage.upgrades").check_version(database)
    found = {}
    for experiment, differences in verify.verify(database):
        found[experiment] = list(differences)
        for difference in () if options.json else found[experiment]:
            print(f"{experiment}: {difference}")
    earlier = verify.earlier_experiments(database)
    database.close()
    wrong = sum(map(bool, found.values()))
    if options.json:
        print_json({"experiments": len(found), "different": wrong, "differences": found, "earlier": earlier})
    else:
        if earlier:
            print(
                f"created by an earlier version, so only counts, sums and tickets were compared: {', '.join(earlier)}"
            )
        print(f"{wrong} of {len(found)} experiments differ from their log")
    return 1 if wrong else 0


def _module(name: str) -> Any:
    """A module of the service; raises an error that says how to install what it needs."""
    from fairbai.simulation.extras import needs

    return needs(f"fairbai.service.{name}", "service")


def _day(at: float | None) -> str:
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
