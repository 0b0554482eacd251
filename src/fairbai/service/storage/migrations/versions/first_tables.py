"""The first tables: experiments, their log, tickets, history, and keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them all; written out, because later versions of ``schema.py`` will be others."""
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("key", sa.String(200), unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("decided", sa.Boolean, nullable=False),
        sa.Column("stopped", sa.Boolean, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("recommendation", sa.Text),
        sa.Column("assigned", sa.BigInteger, nullable=False),
        sa.Column("observed", sa.BigInteger, nullable=False),
    )
    op.create_index("experiments_newest", "experiments", ["created_at", "id"])
    op.create_table(
        "events",
        sa.Column("experiment", sa.String(32), sa.ForeignKey("experiments.id"), primary_key=True),
        sa.Column("sequence", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(250)),
        sa.Column("data", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    named = sa.text("key IS NOT NULL")
    op.create_index("events_key", "events", ["key"], unique=True, sqlite_where=named, postgresql_where=named)
    op.create_table(
        "tickets",
        sa.Column("experiment", sa.String(32), sa.ForeignKey("experiments.id"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("waiting", sa.Boolean, nullable=False),
        sa.Column("reward", sa.Double),
        sqlite_with_rowid=False,
    )
    waiting, as_number = sa.text("waiting"), sa.text("waiting = 1")  # how SQLAlchemy asks for it, so that it is used
    op.create_index("tickets_overdue", "tickets", ["expires_at"], sqlite_where=as_number, postgresql_where=waiting)
    op.create_table(
        "history",
        sa.Column("experiment", sa.String(32), sa.ForeignKey("experiments.id"), primary_key=True),
        sa.Column("trials", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
    )
