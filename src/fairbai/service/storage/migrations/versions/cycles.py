"""When an experiment that decides at the end of whole cycles may next do so."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty: there were no cycles before."""
    op.add_column("experiments", sa.Column("looks_at", sa.Double))
    known = sa.text("looks_at IS NOT NULL")
    op.create_index("experiments_looks", "experiments", ["looks_at"], sqlite_where=known, postgresql_where=known)
