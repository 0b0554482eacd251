"""Projects keep the experiments and keys of teams apart."""

import re
import time
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import projects

DEFAULT_PROJECT = "default"
NAME = "^[a-z0-9][a-z0-9-]{0,31}$"


def create_project(database: Database, name: str) -> None:
    """Create a project; its name cannot be changed."""
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"A project's name has 1 to 32 small letters, digits and hyphens, and no hyphen first, got {name!r}"
        )
    try:
        with database.writing() as connection:
            connection.execute(projects.insert(), {"id": name, "created_at": time.time()})
    except IntegrityError:
        raise ValueError(f"There is a project {name!r} already") from None


def list_projects(database: Database) -> list[dict[str, Any]]:
    """All projects, by name; ``created_at`` is 0 for ``default``, which always exists."""
    with database.reader.connect() as connection:
        found = connection.execute(select(projects).order_by(projects.c.id))
        return [{"name": row.id, "created_at": row.created_at} for row in found]


def check_project(connection: Connection, name: str) -> None:
    """Raise a ValueError if there is no such project."""
    if connection.execute(select(projects.c.id).where(projects.c.id == name)).one_or_none() is None:
        raise ValueError(f"No project is called {name!r}")
