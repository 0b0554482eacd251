"""Databases as they are after years: many experiments, one of them with a log of millions of events.

Their rows are written straight to the file, because the service would take hours to do so; what the pages read beside
them is what it would have written. (The log cannot be replayed: its arms are not those that a rule would choose.)
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairbai.service.domain.book import Book, encode, new_book
from fairbai.service.storage.database import open_database
from fairbai.service.storage.upgrades import upgrade

ARMS = ["green", "blue", "red"]
MEANS = np.array([0.1, 0.101, 0.1])
LARGE = "f" * 16
CONFIG: dict[str, Any] = {
    "arms": ARMS,
    "delta": 1e-9,
    "family": "bernoulli",
    "floors": {"kind": "constant", "floor": 0.1},
    "sampling": "fair_top_two",
    "stopping": "mixture",
    "settle": True,
    "seed": 1,
    "lease": None,
}


def build(file: Path, events: int, experiments: int = 100) -> None:
    """A database with so many experiments, the last of which has so many events: a trial asked for, and told."""
    database = open_database(f"sqlite:///{file}")
    upgrade(database)
    database.close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    for number in range(experiments - 1):
        _insert(connection, f"{number:016x}", f"experiment {number}", _book(number, 50 + 20 * number), 1.7e9 + number)
    trials = events // 2
    book = _book(1, trials)
    book.version = 1 + 2 * trials
    _insert(connection, LARGE, "the large one", book, 1.8e9)
    connection.executemany(
        "INSERT INTO events (experiment, sequence, at, kind, data) VALUES (?, ?, ?, ?, ?)", _events(trials)
    )
    connection.executemany(
        "INSERT INTO tickets (experiment, number, arm, waiting, reward) VALUES (?, ?, ?, 0, ?)", _tickets(trials)
    )
    connection.executemany("INSERT INTO history VALUES (?, ?, ?, ?)", _points(trials))
    connection.commit()
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def _book(number: int, trials: int) -> Book:
    """An experiment after so many trials in equal shares."""
    book = new_book({"name": f"experiment {number}", **CONFIG})
    pulls = np.full(3, trials // 3)
    book.tell_batch(pulls.tolist(), np.floor(pulls * MEANS).tolist())
    book.look()
    return book


def _insert(connection: sqlite3.Connection, name: str, title: str, book: Book, at: float) -> None:
    row = {"id": name, "key": None, "name": title, "created_at": at, "config": encode(book.config), "arms": 3}
    row |= book.row()
    columns = ", ".join(row)
    connection.execute(f"INSERT INTO experiments ({columns}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


def _events(trials: int) -> Iterator[tuple[Any, ...]]:
    yield LARGE, 1, 1.8e9, "created", encode(CONFIG)
    for number in range(trials):
        arm, at = number % 3, 1.8e9 + number
        asked = f'{{"first":{number},"n":1,"serve_winner":false,"arms":[{arm}],"expires_at":null}}'
        yield LARGE, 2 * number + 2, at, "asked", asked
        told = f'{{"tickets":[{number}],"arms":[{arm}],"rewards":[0.0],"late":[],"expired":[]}}'
        yield LARGE, 2 * number + 3, at, "told", told


def _tickets(trials: int) -> Iterator[tuple[Any, ...]]:
    return ((LARGE, number, number % 3, 0.0) for number in range(trials))


def _points(trials: int) -> Iterator[tuple[Any, ...]]:
    """As often as the service keeps them."""
    at = 1
    while at <= trials:
        point = {"observed": at, "shares": [1 / 3] * 3, "means": MEANS.tolist(), "glr": at / 1e6, "threshold": 25.0}
        yield LARGE, at, 1.8e9 + at, encode(point)
        at = max(at + 1, int(at * 1.05))
