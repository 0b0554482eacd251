"""The families, rules and rates that tests run over. They are found in the library, so that what is added is tested."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import fairbai as fb
from fairbai.problems import Family
from fairbai.problems.configured import Configured
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import Mixture, StoppingRule

FAMILIES: dict[str, type[Family]] = {kind.kind: kind for kind in Family.in_library() if not kind.structured}
"""The class of every family, by its kind; those whose arms share parameters have tests of their own."""


def families(*variances: Any) -> list[Family]:
    """Every family; the Gaussian one once for each of the variances (1 unless some are given)."""
    gaussian: list[Family] = [fb.Gaussian(variance) for variance in variances or (1.0,)]
    return gaussian + [kind() for kind in FAMILIES.values() if kind is not fb.Gaussian]


def proved_families(*variances: Any) -> list[Family]:
    """Those of them that the default stopping rule is proved for."""
    return [family for family in families(*variances) if Mixture().proved(family)]


UNKNOWN = fb.Gaussian(None, guess=1.0)
"""Gaussian arms of unknown variance, which are of the same kind as the others."""

EASY = {"gaussian": [1.5, 0.5, 0.0], "poisson": [4.0, 1.5, 1.0], "exponential": [6.0, 1.0, 0.5]}


def easy_means(family: Family) -> list[float]:
    """Means of three arms that are easy to tell apart, the best one first."""
    return EASY.get(family.kind, [0.9, 0.4, 0.2])


def variants(kind: type[Configured]) -> Iterator[Any]:
    """Every choice of the parameters that are true or false, or one of a few words; the others have their defaults."""
    hints, choices = get_type_hints(kind), {}
    for field in fields(kind):
        hint = hints[field.name]
        if get_origin(hint) is Literal:
            choices[field.name] = get_args(hint)
        elif hint is bool:
            choices[field.name] = (True, False)
    for chosen in itertools.product(*choices.values()):
        yield kind(**dict(zip(choices, chosen, strict=True)))


SAMPLING_RULES: list[SamplingRule] = [rule for kind in SamplingRule.in_library() for rule in variants(kind)]
STOPPING_RULES: list[StoppingRule] = [rule for kind in StoppingRule.in_library() for rule in variants(kind)]

LEARNED: dict[str, Any] = {kind.kind: kind for kind in Rate.in_library() if hasattr(kind, "code")}
"""The class of every rate that a kernel computes from the means, by its kind."""

RATES: list[Rate] = [
    fb.rates.Constant(0.2),
    fb.rates.Constant([0.1, 0.0, 0.3, 0.2]),
    fb.rates.Softmax(0.6, temperature=0.5),
    *(kind(0.5) for kind in LEARNED.values()),
    fb.rates.Custom(lambda means: 0.3 / means.size),
]
"""Rates of every kind, for four arms."""
