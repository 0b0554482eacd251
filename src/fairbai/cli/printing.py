"""How results are printed."""

import math
from typing import Any

from fairbai.simulation.tables import aligned


def print_table(header: list[str] | None, rows: list[list[str]]) -> None:
    """Print rows in aligned columns, and an empty line."""
    print(aligned(header, rows), end="\n\n")


def finite(value: Any) -> Any:
    """``value`` for JSON, which has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
