"""The promises of a sampling rule."""

import json
from typing import Any, get_args

import numpy as np

from fairbai.allocation import solve
from fairbai.identifier import Identifier
from fairbai.problems import Bernoulli, Family, Gaussian, Instance, rates
from fairbai.problems.checks import Array
from fairbai.sampling import SamplingRule
from fairbai.sampling.rule import Fairness, Target
from fairbai.simulation import simulate
from fairbai.stopping import Heuristic

MEANS = (0.8, 0.55, 0.4, 0.2)
RATES: tuple[rates.Rate, ...] = (
    rates.Constant(0.0),
    rates.Constant([0.0, 0.1, 0.2, 0.3]),
    rates.Constant(0.2),
    rates.InverseGap(0.6),
    rates.Softmax(0.5),
)
NEVER = 1e-300  # a delta that no run reaches
ROUNDING = 1e-9  # trials
PLAYED = 200  # trials of the experiments that are played on an Identifier


def check_sampling_rule(rule: SamplingRule, trials: int = 4000, runs: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError where a rule breaks a promise.

    On simulated runs of every family and several rates: it chooses legal arms, pulls every arm (and, if it promises
    fairness or convergence, again and again), meets floors in the sense of ``rule.fairness`` and ``rule.bounds``, and
    its shares approach ``rule.converges_to``. On an Identifier: the same seed gives the same arms, also across a
    snapshot, and another seed gives other arms exactly if ``rule.random``. The tolerances are made for the default
    ``trials`` and ``runs``.

    Args:
        rule: The rule.
        trials: Length of a run.
        runs: Runs over which "on average" is averaged.
        seed: Seed of the rewards.
    """
    _check_facts(rule)
    for family in _families():
        for rate in RATES:
            instance = Instance(MEANS, family, rate)
            about = f"{rule.kind} on {family.kind} arms with {rate!r}"
            counts = _counts(rule, instance, trials, seed)
            _check_pulls(rule, counts, about)
            _check_convergence(rule, instance, counts[-1] / trials, about)
            _check_fairness_on_path(rule, instance, counts, about)
    fixed, learned = Instance(MEANS, Gaussian(0.05), RATES[2]), Instance(MEANS, Bernoulli(), RATES[3])
    _check_fairness_on_average(rule, fixed, trials // runs, runs, seed)
    for instance in (fixed, learned):
        _check_repeats(rule, instance, seed)


def _families() -> list[Family]:
    """Every family of the library; the variance is such that runs of the default length converge."""
    return [Gaussian(0.05) if kind is Gaussian else kind() for kind in Family.in_library()]


def _check_facts(rule: SamplingRule) -> None:
    assert isinstance(rule, SamplingRule), f"rule must be an instance of a SamplingRule, got {rule!r}"
    for name, values in (("fairness", get_args(Fairness)), ("converges_to", get_args(Target))):
        stated = getattr(rule, name, None)
        expected = ", ".join(map(repr, values))
        got = "nothing" if stated is None else repr(stated)
        assert stated in values, f"{type(rule).__name__}.{name} must be one of {expected}, got {got}"


def _counts(rule: SamplingRule, instance: Instance, trials: int, seed: int) -> Array:
    """The trials of each arm after 1, 2, ... trials of one simulated run."""
    rounds = np.arange(1, trials + 1)
    options: dict[str, Any] = {"runs": 1, "seed": seed, "maximum_rounds": trials, "trace": rounds.tolist()}
    run = simulate(instance, NEVER, rule, Heuristic(), **options)
    counts: Array = np.round(run.shares[0] * rounds[:, None])
    return counts


def _check_pulls(rule: SamplingRule, counts: Array, about: str) -> None:
    """Every arm is pulled, and again in the second half unless the rule promises nothing at all."""
    half = len(counts) // 2
    for arm in range(len(MEANS)):
        assert counts[-1, arm] > 0, f"{about}: arm {arm} is never pulled"
        if rule.fairness != "none" or rule.converges_to != "none":
            again = counts[-1, arm] > counts[half - 1, arm]
            assert again, f"{about}: arm {arm} is not pulled any more after trial {half}"


def _check_convergence(rule: SamplingRule, instance: Instance, shares: Array, about: str) -> None:
    if rule.converges_to == "none":
        return
    target = solve(instance if rule.converges_to == "fair" else Instance(instance.means, instance.family)).weights
    off = float(np.abs(shares - target).max())
    assert off < 0.12, f"{about}: shares {shares.round(3)} are not near {target.round(3)}"


def _check_fairness_on_path(rule: SamplingRule, instance: Instance, counts: Array, about: str) -> None:
    """No arm is ever further behind than the rule says, for floors that are known beforehand."""
    if not isinstance(instance.rates, rates.Constant):
        return
    bounds = rule.bounds(instance.rates, instance.floors.size)
    assert (bounds is not None) == (rule.fairness == "every path"), f"{about}: bounds and fairness disagree"
    if bounds is not None:
        lacking = instance.floors * np.arange(1, len(counts) + 1)[:, None] - counts
        excess = lacking.max(axis=0) - bounds.behind
        worst = int(excess.argmax())
        assert excess.max() <= ROUNDING, f"{about}: arm {worst} lacks {lacking[:, worst].max():.1f} trials of its floor"


def _check_fairness_on_average(rule: SamplingRule, instance: Instance, trials: int, runs: int, seed: int) -> None:
    """E[N_a] >= p_a t - K, up to four standard errors of the mean over the runs."""
    if rule.fairness == "none":
        return
    options: dict[str, Any] = {"runs": runs, "seed": seed, "maximum_rounds": trials}
    ends = simulate(instance, NEVER, rule, Heuristic(), **options).pulls[:, 0]
    error = ends.std(axis=0, ddof=1) / np.sqrt(runs)
    lacking = instance.floors * trials - ends.mean(axis=0) - 4.0 * error
    assert lacking.max() <= len(MEANS), f"{rule.kind}: an arm lacks {lacking.max():.1f} trials of its floor on average"


def _check_repeats(rule: SamplingRule, instance: Instance, seed: int) -> None:
    """The same seed gives the same arms, also when the run is resumed; another seed others if the rule is random."""
    arms = _play(rule, instance, seed)
    assert arms == _play(rule, instance, seed, interrupted=True), f"{rule.kind}: the same seed gives other arms"
    others = arms != _play(rule, instance, seed + 1)
    if rule.random:
        assert others, f"{rule.kind}: random is True, but another seed gives the same arms"
    else:
        assert not others, f"{rule.kind}: random is False, but another seed gives other arms"


def _play(rule: SamplingRule, instance: Instance, seed: int, interrupted: bool = False) -> list[int]:
    """The arms of one experiment; if interrupted, it is written as JSON and read again now and then."""
    rewards = instance.family.sample(instance.means, np.random.default_rng(0), PLAYED)
    settings: dict[str, Any] = {"family": instance.family, "rates": instance.rates, "sampling": rule}
    identifier = Identifier(len(MEANS), NEVER, **settings, stopping=Heuristic(), settle=False, seed=seed)
    arms: list[int] = []
    for number in range(PLAYED):
        arm = identifier.ask()
        arms.append(arm)
        if interrupted and number % 50 == 25:
            form = json.loads(json.dumps(identifier.to_dict()))
            identifier = Identifier.from_dict(form, sampling=rule if form["sampling"] is None else None)
        identifier.tell(arm, rewards[number, arm])
    return arms
