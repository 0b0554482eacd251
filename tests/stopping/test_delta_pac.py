"""Proved rules err with probability at most delta; the heuristic does not, for tiny gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.kernels.families import GAUSSIAN
from fairbai.kernels.jit import entry
from fairbai.kernels.state import MEAN, OBSERVED, PENALTY, SCALARS, SCALE, SEEN, STATE_ROWS, STRETCH
from fairbai.kernels.stopping.scores import evidence, penalty
from fairbai.reproduction.past.adversary import fooled
from fairbai.simulation.scenario import truth_of
from fairbai.stopping import Heuristic, KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule, TwoSidedMixture
from tests.stopping.configs import config

DELTA = 0.1
ALL_RULES = [Mixture(), TwoSidedMixture(), KaufmannKoolen(), KaufmannKoolen(pairwise=False)]
GAUSSIAN_RULES = [*ALL_RULES, Mixture(50.0), PairwiseGaussian()]
HARD = {  # a family, two arms with a small gap, and ten arms with equal gaps
    "gaussian": (fb.Gaussian(), [0.2, 0.0], [0.5] + [0.0] * 9),
    "bernoulli": (fb.Bernoulli(), [0.55, 0.45], [0.75] + [0.45] * 9),
    "poisson": (fb.Poisson(), [1.2, 1.0], [1.7] + [1.0] * 9),
    "exponential": (fb.Exponential(), [1.2, 1.0], [2.0] + [1.0] * 9),
}
CASES = [("gaussian", rule) for rule in GAUSSIAN_RULES]
CASES += [(name, rule) for name in ("bernoulli", "poisson", "exponential") for rule in ALL_RULES]


def marks(rule: StoppingRule) -> list[pytest.MarkDecorator]:
    """The thresholds of others are far from the limit and take many trials: for `make long`."""
    return [pytest.mark.long] if isinstance(rule, KaufmannKoolen | PairwiseGaussian) else []


RUNS = 250
MAX_ROUNDS = 200_000


def most(count: int) -> float:
    """Delta and three standard errors of a frequency over ``count`` runs."""
    return DELTA + 3.0 * math.sqrt(DELTA * (1.0 - DELTA) / count)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("many", [False, True], ids=["two arms", "ten arms"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [pytest.param(name, rule, marks=marks(rule), id=f"{name}-{rule.kind}{rule.code}") for name, rule in CASES],
)
def test_error_is_at_most_delta(name: str, rule: StoppingRule, many: bool) -> None:
    family, *instances = HARD[name]
    means = instances[many]
    instance = fb.Instance(means, family, fb.rates.Constant(0.05))
    found = fb.simulate(instance, DELTA, stopping=rule, runs=RUNS, maximum_rounds=MAX_ROUNDS)
    assert found.recommendation.min() >= 0  # every run decides
    assert np.mean(found.recommendation != 0) <= most(RUNS)


@pytest.mark.slow_without_jit
def test_error_is_at_most_delta_with_any_sampling_rule() -> None:
    """The proof does not ask how arms are chosen: here by rules that lean towards one arm or chase noise."""
    for sampling in (fb.sampling.UniformFair(), fb.sampling.LUCB(), fb.sampling.TrackAndStop(), fb.sampling.TopTwo()):
        found = fb.simulate(fb.Instance([0.3, 0.0]), DELTA, sampling, runs=200, maximum_rounds=MAX_ROUNDS)
        assert np.mean(found.recommendation != 0) <= most(200)


@entry
def jump(given, level, gap, looks, rng):
    """The answer for two Gaussian arms pulled in turn, with a look only after ``looks[i]`` pairs; -1 if it has none."""
    state, scalars = np.zeros((STATE_ROWS, 2)), np.zeros(SCALARS)
    state[STRETCH] = 1.0
    state[SCALE] = 1.0
    sums, last = np.zeros(2), 0.0
    for pairs in looks:
        more = pairs - last
        last = pairs
        sums[0] += gap * more + math.sqrt(more) * rng.standard_normal()
        sums[1] += math.sqrt(more) * rng.standard_normal()
        state[OBSERVED] = pairs
        state[MEAN] = sums / pairs
        state[PENALTY] = penalty(GAUSSIAN, given.stopping, given.kappa, given.size, pairs, 0.0)
        scalars[SEEN] = 2.0 * pairs
        if evidence(given, state, scalars, level)[0] >= level:
            return 0 if sums[0] > sums[1] else 1
    return -1


def error(rule: StoppingRule, gap: float, count: int) -> float:
    """How often the worse arm is named. Looking more often would stop more runs early, while the gap is invisible."""
    looks = np.unique(np.round(np.geomspace(1.0, 1e4 / gap**2, 3000)))
    rng = np.random.default_rng(2)
    level, given = rule.level(DELTA, 2), config(GAUSSIAN, rule.code, *rule.parameters(2))
    answers = np.array([jump(given, level, gap, looks, rng) for _ in range(count)])
    assert (answers >= 0).mean() > 0.99
    return float(np.mean(answers == 1))


@pytest.mark.long
def test_heuristic_errs_more_often_than_delta_for_tiny_gaps() -> None:
    """Documented in docs/errata.md: its error tends to 1/2 as the gap vanishes. Standard errors below 0.0035."""
    assert error(Heuristic(), 1e-12, 10_000) > DELTA + 3 * 0.0035
    assert error(Heuristic(), 1e-2, 10_000) < DELTA / 1.5  # with a gap of a practical size it is cautious


@pytest.mark.long
@pytest.mark.parametrize("rule", [pytest.param(rule, marks=marks(rule), id=repr(rule)) for rule in GAUSSIAN_RULES])
def test_proved_rules_do_not_err_for_tiny_gaps(rule: StoppingRule) -> None:
    """The very paths on which the heuristic fails; the standard error is below 0.007."""
    assert error(rule, 1e-12, 2000) <= DELTA / 2


def wrong_answers(name: str, rule: StoppingRule, count: int, longest: int) -> int:
    """How often an adversary brings the rule to name the arm that he wants, of two arms with equal means."""
    family, (mean, _), _ = HARD[name]
    experiment = Experiment(2, family, stopping=rule, seed=3)
    before = experiment.state.copy(), experiment.scalars.copy()
    answers = np.empty(count, dtype=np.int64)
    fooled(
        experiment.arrays, before, truth_of(fb.Instance([mean, mean], family)), rule.level(DELTA, 2), longest, answers
    )
    return int((answers == 1).sum())


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "name", ["gaussian", *(pytest.param(one, marks=pytest.mark.long) for one in HARD if one != "gaussian")]
)
def test_no_adversary_brings_the_mixture_above_delta(name: str) -> None:
    """The lower Clopper-Pearson bound: the probability that so many or more errors are by chance is 1e-4 or more."""
    count = 5000
    wrong = wrong_answers(name, Mixture(), count, longest=500)
    assert 0.01 * count < wrong  # the adversary is worth the name
    assert beta.ppf(1e-4, wrong, count - wrong + 1) <= DELTA


@pytest.mark.long
def test_the_same_adversary_brings_the_heuristic_above_delta() -> None:
    """So the test above can see a rule that errs too often."""
    count, longest = 2500, 20_000
    wrong = wrong_answers("gaussian", Heuristic(), count, longest)
    assert beta.ppf(1e-4, wrong, count - wrong + 1) > DELTA
    count = 400
    wrong = wrong_answers("gaussian", Mixture(), count, longest)
    assert beta.ppf(1e-4, wrong, count - wrong + 1) <= DELTA


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("arms", [2, 3, 5, 10])
@pytest.mark.parametrize("name", HARD)
def test_arms_that_hardly_differ(name: str, arms: int) -> None:
    """The best two as good as equal, the others behind: every answer is by chance, and may be wrong."""
    family, (mean, lower), _ = HARD[name]
    means = [mean * (1.0 + 1e-9), mean, *[0.7 * lower - 0.3] * (arms - 2)]
    if name != "gaussian":
        means[2:] = [0.4 * lower] * (arms - 2)
    count = 2000
    found = fb.simulate(fb.Instance(means, family), [DELTA], runs=count, seed=4, maximum_rounds=500)
    wrong = int((found.recommendation > 0).sum())
    assert wrong == 0 or beta.ppf(1e-4, wrong, count - wrong + 1) <= DELTA


def test_a_few_runs_without_the_jit() -> None:
    found = fb.simulate(fb.Instance([1.5, 0.0, 0.0]), DELTA, runs=3, maximum_rounds=500)
    assert (found.recommendation == 0).all()
