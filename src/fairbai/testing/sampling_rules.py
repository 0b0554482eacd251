"""The promises of a sampling rule."""

import json

import numpy as np
import numpy.typing as npt

from fairbai.allocation import solve
from fairbai.identifier import Identifier
from fairbai.problems import Bernoulli, Exponential, Family, Gaussian, Instance, Poisson, rates
from fairbai.sampling import SamplingRule
from fairbai.stopping import Heuristic

Pulls = npt.NDArray[np.int64]

MEANS = (0.8, 0.55, 0.4, 0.2)
FAMILIES: tuple[Family, ...] = (Gaussian(0.05), Bernoulli(), Poisson(), Exponential())
RATES: tuple[rates.Rate, ...] = (
    rates.Constant(0.0),
    rates.Constant([0.0, 0.1, 0.2, 0.3]),
    rates.Constant(0.2),
    rates.InverseGap(0.6),
    rates.Softmax(0.5),
)
NEVER = 1e-300  # a delta that no run reaches


def check_sampling_rule(rule: SamplingRule, trials: int = 4000, runs: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError where a rule breaks a promise.

    On every family and several rates: it chooses legal arms, pulls every arm (and, if it promises fairness or a limit,
    again and again), gives the same arms for the same seed (also across a snapshot), meets floors in the sense of
    ``rule.fairness``, and its shares converge to ``rule.limit``. The tolerances are for ``trials`` and ``runs`` as they
    are by default.

    Args:
        rule: The rule.
        trials: Length of a run.
        runs: Runs over which "on average" is averaged.
        seed: Of the rewards.
    """
    for family in FAMILIES:
        for rate in RATES:
            instance = Instance(MEANS, family, rate)
            about = f"{rule.kind} on {family.kind} arms with {rate!r}"
            arms = _play(rule, instance, trials, seed)
            _check_pulls(rule, arms, about)
            _check_limit(rule, instance, arms, about)
            _check_fairness_on_path(rule, instance, arms, about)
    instance = Instance(MEANS, Gaussian(0.05), RATES[2])
    _check_fairness_on_average(rule, instance, trials // runs, runs, seed)
    _check_repeats(rule, instance, 200, seed)


def _identifier(rule: SamplingRule, instance: Instance, seed: int) -> Identifier:
    return Identifier(
        instance.means.size,
        NEVER,
        family=instance.family,
        rates=instance.rates,
        sampling=rule,
        stopping=Heuristic(),
        settle=False,
        seed=seed,
    )


def _play(rule: SamplingRule, instance: Instance, trials: int, seed: int) -> Pulls:
    """The arms of one run."""
    identifier = _identifier(rule, instance, seed)
    rewards = instance.family.sample(instance.means, np.random.default_rng(seed), trials)
    arms = np.empty(trials, dtype=np.int64)
    for number in range(trials):
        arms[number] = identifier.ask()
        identifier.tell(int(arms[number]), rewards[number, arms[number]])
    return arms


def _counts(arms: Pulls, total: int) -> Pulls:
    return np.cumsum(arms[:, None] == np.arange(total), axis=0)


def _check_pulls(rule: SamplingRule, arms: Pulls, about: str) -> None:
    """Every arm is pulled, and again in the second half unless the rule promises nothing at all."""
    half = arms[len(arms) // 2 :]
    for arm in range(len(MEANS)):
        assert (arms == arm).any(), f"{about}: arm {arm} is never pulled"
        if rule.fairness != "none" or rule.limit != "none":
            assert (half == arm).any(), f"{about}: arm {arm} is not pulled any more after trial {len(half)}"


def _check_limit(rule: SamplingRule, instance: Instance, arms: Pulls, about: str) -> None:
    if rule.limit == "none":
        return
    target = solve(instance if rule.limit == "fair" else Instance(instance.means, instance.family)).weights
    shares = _counts(arms, target.size)[-1] / len(arms)
    off = float(np.abs(shares - target).max())
    assert off < 0.12, f"{about}: shares {shares.round(3)} are not near {target.round(3)}"


def _check_fairness_on_path(rule: SamplingRule, instance: Instance, arms: Pulls, about: str) -> None:
    """N_a >= p_a t - K at all times, for floors that are known beforehand."""
    if rule.fairness != "every path" or not isinstance(instance.rates, rates.Constant):
        return
    counts = _counts(arms, instance.floors.size)
    lacking = instance.floors * np.arange(1, len(arms) + 1)[:, None] - counts
    assert lacking.max() <= instance.floors.size, f"{about}: an arm lacks {lacking.max():.1f} trials of its floor"


def _check_fairness_on_average(rule: SamplingRule, instance: Instance, trials: int, runs: int, seed: int) -> None:
    """E[N_a] >= p_a t - K, up to four standard errors of the mean over the runs."""
    if rule.fairness == "none":
        return
    ends = np.array([_counts(_play(rule, instance, trials, seed + run), 4)[-1] for run in range(runs)])
    error = ends.std(axis=0, ddof=1) / np.sqrt(runs)
    lacking = instance.floors * trials - ends.mean(axis=0) - 4.0 * error
    assert lacking.max() <= len(MEANS), f"{rule.kind}: an arm lacks {lacking.max():.1f} trials of its floor on average"


def _check_repeats(rule: SamplingRule, instance: Instance, trials: int, seed: int) -> None:
    """The same seed gives the same arms, also when the run is interrupted and resumed from JSON."""
    rewards = instance.family.sample(instance.means, np.random.default_rng(seed), trials)
    arms: list[list[int]] = []
    for interrupted in (False, True):
        identifier = _identifier(rule, instance, seed)
        arms.append([])
        for number in range(trials):
            arm = identifier.ask()
            arms[-1].append(arm)
            if interrupted and number % 50 == 25:
                form = json.loads(json.dumps(identifier.to_dict()))
                identifier = Identifier.from_dict(form, sampling=rule if form["sampling"] is None else None)
            identifier.tell(arm, rewards[number, arm])
    assert arms[0] == arms[1], f"{rule.kind}: the same seed does not give the same arms"
