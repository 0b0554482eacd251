"""The probability with which the arm of a ticket was drawn."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty: no stopping rule needed it before."""
    op.add_column("tickets", sa.Column("probability", sa.Double))
