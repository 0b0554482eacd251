"""Columns of experiments for lists; ``backfill.fill`` computes their values."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them, empty."""
    op.add_column("experiments", sa.Column("arms", sa.Integer))
    op.add_column("experiments", sa.Column("progress", sa.Double))
    op.add_column("experiments", sa.Column("floors_kept", sa.Boolean))
