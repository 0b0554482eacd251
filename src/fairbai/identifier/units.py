"""Units, such as visitors, that keep their arm: what an ``Identifier`` remembers of them."""

from collections.abc import Sequence
from typing import Any

from fairbai.identifier.trials import Trial
from fairbai.problems.checks import whole

Units = dict[str, Trial]
"""The trial of every unit. Units are kept as they were given: give hashes if they are personal."""


def checked_unit(unit: Any, n: int | None) -> str:
    """The name of a unit, which has one trial."""
    if not isinstance(unit, str) or not unit:
        raise ValueError(f"unit must be text, such as 'user-7', got {unit!r}")
    if n is not None:
        raise ValueError(f"n must not be given with a unit, which has one trial, got {n!r}")
    return unit


def write(units: Units, arms: Sequence[Any]) -> dict[str, Any]:
    """The JSON form of units: number, arm (by its number) and probability of their trials."""
    return {unit: [trial.number, arms.index(trial.arm), trial.probability] for unit, trial in units.items()}


def read(form: dict[str, Any], arms: Sequence[Any], trials: int) -> Units:
    """Of their JSON form; a ValueError says what is wrong with it."""
    found: Units = {}
    for unit, (number, arm, probability) in form.items():
        index = whole("arm of a unit", arm, 0)
        if index >= len(arms) or whole("number", number, 0) >= trials:
            raise ValueError(f"unit {unit!r} must have a trial that was assigned")
        found[unit] = Trial(number, arms[index], probability)
    return found
