"""Indexes for what would otherwise read whole logs: the voids of an experiment, and its announcements."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them."""
    voids = sa.text("kind = 'voided'")
    op.create_index(
        "events_voided", "events", ["experiment", "sequence", "kind"], sqlite_where=voids, postgresql_where=voids
    )
    op.create_index("deliveries_newest", "deliveries", ["experiment", "at"])
