"""What the factors of a design may be: their names, their levels, their interactions and how many of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairbai.problems.sentences import listed

MAX_COMBINATIONS = 10_000
MAX_NUMBERS = 4_000_000  # in the features


def factors_of(factors: Any) -> dict[str, tuple[str, ...]]:
    """The levels of every factor, as text."""
    if not isinstance(factors, Mapping) or len(factors) == 0:
        raise ValueError(f'factors must be lists of levels, such as {{"button": ["buy", "try"]}}, got {factors!r}')
    checked = {_named(name): _level_names(name, levels) for name, levels in factors.items()}
    combinations = math.prod(len(levels) for levels in checked.values())
    if combinations > MAX_COMBINATIONS:
        raise ValueError(f"factors must have at most {MAX_COMBINATIONS:,} combinations, got {combinations:,}")
    return checked


def check_size(factors: dict[str, tuple[str, ...]], pairs: Sequence[tuple[str, str]]) -> None:
    """Refuse more parameters than memory is for."""
    free = {name: len(levels) - 1 for name, levels in factors.items()}
    parameters = 1 + sum(free.values()) + sum(free[first] * free[second] for first, second in pairs)
    combinations = math.prod(len(levels) for levels in factors.values())
    if combinations * parameters > MAX_NUMBERS:
        most = MAX_NUMBERS // combinations
        raise ValueError(f"{combinations:,} combinations must have at most {most:,} parameters, got {parameters:,}")


def _named(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"factors must have names, got {name!r}")
    return name


def joined(names: tuple[str, ...]) -> str:
    """The name of a factor, or of an interaction."""
    return " × ".join(names)


def check_names(names: list[str]) -> None:
    """Refuse a factor that is called like an interaction, and two interactions that are called the same."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"factors and interactions must have different names, got {name!r} twice")


def _level_names(name: str, levels: Any) -> tuple[str, ...]:
    if isinstance(levels, (str, Mapping)) or not isinstance(levels, Sequence) or len(levels) < 2:
        raise ValueError(f"factor {name!r} must have a list of at least two levels, got {levels!r}")
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, (str, int, float)) or not str(level).strip():
            raise ValueError(f"levels of factor {name!r} must be text or numbers, got {level!r}")
        if isinstance(level, float) and not math.isfinite(level):
            raise ValueError(f"levels of factor {name!r} must be finite, got {level!r}")
    found = tuple(str(level) for level in levels)
    if len(set(found)) < len(found):
        raise ValueError(f"levels of factor {name!r} must be different, got {list(levels)!r}")
    return found


def pairs_of(interactions: Any, names: list[str]) -> tuple[tuple[str, str], ...]:
    """The interactions, each with its factors in the order of the design."""
    if isinstance(interactions, (str, Mapping)) or not isinstance(interactions, Sequence):
        raise ValueError(f"interactions must be a list of pairs of factors, got {interactions!r}")
    found: list[tuple[str, str]] = []
    for pair in interactions:
        right = not isinstance(pair, str) and isinstance(pair, Sequence) and all(name in names for name in pair)
        if not right or len(set(pair)) != 2 or len(pair) != 2:
            raise ValueError(
                f"interactions must be pairs of the factors {listed([repr(n) for n in names])}, got {pair!r}"
            )
        first, second = sorted(pair, key=names.index)
        if (first, second) in found:
            raise ValueError(f"interactions must be different pairs, got {first!r} and {second!r} twice")
        found.append((first, second))
    return tuple(found)
