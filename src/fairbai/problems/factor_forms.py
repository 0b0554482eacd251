"""Factors, interactions and effects as files, requests and the command line give them: one form for all."""

from collections.abc import Mapping
from typing import Any

from fairbai.problems.checks import Numbers
from fairbai.problems.factors import Factorial, factorial
from fairbai.problems.families import Family

KEYS = ("factors", "interactions", "effects", "baseline")
NOISE = (
    "with factors, family must be gaussian with its variance, which is that of a reward of any combination; give "
    "variance 0.25 for rewards from 0 to 1, such as clicks"
)


def design_of(factors: Any, interactions: Any, family: Any) -> Factorial:
    """The design of some factors, whose noise a Gaussian family declares, which has no more than its variance.

    Example:
        >>> design_of({"button": ["buy", "try"]}, None, {"kind": "gaussian", "variance": 0.25}).arms
        ('buy', 'try')
    """
    form = family if isinstance(family, Mapping) else {"kind": family}
    variance = form.get("variance")
    if form.get("kind") not in ("gaussian", "factorial"):
        raise ValueError(NOISE)
    for name in form:
        if name in ("factors", "interactions"):
            raise ValueError(f"{name} must be given once: beside the family, or in a factorial family")
        if name not in ("kind", "variance"):
            raise ValueError(f"with factors, family takes kind and variance, got {name!r}")
    if isinstance(variance, bool) or not isinstance(variance, int | float):
        raise ValueError(NOISE)
    return factorial(factors, () if interactions is None else interactions, variance)


def means_by(means: Any, effects: Any, baseline: Any, family: Family | None) -> Numbers:
    """The means as they are given, or those that effects of levels add up to."""
    if effects is None:
        if baseline is not None:
            raise ValueError("baseline belongs to effects, which are missing")
        return means  # type: ignore[no-any-return]  # the instance checks them
    if means is not None:
        raise ValueError("means follow from effects: give one of them")
    if not isinstance(family, Factorial):
        raise ValueError("effects need factors, whose levels they are of")
    return family.means(effects, 0.0 if baseline is None else baseline)


def written_out(form: Mapping[str, Any]) -> dict[str, Any]:
    """The form of an instance without ``KEYS``: factors are in its family, and effects in its means."""
    found = {name: value for name, value in form.items() if name not in KEYS}
    factors, pairs, effects, baseline = (form.get(name) for name in KEYS)
    family = form.get("family")
    if factors is not None:
        if found.get("arms") is not None:
            raise ValueError("arms follow from factors: give one of them")
        found["family"] = family = design_of(factors, pairs, family)
    elif pairs is not None:
        raise ValueError("interactions need factors")
    if effects is not None or baseline is not None:
        found["means"] = means_by(form.get("means"), effects, baseline, None if family is None else Family.of(family))
    return found
