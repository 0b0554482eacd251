"""Projects, who did what, a log that is chained by hashes, tickets that cannot be guessed, sessions and webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them. What exists belongs to the project ``default``; chains begin with the next event."""
    op.create_table(
        "projects",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.execute("INSERT INTO projects (id, created_at) VALUES ('default', 0)")
    with op.batch_alter_table("experiments") as experiments:
        experiments.alter_column("key", existing_type=sa.String(200), type_=sa.String(300))
        experiments.add_column(sa.Column("project", sa.String(32), nullable=False, server_default="default"))
        experiments.add_column(sa.Column("head", sa.String(64)))
        experiments.add_column(sa.Column("restores", sa.Integer, nullable=False, server_default="0"))
        experiments.add_column(sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("events", sa.Column("actor", sa.String(16)))
    op.add_column("events", sa.Column("hash", sa.String(64)))
    op.add_column("tickets", sa.Column("token", sa.BigInteger))
    op.add_column("tickets", sa.Column("voided", sa.Boolean, nullable=False, server_default=sa.false()))
    with op.batch_alter_table("keys") as keys:
        keys.add_column(sa.Column("project", sa.String(32)))
        keys.add_column(sa.Column("expires_at", sa.Double))
        keys.add_column(sa.Column("used_at", sa.Double))
        keys.create_foreign_key("keys_project", "projects", ["project"], ["id"])
    op.execute("UPDATE keys SET project = 'default' WHERE role <> 'admin'")  # admins are server admins
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(16), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_table(
        "deletions",
        sa.Column("experiment", sa.String(32), primary_key=True),
        sa.Column("project", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("actor", sa.String(16)),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("head", sa.String(64)),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("experiment", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Double),
        sa.Column("delivered_at", sa.Double),
        sa.Column("error", sa.Text),
    )
    due = sa.text("next_at IS NOT NULL")
    op.create_index("deliveries_due", "deliveries", ["next_at"], sqlite_where=due, postgresql_where=due)
