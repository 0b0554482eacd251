"""How sure experiments are of their recommendation, and what ended those that are over."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; before, experiments ended by a decision or by hand, and nothing says how sure they were."""
    op.add_column("experiments", sa.Column("confidence", sa.Double))
    op.add_column("experiments", sa.Column("ended_by", sa.String(16)))
    op.execute(
        "UPDATE experiments SET ended_by = CASE WHEN decided THEN 'decision' ELSE 'closed' END WHERE stopped OR closed"
    )
