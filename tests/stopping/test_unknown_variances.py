"""The stop for Gaussian arms of unknown variance: its martingales, its bound on their least product, and its errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.state import MEAN, OBSERVED, SCALE, SHIFT, STRETCH
from fairbai.kernels.stopping.scores import MIXTURE, TWO_SIDED_MIXTURE
from fairbai.kernels.stopping.unknown import EXACT, unknown_evidence
from fairbai.stopping.rules import default_alpha
from tests.states import empty_state
from tests.stopping.configs import config
from tests.stopping.spreads import Arm, Pair

UNKNOWN = fb.Gaussian(None, guess=1.0)
RULES = [fb.stopping.Mixture(), fb.stopping.TwoSidedMixture()]
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)


def drawn_pairs(count: int, seed: int) -> list[Pair]:
    """Pairs about which there is some evidence, with few rewards and many, alike and not."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        counts = np.exp(rng.uniform(math.log(8.0), math.log(3000.0), 2)).round()
        counts[1] = counts[0] if number % 3 == 0 else counts[1]
        variances = rng.choice([0.1, 1.0, 9.0], 2)
        gap = math.sqrt(2.0 * rng.uniform(3.0, 12.0) * (variances / counts).sum())
        arms, two_sided = int(rng.choice([2, 3, 10])), bool(number % 4 == 3)
        alpha = 0.0 if two_sided else default_alpha(arms)
        best, other = Arm(counts[0], gap - 7.0, variances[0]), Arm(counts[1], -7.0, variances[1])
        found.append(Pair(best, other, float(rng.choice([2.0, 5.0, 50.0])), alpha, arms, two_sided))
    return found


def evidence(pair: Pair, level: float = -math.inf, shift: float = 0.0) -> float:
    state = empty_state(2)
    state[OBSERVED] = pair.best.count, pair.other.count
    state[MEAN] = pair.best.mean, pair.other.mean
    state[SCALE] = pair.best.variance, pair.other.variance
    state[STRETCH], state[SHIFT] = 1.0, shift
    rule = TWO_SIDED_MIXTURE if pair.two_sided else MIXTURE
    bonus = pair.alpha * (pair.arms - 1)
    settings = config(GAUSSIAN_UNKNOWN, rule, pair.kappa, 1.0, pair.alpha, bonus)
    return float(unknown_evidence(settings, pair.two_sided, state, 0, 1, level))


PAIRS = drawn_pairs(24, seed=1)


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
def test_bound_on_the_least_product(pair: Pair) -> None:
    """Never above the least product over a grid of ties and sigmas; not far below, but for ties beyond the means."""
    found, least = evidence(pair), pair.least()
    assert found <= least + 1e-9
    assert found >= min(least, pair.at_the_ends()) - (0.1 if least > 1.0 else 0.5)


def test_bound_is_close_where_the_minimum_is_between_the_means() -> None:
    for count in (40.0, 100.0, 1000.0, 1e5):
        pair = Pair(Arm(count, math.sqrt(40.0 / count)), Arm(count, 0.0))
        found, least = evidence(pair), pair.least()
        assert least - 0.15 <= found <= least


def test_below_the_level_any_number_below_it_will_do() -> None:
    for pair in PAIRS:
        exact = evidence(pair)
        assert evidence(pair, level=exact - 0.01) == pytest.approx(exact, abs=8.0 * EXACT)
        assert evidence(pair, level=exact + 1.0) < exact + 1.0


def test_unit_and_origin_do_not_matter() -> None:
    pair = PAIRS[0]
    for factor in (1e-30, 1e-3, 1e40):
        best = Arm(pair.best.count, factor * pair.best.mean, factor**2 * pair.best.variance)
        other = Arm(pair.other.count, factor * pair.other.mean, factor**2 * pair.other.variance)
        moved = Pair(best, other, pair.kappa, pair.alpha, pair.arms, pair.two_sided)
        assert evidence(moved) == pytest.approx(evidence(pair), abs=1e-6)


def test_a_tolerance_counts_like_a_larger_gap() -> None:
    near, far = Pair(Arm(80.0, 0.3), Arm(60.0, 0.0)), Pair(Arm(80.0, 0.7), Arm(60.0, 0.0))
    assert evidence(near, shift=0.4) == pytest.approx(evidence(far), abs=1e-9)


@pytest.mark.parametrize("gap", [0.0, -1.0])
def test_no_gap_is_no_evidence(gap: float) -> None:
    assert evidence(Pair(Arm(50.0, gap), Arm(50.0, 0.0))) == -math.inf


@pytest.mark.parametrize("gap", [5.0, 1e3, 1e9])
def test_a_gap_of_many_deviations_is_evidence_soon(gap: float) -> None:
    assert evidence(Pair(Arm(30.0, gap), Arm(30.0, 0.0))) > 8.0
    assert evidence(Pair(Arm(4.0, gap), Arm(4.0, 0.0))) < 3.0  # four rewards are not enough for any gap


def test_score_is_at_most_the_glr() -> None:
    """The shortcut of the stopping kernel: log(1 + alpha (K - 2)) more than the GLR is never reached."""
    for pair in PAIRS:
        best, other = pair.best, pair.other
        ties = np.linspace(other.mean, best.mean, 20_001)
        glr = 0.5 * best.count * np.log1p((best.mean - ties) ** 2 / best.variance)
        glr += 0.5 * other.count * np.log1p((ties - other.mean) ** 2 / other.variance)
        assert pair.least() <= glr.min() + math.log1p(pair.alpha * (pair.arms - 2)) + 1e-6


# --- the martingales ------------------------------------------------------------------------------------------------


