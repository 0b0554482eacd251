"""How results are printed."""

import json
import math
from typing import Any


def print_table(header: list[str] | None, rows: list[list[str]], words: int = 1) -> None:
    """Print rows in aligned columns, of which the first ``words`` are words, and an empty line."""
    from fairbai.simulation.tables import aligned

    print(aligned(header, rows, words), end="\n\n")


def print_json(value: Any) -> None:
    """Print JSON that every parser reads."""
    print(json.dumps(finite(value), indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """``value`` for JSON, which has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
