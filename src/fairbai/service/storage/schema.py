"""The tables. Times are seconds since 1970 (UTC); JSON is text, because it must come back to the last bit.

``events`` is the log: one row an operation, from which everything else follows. ``experiments.state`` and ``tickets``
are kept beside it, in the same transactions, so that nobody has to read the log to go on.
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
    Column("version", BigInteger, nullable=False),  # how many events its log has
    Column("state", Text, nullable=False),  # a Book
    Column("decided", Boolean, nullable=False),  # the rest is in the state too; it is here for lists
    Column("stopped", Boolean, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("recommendation", Text),
    Column("assigned", BigInteger, nullable=False),
    Column("observed", BigInteger, nullable=False),
    Column("arms", Integer),  # null in a row that an older version wrote and that is not yet filled
    Column("progress", Double),  # the evidence over its threshold
    Column("floors_kept", Boolean),  # null as long as all that is promised is for the stop
    Index("experiments_newest", "created_at", "id"),
)

events = Table(
    "events",
    metadata,
    Column("experiment", String(32), ForeignKey("experiments.id"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("at", Double, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("key", String(250)),  # the experiment and what a client named the operation, so that it happens once
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
    Column("waiting", Boolean, nullable=False),  # for a reward, within its lease
    Column("reward", Double),
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
