"""Findings about statements about errors, and rewards that the declared family does not fit."""

import math

import fairbai as fb
from tests.truth.finding import Figure, Finding

DELTA = 0.05


def _switched_off() -> Figure:
    """The error of decisions at all levels that an experiment has while ten of its twelve arms are switched off.

    The j-th best arm can be wronged from the time on at which j − 1 arms are off, at the level of that time or later.
    """
    ident = fb.Identifier(12, delta=DELTA, family="gaussian")
    spent = []
    for arm in range(10):
        ident.switch_off(arm)
        remaining = ident.procedure.remaining
        assert remaining is not None
        spent.append(11.0 * math.exp(-remaining.level(DELTA)) / DELTA)
    after, together = spent[0] + sum(spent), 1.0 + sum(spent)
    said = "1.5 delta" in str(fb.Identifier.switch_off.__doc__)
    text = f"{after:.2f} δ after the first of ten switches, {together:.2f} δ with those before"
    return Figure(text, after <= 1.0 and together <= 1.5 and said)


FINDINGS: list[Finding] = [
    Finding(
        "truth 9",
        "arms are switched off: decisions after it are wrong with probability at most δ, with those before 1.5 δ",
        "2 δ was said, and δ (1 + 1/2 + … + 1/(m + 1)) is true: 3.02 δ for ten switches",
        _switched_off,
    ),
]
