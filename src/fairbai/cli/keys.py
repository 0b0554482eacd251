"""``fairbai keys`` and ``projects``: who may use the HTTP service, and what keeps teams apart."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from fairbai.cli.flags import add_json, duration
from fairbai.cli.printing import print_json, print_table
from fairbai.cli.service import add_database, service_module

KEYS_EXAMPLES = """examples:
  fairbai keys create --role writer --name "web shop"
  fairbai keys create --project shop --role writer --name "web shop" --expires 90d
  fairbai keys list
  fairbai keys rotate 4f2a90c1d3e8 --grace 24h
  fairbai keys revoke 4f2a90c1d3e8

A key sees the experiments of its project only. An admin without a project is a server admin, who sees all of them.
"""
PROJECTS_EXAMPLES = """examples:
  fairbai projects create shop
  fairbai projects list

A project keeps the experiments and keys of a team apart from those of others. `default` always exists.
"""


def add_keys(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai keys``."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    create = actions.add_parser("create", help="create a key; it is shown only once")
    create.add_argument("--role", choices=["admin", "writer", "reader"], required=True, help="what the key may do")
    create.add_argument("--name", default="", help="who uses the key")
    create.add_argument(
        "--project", metavar="NAME", help="to which it belongs (default: none for admins, else the project `default`)"
    )
    shown = actions.add_parser("list", help="list keys, without their secrets")
    shown.add_argument("--project", metavar="NAME", help="only those of this project")
    rotate = actions.add_parser("rotate", help="create a successor of a key, and let the old one expire")
    about = "how long the old key still works, such as 24h (the default) or 0"
    rotate.add_argument("--grace", type=duration, default="24h", metavar="TIME", help=about)
    revoke = actions.add_parser("revoke", help="revoke a key")
    for action, default in ((create, "never"), (rotate, "the lifetime of the old key")):
        about = f"when the key expires, such as 90d (default: {default})"
        action.add_argument("--expires", type=duration, metavar="TIME", help=about)
    for action in (rotate, revoke):
        action.add_argument("key", help="the id of the key")
    for action in (create, shown, rotate, revoke):
        add_database(action)
        add_json(action)


def add_projects(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai projects``."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    create = actions.add_parser("create", help="create a project")
    create.add_argument("name", help="small letters, digits and hyphens")
    for action in (create, actions.add_parser("list", help="list all projects")):
        add_database(action)
        add_json(action)


def run_keys(options: argparse.Namespace) -> None:
    """Create, list, rotate or revoke keys."""
    keys = service_module("storage.keys")
    with _opened(options, new=options.action == "create") as database:
        if options.action == "create":
            given = (options.role, options.name, options.project, options.expires)
            _print_key(keys.create_key(database, *given), options)
        elif options.action == "rotate":
            _print_key(keys.rotate_key(database, options.key, options.grace, options.expires), options)
        elif options.action == "revoke":
            keys.revoke_key(database, options.key)
            if options.json:
                print_json({"revoked": options.key})
        else:
            _print_keys(keys.list_keys(database, options.project), options)


def _print_key(key: str, options: argparse.Namespace) -> None:
    print_json({"key": key}) if options.json else print(key)


def _print_keys(found: list[dict[str, Any]], options: argparse.Namespace) -> None:
    if options.json:
        print_json(found)
        return
    times = ("created_at", "expires_at", "used_at", "revoked_at")
    rows = [
        [key["id"], key["role"], key["project"] or "(all)", *(_minute(key[time]) for time in times), key["name"]]
        for key in found
    ]
    print_table(["id", "role", "project", "created", "expires", "last used", "revoked", "name"], rows)


def run_projects(options: argparse.Namespace) -> None:
    """Create or list projects."""
    projects = service_module("storage.projects")
    with _opened(options, new=options.action == "create") as database:
        if options.action == "create":
            projects.create_project(database, options.name)
            if options.json:
                print_json({"created": options.name})
        elif options.json:
            print_json(projects.list_projects(database))
        else:
            rows = [[one["name"], _minute(one["created_at"] or None)] for one in projects.list_projects(database)]
            print_table(["name", "created"], rows)


@contextmanager
def _opened(options: argparse.Namespace, new: bool) -> Iterator[Any]:
    """The database; a new one is made if ``new``, because keys may be created before the first start."""
    upgrades = service_module("storage.upgrades")
    database = service_module("storage.database").open_database(options.database, create=new)
    try:
        (upgrades.upgrade if new else upgrades.check_version)(database)
        yield database
    finally:
        database.close()


def _minute(at: float | None) -> str:
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
