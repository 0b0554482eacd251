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
)

metadata = MetaData()

experiments = Table(
    "experiments",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("key", String(200), unique=True),  # the Idempotency-Key of its creation
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("config", Text, nullable=False),
    Column("version", BigInteger, nullable=False),  # number of events in its log
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
    Column("looks_at", Double),  # when it may next decide; null: with every reward, or never again
    Index("experiments_newest", "created_at", "id"),
)
LOOKS = experiments.c.looks_at.is_not(None)
Index("experiments_looks", experiments.c.looks_at, sqlite_where=LOOKS, postgresql_where=LOOKS)

events = Table(
    "events",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("at", Double, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("key", String(250)),  # the experiment and the client's name for the operation
    Column("data", Text, nullable=False),
    sqlite_with_rowid=False,
)
Index("events_key", events.c.key, unique=True,
      sqlite_where=events.c.key.is_not(None), postgresql_where=events.c.key.is_not(None))  # fmt: skip

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
    sqlite_with_rowid=False,
)
Index("tickets_overdue", tickets.c.expires_at,
      sqlite_where=tickets.c.waiting, postgresql_where=tickets.c.waiting)  # fmt: skip

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
)
