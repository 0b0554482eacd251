"""Experiments as feature flags: the key by which programs evaluate one, and the value that each arm stands for."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairbai.problems.labels import some
from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal

AN_ID = re.compile("[0-9a-f]{16}")  # by which every experiment can be evaluated: no flag may look like one
MAX_VALUES = 65_536  # bytes of JSON of all values together: they are part of the configuration
MAX_NUMBER = 1e300
KINDS = {bool: "a boolean", str: "a string", int: "a number", float: "a number", dict: "an object"}


def checked_flag(flag: str) -> str:
    """The key of a flag; a ValueError says what is wrong with it."""
    if AN_ID.fullmatch(flag):
        raise ValueError(f"flag must not look like the id of an experiment, got {flag!r}")
    return flag


def checked_values(values: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Any]:
    """One value per arm, all of one type, in the order of the arms.

    Programs ask for a flag of one type, and some tell whole numbers from others: numbers become floats if one of them
    is. A ValueError says what is wrong.
    """
    unknown = [label for label in values if label not in arms]
    if unknown:
        raise ValueError(f"values has an entry for {unknown[0]!r}, which is none of the arms {some(arms)}")
    missing = [label for label in arms if label not in values]
    if missing:
        raise ValueError(f"values must have an entry for every arm, got none for {missing[0]!r}")
    kinds = [KINDS.get(type(values[label])) for label in arms]
    for label, kind in zip(arms, kinds, strict=True):
        if kind is None:
            raise ValueError(f"values[{label!r}] must be a boolean, a string, a number or an object")
        if kind != kinds[0]:
            raise ValueError(f"values must all be of one type, got {kinds[0]} for {arms[0]!r} and {kind} for {label!r}")
    if kinds[0] == "a number":
        values = _numbers(values)
    _check_size(values)
    return {label: values[label] for label in arms}


def _numbers(values: Mapping[str, Any]) -> Mapping[str, float]:
    for label, value in values.items():
        if not abs(value) <= MAX_NUMBER:  # nor is NaN
            raise ValueError(f"values[{label!r}] must be a number of at most {MAX_NUMBER:g} in size")
    if any(isinstance(value, float) for value in values.values()):
        return {label: float(value) for label, value in values.items()}
    return values


def _check_size(values: Mapping[str, Any]) -> None:
    try:
        size = len(encode(values))
    except ValueError:
        raise ValueError("values must be JSON, whose numbers are finite and of less than 4,300 digits") from None
    if size > MAX_VALUES:
        raise ValueError(f"values must have at most {MAX_VALUES:,} bytes of JSON together, got {size:,}")


def value_of(config: Mapping[str, Any], arm: str) -> Any:
    """The value that an arm stands for: its label, unless the experiment was created with others."""
    return config["values"][arm] if "values" in config else arm


def taken(flag: str, experiment: str) -> Refusal:
    """409: a running experiment of the project has this flag."""
    detail = (
        f"Experiment {experiment} of this project is running under the flag {flag!r}: close it first, or choose another"
    )
    return Refusal(409, "Flag already used", detail, flag=flag, experiment=experiment)
