"""The flags of experiments: no two that are running in a project have the same."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; experiments from before have none."""
    op.add_column("experiments", sa.Column("flag", sa.String(100)))
    flags, running = sa.text("flag IS NOT NULL"), sa.text("flag IS NOT NULL AND NOT stopped")
    op.create_index(
        "experiments_flags",
        "experiments",
        ["project", "flag", "created_at"],
        sqlite_where=flags,
        postgresql_where=flags,
    )
    op.create_index(
        "experiments_flag",
        "experiments",
        ["project", "flag"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
