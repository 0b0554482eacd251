"""The design-based stop: its kernel against NumPy, its martingales by exact enumeration, and what it refuses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.design import averages, prepared
from fairbai.kernels.state import UNSEEN
from fairbai.kernels.stopping import design as kernels
from fairbai.stopping import DesignBased
from tests.states import empty_scalars, empty_state

Trials = list[tuple[int, float, np.ndarray]]


def empty(rule: DesignBased, least: Any) -> tuple[np.ndarray, np.ndarray]:
    """The arrays of an experiment without trials."""
    return prepared(rule, np.array(least), empty_state(len(least)), empty_scalars())


def counted(rule: DesignBased, least: Any, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """The same after these trials, of an arm, a reward and a policy each."""
    state, scalars = empty(rule, least)
    for arm, reward, policy in trials:
        kernels.count_bet(state, scalars, arm, reward, policy[arm])
    return state, scalars


def naive_predictions(arms: int, trials: Trials) -> np.ndarray:
    """The prediction of every arm before every trial: a common level that forgets, and an offset of the arm."""
    found, offsets, above = [], [], [[] for _ in range(arms)]
    level = 0.5
    for t, (arm, reward, _) in enumerate(trials, 1):
        now = np.array([sum(own) / (len(own) + 5.0) for own in above])
        found.append(np.clip(level + now, 0.0, 1.0))
        offsets.append(reward - now[arm])
        ages = 0.99 ** np.arange(t, -1.0, -1.0)
        level = float((ages * [0.5, *offsets]).sum() / ages.sum())
        above[arm].append(reward - level)
    return np.array(found)


def naive_score(rule: DesignBased, least: Any, trials: Trials, a: int, b: int) -> float:
    """log sum_k w_k prod_t (1 + lambda_k (D_t - Dhat_t)) exp(lambda_k Dhat_t), from the definition."""
    bets, weights = rule.grid(least)
    usable = bets <= min(least[a], least[b])
    bets, weights = bets[usable], weights[usable] / weights[usable].sum()
    predicted = naive_predictions(len(least), trials)
    logs = np.log(weights)
    for (arm, reward, policy), means in zip(trials, predicted, strict=True):
        estimate = {a: means[a], b: means[b]}
        if arm in estimate:
            estimate[arm] += (reward - means[arm]) / policy[arm]
        surprise = (estimate[a] - estimate[b]) - (means[a] - means[b])
        logs = logs + np.log1p(bets * surprise) + bets * (means[a] - means[b])
    return float(np.logaddexp.reduce(logs))


def random_trials(rng: np.random.Generator, least: Any, count: int, binary: bool) -> Trials:
    """Drawn from policies that jump, with means that drift."""
    least, trials = np.array(least), []
    for t in range(count):
        policy = least + (1.0 - least.sum()) * rng.dirichlet(np.full(least.size, 0.5))
        arm = int(rng.choice(least.size, p=policy / policy.sum()))
        mean = 0.2 + 0.1 * arm + 0.3 * math.sin(0.1 * t) ** 2
        trials.append((arm, float(rng.random() < mean) if binary else float(rng.beta(mean, 1 - mean)), policy))
    return trials


@pytest.mark.parametrize("least", [[0.2, 0.2, 0.2], [0.3, 0.05, 0.4, 0.1], [0.5, 0.5]])
@pytest.mark.parametrize("binary", [True, False])
def test_the_kernel_is_the_definition(least: list[float], binary: bool) -> None:
    rng = np.random.default_rng(len(least))
    rule = DesignBased(0.08)
    trials = random_trials(rng, least, 150, binary)
    state, scalars = counted(rule, least, trials)
    predicted = naive_predictions(len(least), trials)
    for a in range(len(least)):
        residuals = [
            (reward - predicted[t, a]) / policy[a] for t, (arm, reward, policy) in enumerate(trials) if arm == a
        ]
        assert kernels.estimated(state, a) == pytest.approx(predicted[:, a].sum() + sum(residuals), abs=1e-9)
    for a, b in itertools.permutations(range(len(least)), 2):
        naive = naive_score(rule, least, trials, a, b)
        assert kernels.pair_score(state, scalars, a, b) == pytest.approx(naive, abs=1e-9)
        assert kernels._at_most(state, scalars, a, b) >= naive - 1e-9
    best = kernels.leader(state)
    scores = [naive_score(rule, least, trials, best, b) for b in range(len(least)) if b != best]
    score, worst, glr, factor, penalty = kernels.design_evidence(-1, state, scalars, -math.inf)
    assert score == pytest.approx(min(scores), abs=1e-9)
    assert factor * glr - penalty == pytest.approx(score)
    assert worst != best
    assert kernels.design_evidence(-1, state, scalars, min(scores) + 1e-6)[0] < min(scores) + 1e-6
    assert kernels.design_evidence(-1, state, scalars, min(scores) - 1e-6)[0] >= min(scores) - 1e-6


def test_nothing_is_claimed_before_every_arm_has_a_reward() -> None:
    state, scalars = counted(DesignBased(), [0.5, 0.5], [(0, 1.0, np.array([0.5, 0.5]))] * 40)
    scalars[UNSEEN] = 1.0
    assert kernels.design_evidence(-1, state, scalars, -math.inf)[0] == -math.inf


def test_leader_alone_can_have_evidence_against_all_others() -> None:
    """log E is at most lambda times the difference of the estimates: no arm has evidence against a better estimate."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        state, scalars = counted(DesignBased(0.1), [0.2] * 3, random_trials(rng, [0.2] * 3, 60, True))
        for a, b in itertools.permutations(range(3), 2):
            if kernels.pair_score(state, scalars, a, b) > 0.0:
                assert kernels.estimated(state, a) > kernels.estimated(state, b)


