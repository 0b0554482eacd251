"""What the rules that earn compute: confidence bounds, posterior chances and linear programs, against others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import families as codes
from fairbai.kernels import state as rows
from fairbai.kernels.config import configure
from fairbai.kernels.families import divergence
from fairbai.kernels.sampling.confidence import bound, most_promising, upper_bound
from fairbai.kernels.sampling.programs import fill_best_policy
from fairbai.kernels.sampling.thompson import update_chances

MEANS = {
    codes.GAUSSIAN: -1.0,
    codes.GAUSSIAN_UNKNOWN: 4.0,
    codes.BERNOULLI: 0.3,
    codes.BOUNDED: 0.6,
    codes.POISSON: 2.5,
    codes.EXPONENTIAL: 0.7,
    codes.MIRRORED_POISSON: -2.5,
    codes.MIRRORED_EXPONENTIAL: -9.0,
}


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("bonus", [1e-6, 0.3, 6.0])
@pytest.mark.parametrize("family", MEANS)
def test_bounds(family: int, bonus: float, sign: float) -> None:
    """n d(mean, bound) is the bonus, or the bound is at the end of the domain."""
    mean, count, scale = MEANS[family], 12.0, 2.0
    found = bound(family, mean, count, scale, bonus, sign)
    weight = count - 2.0 if family == codes.GAUSSIAN_UNKNOWN else count
    assert weight * divergence(family, mean, found, found - mean, scale) == pytest.approx(bonus, rel=1e-6)
    assert (found - mean) * sign > 0.0


def test_bounds_at_the_end_of_the_domain() -> None:
    found = bound(codes.BERNOULLI, 0.5, 1.0, 1.0, 100.0, 1.0)
    assert 1.0 - 1e-8 < found < 1.0


def _experiment(family: fb.problems.Family, counts: list[float], means: list[float], rule: str) -> Experiment:
    one = Experiment(len(counts), family, sampling=rule, stopping="heuristic")
    for arm, (count, mean) in enumerate(zip(counts, means, strict=True)):
        one.state[rows.ASSIGNED, arm] = count
        one.set_rewards(arm, int(count), count * mean, count * 2.0)
    one.recount()
    return one


@pytest.mark.parametrize("family", [fb.Gaussian(2.0), fb.Bernoulli(), fb.Poisson()], ids=lambda one: one.kind)
def test_the_most_promising_arm(family: fb.problems.Family) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        one = _experiment(family, rng.integers(1, 40, 5).tolist(), rng.uniform(0.2, 0.8, 5).tolist(), "fair_ucb")
        bonus = np.log1p((one.round + 1) * np.log(one.round + 1) ** 2)
        uppers = [upper_bound(family.code, one.state, arm, bonus) for arm in range(5)]
        assert most_promising(family.code, one.state, one.scalars) == int(np.argmax(uppers))


POSTERIORS = {
    "gaussian": lambda n, mean: stats.norm(mean, np.sqrt(2.0 / n)),
    "bernoulli": lambda n, mean: stats.beta(n * mean + 1, n - n * mean + 1),
    "poisson": lambda n, mean: stats.gamma(n * mean + 1, scale=1.0 / n),
    "exponential": lambda n, mean: stats.invgamma(n, scale=n * mean),
    "unknown": lambda n, mean: stats.t(n - 2, mean, np.sqrt(2.0 / (n - 2))),
}
CASES = [
    ([1, 1, 1], [1.0, 1.0, 0.0]),
    ([1000, 10, 10, 40], [0.5, 0.3, 0.1, 0.3]),
    ([20] * 5, [0.2, 0.2, 0.3, 0.4, 0.5]),
    ([5, 300], [0.4, 0.6]),
    ([9] * 10, [0.5] * 10),
]


@pytest.mark.parametrize("law", POSTERIORS)
@pytest.mark.parametrize(("counts", "means"), CASES, ids=str)
def test_chances_are_those_of_a_fine_integral(law: str, counts: list[int], means: list[float]) -> None:
    family = fb.Gaussian(None) if law == "unknown" else fb.Gaussian(2.0) if law == "gaussian" else law
    counts = [max(count, 8) for count in counts] if law == "unknown" else counts
    means = [max(mean, 0.05) for mean in means] if law == "exponential" else means
    one = _experiment(fb.problems.short_forms.family_of(family), counts, means, "fair_thompson")
    update_chances(configure(one.codes, one.params), one.state, one.scalars)
    posteriors = [POSTERIORS[law](n, mean) for n, mean in zip(counts, means, strict=True)]
    for arm, posterior in enumerate(posteriors):
        values = posterior.ppf((np.arange(20_000) + 0.5) / 20_000)
        others = [other.cdf(values) for other in posteriors if other is not posterior]
        assert one.state[rows.WEIGHT, arm] == pytest.approx(np.prod(others, axis=0).mean(), abs=0.012)


def test_the_best_policy_is_that_of_a_solver() -> None:
    rng, solved = np.random.default_rng(0), 0
    for _ in range(80):
        groups = [fb.rates.Group(arms, *np.sort(rng.uniform(0.1, 0.6, 2))) for arms in ([0, 1], [2, 3, 4])]
        try:
            limits = fb.rates.Bounded(rng.uniform(0.0, 0.08, 6), rng.uniform(0.1, 0.6, 6), groups)
            one = Experiment(6, fb.Bernoulli(), limits, sampling="constrained_lp")
        except ValueError:  # limits that cannot be met
            continue
        values, policy, found = rng.uniform(size=6), np.empty(6), limits.limits(6)
        fill_best_policy(one.state, one.scalars, values, policy, np.empty(6))
        of = (found.groups == np.arange(2)[:, None]).astype(float)
        ends = np.concatenate([found.group_ceilings[:2], -found.group_floors[:2]])
        box = list(zip(found.floors, found.ceilings, strict=True))
        best = linprog(-values, np.concatenate([of, -of]), ends, np.ones((1, 6)), [1.0], box)
        assert values @ policy == pytest.approx(-best.fun, abs=1e-9)
        assert policy.sum() == pytest.approx(1.0)
        assert (np.concatenate([of, -of]) @ policy <= ends + 1e-12).all()
        assert ((policy >= found.floors - 1e-12) & (policy <= found.ceilings + 1e-12)).all()
        solved += 1
    assert solved > 20


def test_so_many_rewards_that_a_mean_rounds_to_the_end_of_its_domain() -> None:
    one = _experiment(fb.Bernoulli(), [9e15, 9e15], [1.0, 0.0], "fair_thompson")
    update_chances(configure(one.codes, one.params), one.state, one.scalars)
    np.testing.assert_allclose(one.state[rows.WEIGHT], [1.0, 0.0], atol=1e-12)
    assert most_promising(codes.BERNOULLI, one.state, one.scalars) == 0
