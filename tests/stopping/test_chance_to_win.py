"""The common rule "chance to win >= 95 %", which is not proved: against posterior draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows


@pytest.mark.parametrize(
    ("family", "means", "counts"),
    [
        (fb.Bernoulli(), [0.3, 0.25, 0.2], [400, 300, 200]),
        (fb.Gaussian(2.0), [0.5, 0.4, 0.1], [300, 200, 400]),
        (fb.Poisson(), [3.0, 2.8], [500, 200]),
    ],
)
def test_score_is_the_posterior_probability(family: fb.problems.Family, means: list[float], counts: list[int]) -> None:
    """Against 400,000 draws; five standard errors."""
    rule = fb.stopping.ChanceToWin(0.9, minimum=100)
    one = Experiment(len(means), family, None, None, rule)
    one.state[rows.ASSIGNED] = one.state[rows.OBSERVED] = counts
    one.state[rows.SUM] = np.array(means) * counts
    one.recount()
    score = one.exact_evidence()[0]
    variances = {"bernoulli": np.array(means) * (1 - np.array(means)), "gaussian": 2.0, "poisson": np.array(means)}
    draws = np.random.default_rng(0).normal(
        means, np.sqrt(variances[family.kind] / np.array(counts)), (400_000, len(means))
    )
    losing = (draws.argmax(axis=1) != int(np.argmax(means))).mean()
    assert math.exp(-score) == pytest.approx(losing, abs=5 * math.sqrt(losing / 400_000))


@pytest.mark.parametrize("tolerance", [None, 0.02, "10%"])
def test_below_the_level_a_bound_is_enough(tolerance: float | str | None) -> None:
    """From the level on the score is exact; below it is a number below it, and not below the truth."""
    rule, question = fb.stopping.ChanceToWin(0.95, minimum=10), fb.problems.question.Question(tolerance=tolerance)
    one = Experiment(4, fb.Bernoulli(), None, None, rule, question=question)
    rng, level = np.random.default_rng(1), rule.level(0.05, 4)
    exact, bounded = [], []
    for _ in range(300):
        counts = rng.integers(20, 2000, 4)
        one.state[rows.ASSIGNED] = one.state[rows.OBSERVED] = counts
        one.state[rows.SUM] = rng.binomial(counts, rng.uniform(0.1, 0.2, 4))
        one.recount()
        exact.append(one.exact_evidence()[0])
        bounded.append(one.reconsider(level)[0])
    truth, found = np.array(exact), np.array(bounded)
    decided = truth >= level
    assert 30 < decided.sum() < 270
    assert (found[decided] == truth[decided]).all()
    assert (found[~decided] < level).all()
    assert (found[~decided] >= truth[~decided]).all()


def test_it_waits_for_the_minimum_and_ignores_delta() -> None:
    instance = fb.Instance([0.9, 0.1], "bernoulli", rates=0.4)
    for delta in (0.4, 0.001):
        runs = fb.simulate(instance, delta, stopping=fb.stopping.ChanceToWin(minimum=30), runs=3)
        assert runs.pulls.min() == 30
        assert not runs.proved


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match=r"chance must be in \(1/2, 1\), got 0.5"):
        fb.stopping.ChanceToWin(0.5)
    with pytest.raises(ValueError, match="minimum must be a whole number from 1, got 0"):
        fb.stopping.ChanceToWin(0.9, 0)