def paths(runs: int, length: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and sums of squared deviations of 1, 2, ... standard normal rewards, one row per run."""
    rewards = np.random.default_rng(seed).normal(size=(runs, length))
    counts = np.arange(1, length + 1)
    means = np.cumsum(rewards, axis=1) / counts
    return means, np.maximum(np.cumsum(rewards**2, axis=1) - counts * means**2, 0.0)


@pytest.mark.parametrize(("tilt", "t"), [(0.0, 0.5), (0.3, 0.2), (-0.3, 1.0), (0.5, 0.05)])
def test_process_is_a_supermartingale(tilt: float, t: float) -> None:
    """Its mean, and that of stopping when the mean looks like the alternative, is at most 1 (four standard errors)."""
    means, squares = paths(20_000, 40, seed=2)
    counts = np.arange(1, 41)
    gain = 0.5 * ((counts - 1) * math.log1p(t) - t / (1.0 + t) * np.log(counts) - t * squares)
    process = np.exp(counts * (tilt * means - tilt**2 / 2.0) + gain)
    near = np.abs(means - tilt) < 0.1  # where the next factor has the largest mean
    first = np.where(near.any(axis=1), near.argmax(axis=1), 39)
    for values in (process[:, 9], process[:, 39], process[np.arange(len(first)), first]):
        assert values.mean() <= 1.0 + 4.0 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize("sigma", [1.0, 30.0])
def test_product_rarely_reaches_its_level(sigma: float) -> None:
    """Ville's inequality for D U V V at the true means and sigmas, with arms that take turns."""
    length, runs, delta = 200, 2000, 0.2
    worst = np.full(runs, -math.inf)
    first, second = paths(runs, length, seed=3), paths(runs, length, seed=4)
    for n in range(2, length + 1):
        total = np.zeros(runs)
        for side, (means, squares) in ((1, first), (-1, second)):
            arm = Arm(n, sigma * means[:, n - 1], sigma**2 * squares[:, n - 1] / n)
            value = arm.log_u(5.0, side, np.zeros(1), np.array([sigma]), two_sided=False)
            total += np.logaddexp(math.log(0.96) + value + arm.log_v(5.0, np.full(runs, sigma)), math.log(0.04))
        worst = np.maximum(worst, total)
    crossed = float((worst >= math.log(1.0 / delta)).mean())
    assert 0.01 < crossed <= delta


# --- whole experiments ----------------------------------------------------------------------------------------------


@pytest.mark.slow_without_jit
@rules
@pytest.mark.parametrize("variances", [[1.0, 1.0], [1.0, 25.0]], ids=["alike", "unequal"])
def test_errors_on_near_ties(rule: fb.stopping.StoppingRule, variances: list[float]) -> None:
    """Errors of 1,000 runs, by two deltas: at most delta, with four standard errors to spare in both directions."""
    one = fb.Instance([1e-6, 0.0], fb.Gaussian(None, guess=variances))
    runs = fb.simulate(one, [0.1, 0.3], stopping=rule, runs=1000, seed=5, maximum_rounds=400)
    wrong = (~runs.correct & ~runs.censored).mean(axis=0)
    assert (wrong <= [0.1, 0.3]).all()
    assert runs.proved


@pytest.mark.slow_without_jit
def test_price_of_not_knowing_the_variances() -> None:
    """About 80 trials per arm; test_price_of_variances has more cases."""
    every: dict[str, Any] = {"deltas": 0.05, "runs": 300, "seed": 6}
    known = fb.simulate(fb.Instance([0.5, 0.0]), **every)
    unknown = fb.simulate(fb.Instance([0.5, 0.0], UNKNOWN), **every)
    assert unknown.correct.mean() >= 0.95
    assert unknown.stopping_time.mean() <= 1.6 * known.stopping_time.mean()


def test_constant_rewards_are_no_evidence() -> None:
    """Not even where their mean is rounded."""
    ident = fb.Identifier(["a", "b"], 0.1, fb.Gaussian(None))
    for _ in range(100):
        ident.tell(arms := ident.ask(2), [{"a": 0.1, "b": 0.3}[arm] for arm in arms])
    status = ident.status()
    assert (status.decided, status.recommendation, status.glr) == (False, "b", 0.0)


def test_stop_needs_rewards_of_every_arm() -> None:
    ident = fb.Identifier(["a", "b"], 0.1, fb.Gaussian(None))
    rng, told = np.random.default_rng(0), 0
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, rng.normal() + (100.0 if arm == "a" else 0.0))
        told += 1
    assert min(ident.status().observed) >= 8
    assert told < 40


@pytest.mark.parametrize(
    "rule", [fb.stopping.PairwiseGaussian(), fb.stopping.KaufmannKoolen(), fb.stopping.KaufmannKoolen(pairwise=False)]
)
def test_other_proofs_need_known_variances(rule: fb.stopping.StoppingRule) -> None:
    assert not rule.proved(UNKNOWN)
    with pytest.raises(ValueError, match=r"arms, got gaussian of unknown variance: use Mixture\(\), or Heuristic\(\)"):
        fb.Identifier(2, 0.1, UNKNOWN, stopping=rule)


@rules
def test_proved_for_transformed_rewards_too(rule: fb.stopping.StoppingRule) -> None:
    class LogNormal(fb.Gaussian):
        """Normal rewards of unknown variance after a logarithm."""

    assert rule.proved(LogNormal(None))
    assert rule.proved(fb.Gaussian(None))


@pytest.mark.parametrize("rule", [fb.stopping.Heuristic(), fb.stopping.ChanceToWin(0.95)])
def test_rules_without_a_proof_take_them(rule: fb.stopping.StoppingRule) -> None:
    runs = fb.simulate(fb.Instance([3.0, 0.0], UNKNOWN), 0.1, stopping=rule, runs=5, seed=1)
    assert not runs.proved
    assert not runs.censored.any()
