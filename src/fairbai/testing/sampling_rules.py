"""The promises of a sampling rule."""

import json
from functools import partial
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
LIMITS = (
    rates.Bounded([0.05, 0.1, 0.0, 0.0], [0.4, 0.3, 1.0, 0.5], [rates.Group([0, 1], 0.3, 0.5), rates.Group([3], 0.2)]),
    rates.Bounded(0.1, 1.0, [rates.Group([0, 2], ceiling=0.3)]),
    rates.Bounded(0.0, 1.0, [rates.Group([1, 2, 3], ceiling=0.4)]),
)
NEVER = 1e-300  # a delta that no run reaches
ROUNDING = 1e-9  # trials
PLAYED = 200  # trials of the experiments that are played on an Identifier


def check_sampling_rule(rule: SamplingRule, trials: int = 4000, runs: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError where a rule breaks a promise.

    On simulated runs of every family and several rates: it chooses legal arms, pulls every arm (and, if it promises
    fairness to an arm with a floor, or convergence, again and again), meets floors in the sense of ``rule.fairness``
    and ``rule.bounds``, and its shares approach ``rule.converges_to``. Within ceilings and groups it keeps what
    ``rule.bounds`` says, if that says anything, whatever the rewards. On an Identifier: the same seed gives the same
    arms, also across a snapshot, and another seed gives other arms exactly if ``rule.random``. The tolerances are made
    for the default ``trials`` and ``runs``.

    Args:
        rule: The rule.
        trials: Length of a run.
        runs: Runs over which "on average" is averaged.
        seed: Seed of the rewards.
    """
    _check_facts(rule)
    for family in _families():
        for rate in filter(partial(_takes, rule), RATES):
            instance = Instance(MEANS, family, rate)
            about = f"{rule.kind} on {family.kind} arms with {rate!r}"
            counts = _counts(rule, instance, trials, seed)
            _check_pulls(rule, instance, counts, about)
            _check_convergence(rule, instance, counts[-1] / trials, about)
            _check_fairness_on_path(rule, instance, counts, about)
    for rate in filter(partial(_takes, rule), LIMITS):
        _check_limits_on_path(rule, rate, trials, seed)
    fixed, learned = Instance(MEANS, Gaussian(0.05), RATES[2]), Instance(MEANS, Bernoulli(), RATES[3])
    _check_fairness_on_average(rule, fixed, trials // runs, runs, seed)
    for instance in (fixed, learned):
        _check_repeats(rule, instance, seed)


def _takes(rule: SamplingRule, rate: rates.Rate) -> bool:
    """Whether the rule does not refuse these rates."""
    try:
        rule.check(rate)
    except ValueError:
        return False
    return True


def _families() -> list[Family]:
    """Every family of the library; the variance is such that runs of the default length converge."""
    others = [kind() for kind in Family.in_library() if kind is not Gaussian and not kind.structured]
    return [Gaussian(0.05), Gaussian(None, guess=0.05), *others]


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


def _check_pulls(rule: SamplingRule, instance: Instance, counts: Array, about: str) -> None:
    """Every arm is pulled, and again in the second half if its floor, or a share that it converges to, says so."""
    half = len(counts) // 2
    for arm in range(len(MEANS)):
        assert counts[-1, arm] > 0, f"{about}: arm {arm} is never pulled"
        if (rule.fairness != "none" and instance.floors[arm] > 0.0) or rule.converges_to != "none":
            again = counts[-1, arm] > counts[half - 1, arm]
            assert again, f"{about}: arm {arm} is not pulled any more after trial {half}"


def _check_convergence(rule: SamplingRule, instance: Instance, shares: Array, about: str) -> None:
    if rule.converges_to == "none":
        return
    target = solve(instance if rule.converges_to == "fair" else instance.with_rates(None)).weights
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


def _check_limits_on_path(rule: SamplingRule, rate: rates.Bounded, trials: int, seed: int) -> None:
    """No arm and no group is ever further outside its limits than the rule says, whatever the rewards."""
    bounds = rule.bounds(rate, len(MEANS))
    if bounds is None:
        return
    noisy = _counts(rule, Instance(MEANS, Gaussian(0.05), rate), trials, seed)
    for rewards, counts in (("noisy rewards", noisy), ("a leader that loses", _losing_leader(rule, rate, seed))):
        limits, rounds = rate.limits(len(MEANS)), np.arange(1, len(counts) + 1)[:, None]
        of = limits.groups.astype(np.int64)[:, None] == np.arange(len(rate.groups))
        groups, last = counts @ of, len(rate.groups)
        for what, off, allowed in (
            ("an arm below its floor", limits.floors * rounds - counts, bounds.behind),
            ("an arm above its ceiling", counts - limits.ceilings * rounds, bounds.above),
            ("a group below its floor", limits.group_floors[:last] * rounds - groups, bounds.groups),
            ("a group above its ceiling", groups - limits.group_ceilings[:last] * rounds, bounds.groups_above),
        ):
            excess = max((worst - bound for worst, bound in zip(off.max(axis=0), allowed, strict=False)), default=0.0)
            about = f"{rule.kind} within {rate!r}, with {rewards}"
            assert excess <= ROUNDING, f"{about}: {what} by {excess:.1f} trials more than it says"


def _losing_leader(rule: SamplingRule, rate: rates.Bounded, seed: int) -> Array:
    """The trials of each arm after 1, 2, ... trials of an experiment in which the arm that is ahead always loses."""
    ident = _identifier(rule, Instance(MEANS, Gaussian(), rate), seed)
    counts = np.zeros((PLAYED, len(MEANS)))
    for number in range(PLAYED):
        arm = ident.ask()
        counts[number:, arm] += 1.0
        ident.tell(arm, -1.0 if arm == ident.recommendation else 1.0)
    return counts


def _check_fairness_on_average(rule: SamplingRule, instance: Instance, trials: int, runs: int, seed: int) -> None:
    """E[N_a] >= p_a t - K, or as the rule says of every path, up to four standard errors of the mean over the runs."""
    if rule.fairness == "none":
        return
    options: dict[str, Any] = {"runs": runs, "seed": seed, "maximum_rounds": trials}
    ends = simulate(instance, NEVER, rule, Heuristic(), **options).pulls[:, 0]
    error = ends.std(axis=0, ddof=1) / np.sqrt(runs)
    lacking = instance.floors * trials - ends.mean(axis=0) - 4.0 * error
    bounds = rule.bounds(instance.rates, len(MEANS)) if isinstance(instance.rates, rates.Constant) else None
    allowed = len(MEANS) if bounds is None else max(bounds.behind)
    assert lacking.max() <= allowed, f"{rule.kind}: an arm lacks {lacking.max():.1f} trials of its floor on average"


def _check_repeats(rule: SamplingRule, instance: Instance, seed: int) -> None:
    """The same seed gives the same arms, also when the run is resumed; another seed others if the rule is random."""
    arms = _play(rule, instance, seed)
    assert arms == _play(rule, instance, seed, interrupted=True), f"{rule.kind}: the same seed gives other arms"
    others = arms != _play(rule, instance, seed + 1)
    if rule.random:
        assert others, f"{rule.kind}: random is True, but another seed gives the same arms"
    else:
        assert not others, f"{rule.kind}: random is False, but another seed gives other arms"


def _identifier(rule: SamplingRule, instance: Instance, seed: int) -> Identifier:
    """An experiment that never ends."""
    settings: dict[str, Any] = {"family": instance.family, "rates": instance.rates, "sampling": rule}
    return Identifier(len(MEANS), NEVER, **settings, stopping=Heuristic(), settle=False, seed=seed)


def _play(rule: SamplingRule, instance: Instance, seed: int, interrupted: bool = False) -> list[int]:
    """The arms of one experiment; if interrupted, it is written as JSON and read again now and then."""
    rewards = instance.family.sample(instance.means, np.random.default_rng(0), PLAYED)
    identifier = _identifier(rule, instance, seed)
    arms: list[int] = []
    for number in range(PLAYED):
        arm = identifier.ask()
        arms.append(arm)
        if interrupted and number % 50 == 25:
            form = json.loads(json.dumps(identifier.to_dict()))
            given = rule if form["sampling"] is None else None
            identifier = Identifier.from_dict(form, sampling=given, same_draws=True)
        identifier.tell(arm, rewards[number, arm])
    return arms