# --- the martingale, by enumeration -------------------------------------------------------------------------------


def adaptive_policy(least: np.ndarray, past: Trials) -> np.ndarray:
    """A policy that chases the last reward: far from smooth, and as dependent on the past as can be."""
    policy = least.copy()
    chosen = 0 if not past else (past[-1][0] if past[-1][1] > 0.5 else (past[-1][0] + 1) % least.size)
    policy[chosen] += 1.0 - least.sum()
    return policy


def adaptive_means(arms: int, past: Trials) -> np.ndarray:
    """Means that depend on the past: all of them rise after a success of arm 0 and fall after others."""
    level = 0.5
    for arm, reward, _ in past:
        level += 0.15 if (arm == 0) == (reward > 0.5) else -0.15
    return np.full(arms, min(max(level, 0.05), 0.95))


def mean_over_all_paths(rule: DesignBased, least: np.ndarray, trials: int, pair: tuple[int, int], tilt: float) -> float:
    """E[exp(score)] after so many trials, over all arms that can be drawn and all rewards 0 and 1.

    All arms have the same mean in every trial, but arm a ``tilt`` more in odd trials and less in even ones, so that its
    average after an even number of trials is that of the others.
    """
    total = 0.0
    stack: list[tuple[Trials, float]] = [([], 1.0)]
    while stack:
        past, chance = stack.pop()
        if len(past) == trials:
            state, scalars = counted(rule, least, past)
            total += chance * math.exp(kernels.pair_score(state, scalars, *pair))
            continue
        policy, means = adaptive_policy(least, past), adaptive_means(least.size, past)
        means[pair[0]] += tilt if len(past) % 2 else -tilt
        for arm in range(least.size):
            for reward, probability in ((1.0, means[arm]), (0.0, 1.0 - means[arm])):
                stack.append(([*past, (arm, reward, policy)], chance * policy[arm] * probability))
    return total


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (2, 0)])
@pytest.mark.parametrize("bet", [0.02, 0.1, 1.0])
def test_mean_of_the_evidence_is_at_most_one(pair: tuple[int, int], bet: float) -> None:
    least = np.array([0.2, 0.3, 0.1])
    for trials in (1, 2, 4):
        tilt = 0.04 if trials % 2 == 0 else 0.0
        assert mean_over_all_paths(DesignBased(bet), least, trials, pair, tilt) <= 1.0 + 1e-12


def test_mean_of_the_evidence_is_one_where_predictions_are_right() -> None:
    """1 + x <= exp(x) is the only loss: with means 1/2 throughout, the first trial has none."""
    least = np.array([0.5, 0.5])
    assert mean_over_all_paths(DesignBased(0.3), least, 1, (0, 1), 0.0) == pytest.approx(1.0, abs=1e-12)


# --- batches --------------------------------------------------------------------------------------------------------


