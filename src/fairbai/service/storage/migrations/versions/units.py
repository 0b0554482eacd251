"""Units that keep their arm, the key that hashes them, and which arms are switched off."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "units",
        sa.Column("experiment", sa.String(32), sa.ForeignKey("experiments.id"), primary_key=True),
        sa.Column("hash", sa.String(22), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("salt", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("units_at", "units", ["experiment", "at"])
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.add_column("experiments", sa.Column("switched_off", sa.Text))
    _fill()


def _fill() -> None:
    """Which arms are switched off is in the state, too."""
    table = sa.table("experiments", sa.column("id"), sa.column("state"), sa.column("switched_off"))
    connection = op.get_bind()
    rows = connection.execute(sa.select(table.c.id, table.c.state).where(table.c.state.contains('"off":['))).all()
    for name, state in rows:
        off = [one["arm"] for one in json.loads(state).get("off", [])]
        if off:
            text = json.dumps(off, separators=(",", ":"))
            connection.execute(sa.update(table).where(table.c.id == name).values(switched_off=text))
