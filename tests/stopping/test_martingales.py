"""The martingale behind the union of ``Mixture``: its mean over all outcomes is exactly 1, and a wrong answer makes it
large."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.kernels.stopping.scores import MIXTURE, TWO_SIDED_MIXTURE, TWO_SIDED_SHARE, penalty
from fairbai.stopping import Mixture
from tests.stopping.ties import Arm, Ties

KAPPA, ALPHA, TRIALS = 0.7, 0.15, 7
MEANS = np.array([0.6, 0.35, 0.6])  # arm 0 is the best one; arm 2 is as good
FAMILY = fb.Bernoulli()


def log_sided(side: int, count: float, total: float, mean: float) -> float:
    arm = Arm(count, total / max(count, 1.0))
    return float(Ties("bernoulli", arm, arm, KAPPA, 1.0).log_mixture(side, arm, np.array([mean]))[0])


def log_two_sided(count: float, total: float, mean: float) -> float:
    """The likelihood averaged over Beta(1/2, 1/2), over that at the true mean."""
    if count == 0.0:
        return 0.0
    regret = penalty(FAMILY.code, TWO_SIDED_MIXTURE, KAPPA, 1.0, count, total)
    share = total / count
    own = sum(n * math.log(p) for n, p in ((total, share), (count - total, 1.0 - share)) if n > 0.0)
    return own - regret - total * math.log(mean) - (count - total) * math.log(1.0 - mean)


def martingale(counts: np.ndarray, sums: np.ndarray, alpha: float) -> tuple[float, float]:
    """M of docs/stopping.md, and its mixture with the two-sided one, at the true means; arm 0 is the best."""
    others = range(1, MEANS.size)
    down = math.exp(log_sided(-1, counts[0], sums[0], MEANS[0]))
    ups = [math.exp(log_sided(1, counts[b], sums[b], MEANS[b])) for b in others]
    plain = down * float(np.mean([(1.0 - alpha) * up + alpha for up in ups]))
    both = [math.exp(log_two_sided(counts[arm], sums[arm], MEANS[arm])) for arm in range(MEANS.size)]
    two_sided = both[0] * float(np.mean([both[b] for b in others]))
    return plain, (1.0 - TWO_SIDED_SHARE) * plain + TWO_SIDED_SHARE * two_sided


def next_arm(counts: np.ndarray, sums: np.ndarray) -> int:
    """A rule that looks at the rewards: an arm without trials, then by turns the best and the least pulled."""
    if (counts == 0.0).any():
        return int(np.argmin(counts))
    return int(np.argmax(sums / counts)) if counts.sum() % 2 else int(np.argmin(counts + 0.1 * sums))


@pytest.mark.parametrize("alpha", [0.0, ALPHA, 0.9])
@pytest.mark.parametrize("trials", [1, 4, TRIALS])
def test_mean_is_one_under_adaptive_sampling(alpha: float, trials: int) -> None:
    """Over all 2^n outcomes, with their probabilities."""
    mean, mixed = 0.0, 0.0
    for outcome in itertools.product([0.0, 1.0], repeat=trials):
        counts, sums, chance = np.zeros(3), np.zeros(3), 1.0
        for reward in outcome:
            arm = next_arm(counts, sums)
            chance *= MEANS[arm] if reward else 1.0 - MEANS[arm]
            counts[arm] += 1.0
            sums[arm] += reward
        plain, both = martingale(counts, sums, alpha)
        mean += chance * plain
        mixed += chance * both
    assert mean == pytest.approx(1.0, abs=1e-12)
    assert mixed == pytest.approx(1.0, abs=1e-12)


def test_a_wrong_answer_makes_the_martingale_large() -> None:
    """Wherever the rule would name arm 1 or 2 for some δ, the martingale at the true means is at least 1 / δ."""
    rng, rule = np.random.default_rng(0), Mixture(KAPPA, 1.0, ALPHA)
    experiment, named, level = Experiment(3, FAMILY, stopping=rule), 0, rule.level(0.5, 3) - math.log(2.0)
    for _ in range(300):
        counts = rng.integers(1, 60, 3).astype(float)
        sums = rng.binomial(counts.astype(int), rng.uniform(0.0, 1.0, 3)).astype(float)
        experiment.state[[rows.ASSIGNED, rows.OBSERVED]], experiment.state[rows.SUM] = counts, sums
        experiment.recount()
        score, best = experiment.exact_evidence()[0], experiment.best
        if best != 0:
            named += 1
            assert math.log(martingale(counts, sums, ALPHA)[1]) >= score - level - 1e-9
    assert named > 100
    assert rule.code == MIXTURE
