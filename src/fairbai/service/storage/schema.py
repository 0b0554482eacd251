"""The tables. Times are seconds since 1970 (UTC); JSON is stored as text, because every bit must survive.

``events`` is the log: one row per operation, from which everything else follows. ``experiments.state`` and ``tickets``
are written in the same transactions, so that nobody has to read the log to continue.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
    literal_column,
    not_,
)

SCHEMA = "0009"  # the revision of the migrations that makes these tables

metadata = MetaData()

projects = Table(
    "projects",
    metadata,
    Column("id", String(32), primary_key=True),  # a short name, as in addresses
    Column("created_at", Double, nullable=False),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("project", String(32), nullable=False, server_default="default"),
    Column("key", String(300), unique=True),  # who created it, and the Idempotency-Key of that
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("config", Text, nullable=False),
    Column("version", BigInteger, nullable=False),  # number of events in its log
    Column("head", String(64)),  # the hash of the last of them; null in a log that an earlier version wrote
    Column("restores", Integer, nullable=False, server_default="0"),  # of a backup, since it was created
    Column("state", Text, nullable=False),  # a Book
    Column("decided", Boolean, nullable=False),  # from here on: copies of what is in the state, for lists
    Column("stopped", Boolean, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("recommendation", Text),
    Column("assigned", BigInteger, nullable=False),
    Column("observed", BigInteger, nullable=False),
    Column("arms", Integer),  # null in a row of an older version before its backfill
    Column("progress", Double),  # evidence over threshold
    Column("floors_kept", Boolean),  # null while the only guarantees are for the stop
    Column("looks_at", Double),  # when it decides or ends without a request; null: never
    Column("confidence", Double),  # how sure it is of the recommendation; null where nothing is proved
    Column("ended_by", String(16)),  # null while tickets are given out
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("switched_off", Text),  # the numbers of the arms that are, as JSON; null: none
    Column("flag", String(100)),  # the key of OpenFeature; null: none, or deleted
    Index("experiments_newest", "created_at", "id"),
)
LOOKS = experiments.c.looks_at.is_not(None)
Index("experiments_looks", experiments.c.looks_at, sqlite_where=LOOKS, postgresql_where=LOOKS)
FLAGGED = experiments.c.flag.is_not(None)
OPEN_FLAG = FLAGGED & not_(experiments.c.stopped)
Index("experiments_flags", experiments.c.project, experiments.c.flag, experiments.c.created_at,
      sqlite_where=FLAGGED, postgresql_where=FLAGGED)  # fmt: skip
Index("experiments_flag", experiments.c.project, experiments.c.flag, unique=True,
      sqlite_where=OPEN_FLAG, postgresql_where=OPEN_FLAG)  # fmt: skip

events = Table(
    "events",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("at", Double, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("key", String(250)),  # the experiment and the client's name for the operation
    Column("data", Text, nullable=False),
    Column("actor", String(16)),  # the id of the key of who did it; null: the server, or an earlier version
    Column("hash", String(64)),  # of this event and the hash before it; null in what an earlier version wrote
    sqlite_with_rowid=False,
)
Index("events_key", events.c.key, unique=True,
      sqlite_where=events.c.key.is_not(None), postgresql_where=events.c.key.is_not(None))  # fmt: skip
VOIDED = events.c.kind == literal_column("'voided'")  # no parameter: the database must see that the index is for it
Index("events_voided", events.c.experiment, events.c.sequence, events.c.kind,  # all, or SQLite prefers the key
      sqlite_where=VOIDED, postgresql_where=VOIDED)  # fmt: skip

tickets = Table(
    "tickets",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("arm", Integer, nullable=False),
    Column("expires_at", Double),
    Column("waiting", Boolean, nullable=False),  # for a reward, its lease not yet over
    Column("reward", Double),
    Column("probability", Double),  # with which the arm was drawn, where the stopping rule needs it
    Column("token", BigInteger),  # random, and part of what clients know it by; null in what an earlier version wrote
    Column("voided", Boolean, nullable=False, server_default=false()),  # its reward was wrong
    sqlite_with_rowid=False,
)
Index("tickets_overdue", tickets.c.expires_at,
      sqlite_where=tickets.c.waiting, postgresql_where=tickets.c.waiting)  # fmt: skip

units = Table(
    "units",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("hash", String(22), primary_key=True),  # of the unit, with a key: see domain/units.py
    Column("number", BigInteger, nullable=False),  # of its ticket
    Column("salt", BigInteger, nullable=False),  # of its mark in the log
    Column("at", Double, nullable=False),  # when it was assigned
    Index("units_at", "experiment", "at"),
    sqlite_with_rowid=False,
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Text, nullable=False),
)

history = Table(
    "history",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("trials", BigInteger, primary_key=True),
    Column("at", Double, nullable=False),
    Column("data", Text, nullable=False),
    sqlite_with_rowid=False,
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("role", String(8), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
    Column("project", String(32), ForeignKey("projects.id")),  # null: all of them
    Column("expires_at", Double),
    Column("used_at", Double),  # the last use, to about a minute
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),  # of the token in the cookie
    Column("key", String(16), ForeignKey("keys.id"), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

deletions = Table(
    "deletions",
    metadata,
    Column("experiment", String(32), primary_key=True),
    Column("project", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("actor", String(16)),  # null: the server, at the end of the retention
    Column("events", BigInteger, nullable=False),
    Column("head", String(64)),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("experiment", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("url", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Double),  # null: delivered, or given up
    Column("delivered_at", Double),
    Column("error", Text),  # of the last attempt
    Index("deliveries_newest", "experiment", "at"),
)
DUE = deliveries.c.next_at.is_not(None)
Index("deliveries_due", deliveries.c.next_at, sqlite_where=DUE, postgresql_where=DUE)