def batch_of(trials: Trials, arms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pulls, sums, squares = np.zeros((3, arms))
    for arm, reward, _ in trials:
        pulls[arm] += 1.0
        sums[arm] += reward
        squares[arm] += reward * reward
    return pulls, sums, squares


def test_batches_of_zeros_and_ones_are_exact_and_others_are_bounded() -> None:
    """Against the definition, with the predictions of the start of the batch for all its trials."""
    rng, policy, rule = np.random.default_rng(5), np.array([0.5, 0.3, 0.2]), DesignBased(0.05)
    least = [0.2, 0.2, 0.2]
    for binary in (True, False):
        first = [(int(rng.choice(3, p=policy)), float(rng.random() < 0.4), policy) for _ in range(50)]
        state, scalars = counted(rule, least, first)
        predicted = np.array([kernels.prediction(state, scalars, a) for a in range(3)])
        before = {pair: scores_of(rule, least, state, scalars, *pair) for pair in itertools.permutations(range(3), 2)}
        draws = rng.choice(3, size=200, p=policy)
        more = [(int(arm), float(rng.random() < 0.4) if binary else float(rng.beta(2, 3)), policy) for arm in draws]
        kernels.count_bets(state, scalars, *batch_of(more, 3), policy, binary)
        bets, _ = rule.grid(least)
        for (a, b), logs in before.items():
            exact = logs.copy()
            for arm, reward, _ in more:
                residual = (reward - predicted[arm]) / policy[arm]
                exact += np.log1p(bets * residual) if arm == a else np.log1p(-bets * residual) if arm == b else 0.0
                exact += bets * (predicted[a] - predicted[b])
            found = scores_of(rule, least, state, scalars, a, b)
            if binary:
                np.testing.assert_allclose(found, exact, atol=1e-9)
            else:
                assert np.all(found <= exact + 1e-9)
                assert np.all(found[bets < 0.05] > exact[bets < 0.05] - 0.1)
            assert kernels._at_most(state, scalars, a, b) >= found.max() - 1e-9
    assert scalars[kernels.COUNTED] == 250.0


def scores_of(rule: DesignBased, least: Any, state: np.ndarray, scalars: np.ndarray, a: int, b: int) -> np.ndarray:
    """log E_ab of every bet."""
    bets, _ = rule.grid(least)
    size = bets.size
    rows = [kernels.BETS + number * size for number in range(4)]
    logs = state[rows[0] : rows[1], a] + state[rows[1] : rows[2], b]
    logs = logs + np.log(state[rows[2] : rows[3], a]) + np.log(state[rows[3] :, b])
    return np.asarray(logs + bets * (state[kernels.FORECAST, a] - state[kernels.FORECAST, b]))


def test_curvature_bounds_the_logarithm() -> None:
    for most in (1e-6, 9.99e-4, 1.01e-3, 0.1, 0.9, 0.999):
        x = np.concatenate([np.linspace(-most, most, 1001), [1.0, 5.0]])
        assert np.all(np.log1p(x) >= x - kernels._curvature(most) * x * x - 1e-15)
        x = -most
        assert math.log1p(x) == pytest.approx(x - kernels._curvature(most) * x * x, rel=2e-3)


# --- intervals ------------------------------------------------------------------------------------------------------


def test_intervals_are_the_inverse_of_the_evidence() -> None:
    rng, rule, least = np.random.default_rng(8), DesignBased(0.05), [0.2] * 3
    state, scalars = counted(rule, least, random_trials(rng, least, 400, True))
    trials = scalars[kernels.COUNTED]
    found = averages(state, scalars, fb.Bernoulli(), 0.1)
    assert found.leader == int(np.argmax(found.estimates))
    level = math.log(3 * 2 / 0.1)
    for b in range(3):
        if b != found.leader:
            low, high = found.differences[b]
            assert low < found.estimates[found.leader] - found.estimates[b] < high
            shifted = state.copy()
            shifted[kernels.FORECAST, found.leader] -= trials * low
            assert kernels.pair_score(shifted, scalars, found.leader, b) == pytest.approx(level, abs=1e-6)
    assert np.all(found.intervals[:, 0] < found.estimates)
    assert np.all(found.intervals[:, 1] > found.estimates)
    assert np.all((found.intervals >= 0.0) & (found.intervals <= 1.0))
    score = kernels.design_evidence(-1, state, scalars, -math.inf)[0]
    assert found.confidence == pytest.approx(max(0.0, 1 - 6 * math.exp(-score)))
    positive = all(found.differences[b, 0] > 0 for b in range(3) if b != found.leader)
    assert positive == (score >= level)


def test_intervals_of_nothing_and_in_the_unit_of_the_rewards() -> None:
    family = fb.Bounded(10.0, 30.0)
    state, scalars = empty(DesignBased(), [0.5, 0.5])
    found = averages(state, scalars, family, 0.05)
    assert found.trials == 0
    assert np.isnan(found.estimates).all()
    assert found.intervals.tolist() == [[10.0, 30.0]] * 2
    assert found.differences.tolist() == [[0.0, 0.0], [-20.0, 20.0]]
    assert found.confidence == 0.0
    policy = np.array([0.5, 0.5])
    state, scalars = counted(DesignBased(), [0.5, 0.5], [(t % 2, [0.75, 0.25][t % 2], policy) for t in range(2000)])
    found = averages(state, scalars, family, 0.05)
    np.testing.assert_allclose(found.estimates, [25.0, 15.0], atol=0.05)
    assert np.all(found.intervals[:, 0] <= [25.0, 15.0])
    assert np.all(found.intervals[:, 1] >= [25.0, 15.0])
    assert found.differences[1, 0] <= 10.0 <= found.differences[1, 1]
    assert found.confidence > 0.99


# --- configuration --------------------------------------------------------------------------------------------------


def test_level_counts_ordered_pairs() -> None:
    assert DesignBased().level(0.05, 5) == pytest.approx(math.log(20 / 0.05))


def test_grid() -> None:
    bets, weights = DesignBased(0.02).grid([0.2, 0.3, 0.1])
    assert np.all(np.diff(bets) > 0.0)
    assert bets[-1] < 0.2 < bets[-1] * 1.01
    assert bets[0] < 0.02 / 15
    assert weights.sum() == pytest.approx(1.0)
    assert bets[np.argmax(weights)] == pytest.approx(0.02)
    bets, weights = DesignBased(0.3).grid([0.2, 0.5, 0.1, 0.4])
    assert np.all(bets <= 0.4)
    assert bets[0] <= 0.1
    assert DesignBased().for_arms(4).bet is not None
    assert DesignBased(0.1).for_arms(4).bet == 0.1


def test_tuning() -> None:
    instance = fb.Instance([0.3, 0.2], "bernoulli", rates=0.5)
    assert DesignBased.for_instance(instance).bet == pytest.approx(0.9 * 0.1 / (2 * 0.21 + 2 * 0.16), rel=1e-2)
    scaled = fb.Instance([30.0, 20.0], fb.Bounded(0.0, 100.0), rates=0.5)
    assert DesignBased.for_instance(scaled) == DesignBased.for_instance(instance)
    narrow = fb.Instance([30.0, 20.0], fb.Bounded(0.0, 100.0, variance=100.0), rates=0.5)
    assert DesignBased.for_instance(narrow).bet == 1.0  # 0.1 / 0.04, and no bet is larger than 1
    assert DesignBased.for_instance(fb.Instance([0.3, 0.3], "bernoulli", rates=0.5)).bet is None
    few, many = (DesignBased.for_trials(trials, 0.05, 3).bet for trials in (100, 10_000))
    assert few is not None
    assert many is not None
    assert few / many == pytest.approx(10.0, rel=1e-2)
    with pytest.raises(ValueError, match="design_based is proved for bernoulli and bounded arms, got gaussian"):
        DesignBased.for_instance(fb.Instance([1.0, 0.0]))


def test_facts() -> None:
    rule = DesignBased()
    assert rule.drift_proof
    assert rule.estimand == "the average of each arm over the trials of the experiment so far"
    assert rule.proved(fb.Bernoulli())
    assert rule.proved(fb.Bounded(0, 5))
    assert not rule.proved(fb.Gaussian())
    assert not fb.stopping.Mixture().drift_proof


REFUSED = [
    (
        {"family": fb.Gaussian(1.0)},
        "stopping rule design_based is proved for bernoulli, bounded arms, got gaussian: use ",
    ),
    (
        {"rates": None},
        "needs a positive floor for every arm, got 0 for arm 0: give one, such as floors=0.2, or use Mix",
    ),
    ({"rates": [0.2, 0.2, 0.0]}, "needs a positive floor for every arm, got 0 for arm 2"),
    ({"rates": fb.rates.InverseGap(0.5)}, "needs floors that are known beforehand, got inverse_gap rates: give const"),
    (
        {"sampling": fb.sampling.FairTopTwo()},
        "needs a sampling rule that draws every arm with a known probability, from",
    ),
    ({"sampling": fb.sampling.TopTwo()}, r"got TopTwo\(\): leave it out, use UniformFair\(start=\"policy\"\) or "),
    ({"sampling": fb.sampling.UniformFair()}, r"from the first trial on, got UniformFair\(start='each-arm'\)"),
    ({"sampling": fb.sampling.FairTrackAndStop()}, "from the first trial on, got FairTrackAndStop"),
    ({"report_after": 10}, "silence must be given with report_after if the stop is design_based"),
    ({"silence": 0}, "silence needs report_after"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_what_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.Identifier(3, 0.05, **{"family": "bernoulli", "rates": 0.2, "stopping": "design_based", **settings})


@pytest.mark.parametrize(
    "rule",
    [None, fb.sampling.UniformFair(start="policy"), fb.sampling.FairTrackAndStop(start="policy")],
)
def test_what_is_accepted(rule: Any) -> None:
    for family in ("bernoulli", fb.Bounded(-1, 3)):
        ident = fb.Identifier(3, 0.05, family, rates=[0.1, 0.2, 0.3], sampling=rule, stopping="design_based")
        assert ident.status().proved
        trial = ident.ask_trial()
        assert trial.probability >= [0.1, 0.2, 0.3][trial.arm] - 1e-12
    within = fb.rates.Bounded(0.1, [0.5, 0.4, 1.0])
    assert fb.Identifier(3, 0.05, "bernoulli", rates=within, sampling=rule, stopping="design_based").ask() in range(3)
