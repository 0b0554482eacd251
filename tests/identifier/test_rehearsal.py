"""The small experiment that calls every kernel of an Identifier."""

from __future__ import annotations

from typing import Any

import pytest

import fairbai as fb
from fairbai.identifier.rehearsal import MAX_TRIALS, rehearse, rehearse_drawn


@pytest.mark.parametrize("family", [fb.Gaussian(1.0), "bernoulli", "poisson"], ids=str)
@pytest.mark.parametrize("rates", [0.25, fb.rates.Gap(0.5), fb.rates.Bounded(0.1, 0.8)], ids=lambda rates: str(rates))
@pytest.mark.parametrize("rule", ["fair_top_two", "fair_track_and_stop"])
def test_it_comes_to_its_end(family: Any, rates: object, rule: str) -> None:
    """It decides, settles, and is short."""
    ident = rehearse(family, rates, rule)
    assert ident.stopped
    assert ident.trials < MAX_TRIALS / 2


def test_it_ends_where_arms_are_drawn() -> None:
    ident = rehearse_drawn()
    assert ident.stopped
    assert ident.recommendation == 0
    assert ident.trials < MAX_TRIALS
