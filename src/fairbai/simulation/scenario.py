"""One cell of a study: a rule on an instance, and how to simulate any chunk of its runs."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import is_jitted
from scipy.special import pdtr

from fairbai.allocation import lower_bound, solve
from fairbai.allocation.price import information
from fairbai.compiling.entry import is_compiled, patiently
from fairbai.experiment import Settling
from fairbai.experiment.declared_variance import least_rewards
from fairbai.experiment.defaults import checked_seed, sampling_of, stopping_of
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.linear import experiment_of
from fairbai.experiment.settling import checked_settling, settling_code
from fairbai.kernels.loop import runs as kernels
from fairbai.kernels.loop.records import Record, Task
from fairbai.kernels.streams import rewards
from fairbai.problems.checks import Array, confidence, true_or_false, whole
from fairbai.problems.configured import Form
from fairbai.problems.drifts import Drift
from fairbai.problems.families import Bounded, Poisson
from fairbai.problems.instance import Instance
from fairbai.problems.laws import Law
from fairbai.problems.rates import Constant, Custom
from fairbai.sampling import SamplingRule
from fairbai.simulation.in_python import simulate_in_python
from fairbai.simulation.runs import Runs
from fairbai.stopping import StoppingRule

BINS = 1000
LONG = 30_000.0  # rounds times arms, and ten more, that take about a second as Python
MAX_POISSON_MEAN = 1e9  # a reward takes about sqrt(mean) steps
MAX_ROUNDS = 2**53  # counts are exact up to here


@dataclass(frozen=True, eq=False)
class Scenario:
    """Everything that a run depends on but its number; ``simulate`` describes the fields."""

    instance: Instance
    deltas: tuple[float, ...]
    sampling: SamplingRule
    stopping: StoppingRule
    settle: bool | Settling
    seed: int
    maximum_rounds: int
    histogram: bool
    grid: tuple[int, ...]
    drift: Drift | None = None
    look_every: int = 1
    law: Law | None = None

    def experiment(self, run: int = 0) -> Experiment:
        """A run that has not begun."""
        one = self.instance
        rules = (self.sampling, self.stopping, self.seed, run, one.question)
        return experiment_of(one.means.size, one.family, one.rates, *rules)

    def simulate(self, first: int, count: int) -> Runs:
        """Runs ``first`` to ``first`` + ``count`` - 1, the same in whatever chunks, processes or order."""
        order = np.argsort(self.deltas)[::-1]
        arms = self.instance.means.size
        levels = np.array([self.stopping.level(self.deltas[index], arms) for index in order])
        record = _empty_record(count, len(levels), arms, self.histogram, len(self.grid))
        experiment = self.experiment()
        compiled = is_jitted(_function(self.instance)) and not isinstance(self.settle, Settling)
        compiled = compiled and not experiment.family.mirrored  # the loop hands over means as the kernels see them
        if experiment.python_rule or (experiment.python_rates and not compiled):
            simulate_in_python(self, first, levels, record)
        else:
            self._compiled(first, levels, experiment, record)
        back, means = np.argsort(order), self.instance.means
        return Runs(
            deltas=self.deltas,
            best_arms=self.instance.acceptable,
            lower_bounds=tuple(lower_bound(self.instance, delta) for delta in self.deltas),
            proved=self._proved,
            number=np.arange(first, first + count),
            decision_time=record.decided[:, back],
            stopping_time=record.stopped[:, back],
            recommendation=record.answers[:, back],
            violation=record.violations[:, back],
            pulls=record.pulls[:, back],
            histogram=record.histogram[back, : BINS + 1 if self.histogram else 0],
            trace_rounds=self.grid,
            shares=record.shares,
            glr=record.glr,
            floors=tuple(self.instance.floors.tolist()),
            averages=None if self.drift is None else self.drift.averages(means, record.decided[:, back]),
            question=self.instance.question,
            guess=record.guesses[:, back],
            confidence=self._confidence(record)[:, back],
            means=tuple(means.tolist()),
            fair_gap=self.instance.fair_gap,
            behind=record.behind[:, back] if self.histogram else None,
        )

    @property
    def _proved(self) -> bool:
        """Whether the rule is proved for these rewards, and for means that change if they do."""
        known = self.law is None and (self.drift is None or self.stopping.drift_proof)
        return known and self.stopping.proved(self.instance.family)

    @property
    def _law(self) -> int:
        """The code of the law, or -1 for the family's own."""
        return -1 if self.law is None else self.law.code

    def _confidence(self, record: Record) -> Array:
        """How sure the guesses are; those that are answers at least 1 - delta."""
        if not self._proved:
            return np.full(record.scores.shape, np.nan)
        arms = self.instance.means.size
        sure = [1.0 - self.stopping.risk(score, arms) for score in record.scores.ravel().tolist()]
        least = np.where(record.answers >= 0, 1.0 - np.sort(self.deltas)[::-1], 0.0)
        found: Array = np.maximum(np.array(sure).reshape(least.shape), least)
        return found

    def at_the_decision(self, run: int) -> Experiment:
        """A run as it stands when it has answered its smallest delta, or was given up; not for Python code."""
        levels = np.array([self.stopping.level(min(self.deltas), self.instance.means.size)])
        one = self.experiment(run)
        self._compiled(run, levels, one, _empty_record(1, 1, self.instance.means.size, False, 0))
        return one

    def _compiled(self, first: int, levels: Array, one: Experiment, record: Record) -> None:
        task = self.task(levels, self.settles)
        arguments = (one.arrays, (one.state.copy(), one.scalars.copy()), task, first, record)
        loop = kernels.simulate_runs_with if one.python_rates else kernels.simulate_for(one.arrays, self._law)
        if self._is_long(len(record.decided)):
            loop = patiently(loop)
        if not one.python_rates:
            loop(*arguments)
            return
        failed = loop(kernels.floors_by(_function(self.instance)), *arguments)
        if failed >= 0:
            self.instance.rates.floors(task.truth[rewards.MEAN])  # raises the error that says what is wrong
            raise ValueError(f"rates returned by the custom function differ from one call to the next (run {failed})")

    def _is_long(self, runs: int) -> bool:
        """Whether so many runs would take long as Python: about a second, by what the characteristic time says."""
        expected = 2.0 * solve(self.instance).characteristic_time * information(min(self.deltas))
        rounds = min(float(self.maximum_rounds), expected)
        return runs * rounds * (10 + self.instance.means.size) > LONG

    def is_compiled(self) -> bool:
        """Whether the compiled loop is ready for such runs."""
        one = self.experiment()
        levels, before = np.empty(len(self.deltas)), (one.state, one.scalars)
        record = _empty_record(1, len(self.deltas), self.instance.means.size, self.histogram, len(self.grid))
        loop = kernels.simulate_for(one.arrays, self._law)
        return is_compiled(loop, one.arrays, before, self.task(levels, self.settles), 0, record)

    def task(self, levels: Array, settles: tuple[int, float]) -> Task:
        """What the kernels are to find out."""
        grid = np.array(self.grid, dtype=np.float64)
        one, drift, repeats = self.instance, np.empty((0, 0)), False
        if self.drift is not None:
            table = self.drift.checked_table(one.family, one.means)
            drift, repeats = np.array(one.oriented.out_of_units(table)), self.drift.repeats
        truth, least = truth_of(one, self.law), least_rewards(one.family, self.stopping, one.means.size)
        often = self.look_every
        return Task(truth, levels, settles, self.maximum_rounds, grid, often, drift, repeats, self._law, least)

    @property
    def settles(self) -> tuple[int, float]:
        """How to settle, for the kernels; floors that are known beforehand have no error and need no margin."""
        known = isinstance(self.instance.rates, Constant)
        return settling_code(bool(self.settle) if known else self.settle)


def make_scenario(
    instance: Instance,
    deltas: float | Sequence[float],
    sampling: SamplingRule | Form | None,
    stopping: StoppingRule | Form | None,
    settle: bool | Settling,
    seed: int,
    maximum_rounds: int,
    histogram: bool = False,
    trace: bool | Sequence[int] = False,
    drift: Drift | Form | None = None,
    look_every: int = 1,
    law: Law | Form | None = None,
) -> Scenario:
    """A scenario of checked parts."""
    if not isinstance(instance, Instance):
        raise ValueError(f"instance must be a fairbai.Instance, got {instance!r}")
    checked = _checked_deltas(deltas)
    rounds = whole("maximum_rounds", maximum_rounds, 1, MAX_ROUNDS)
    other = _checked_law(instance, law)
    rule = stopping_of(stopping, instance.family)
    changes = None if drift is None else Drift.of(drift)
    if changes is not None:
        changes.checked_table(instance.family, instance.means)
    scenario = Scenario(
        instance,
        checked,
        sampling_of(sampling, rule, instance.rates, instance.means.size, instance.family),
        rule,
        checked_settling(settle),
        checked_seed(seed),
        rounds,
        true_or_false("histogram", histogram),
        _grid(trace, rounds),
        changes,
        whole("look_every", look_every, 1),
        other,
    )
    scenario.experiment()  # checks the rest
    return scenario


def _checked_law(instance: Instance, law: Law | Form | None) -> Law | None:
    """The law of the rewards, None for that of the family; an error if such rewards cannot be drawn."""
    if isinstance(instance.family, Poisson) and instance.means.max() > MAX_POISSON_MEAN:
        raise ValueError(f"means must be at most {MAX_POISSON_MEAN:g} to simulate Poisson arms")
    instance.family.problem(instance.means)  # refuses variances that are neither known nor guessed
    if law is None:
        return None
    other = Law.of(law)
    other.check(instance.family, instance.means)
    return other


def _checked_deltas(deltas: float | Sequence[float]) -> tuple[float, ...]:
    checked = tuple(confidence(delta) for delta in np.atleast_1d(np.asarray(deltas, dtype=object)))
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"deltas must be one or more different numbers, got {deltas!r}")
    return checked


def _grid(trace: bool | Sequence[int], rounds: int) -> tuple[int, ...]:
    """The rounds to trace: those given, or ten per decade."""
    if trace is False:
        return ()
    if trace is True:
        marks = np.floor(10.0 ** np.arange(0.0, math.log10(rounds) + 1e-9, 0.1))
        return tuple(int(mark) for mark in np.unique(marks))
    if not isinstance(trace, (Sequence, np.ndarray)):
        raise ValueError(f"trace must be True or rising rounds, got {trace!r}")
    grid = tuple(whole("trace", mark, 1, MAX_ROUNDS) for mark in trace)
    if any(one >= other for one, other in itertools.pairwise(grid)):
        raise ValueError(f"trace must be True or rising rounds, got {trace!r}")
    return grid


def _empty_record(count: int, deltas: int, arms: int, histogram: bool, marks: int) -> Record:
    return Record(
        decided=np.zeros((count, deltas), dtype=np.int64),
        stopped=np.zeros((count, deltas), dtype=np.int64),
        answers=np.zeros((count, deltas), dtype=np.int64),
        guesses=np.zeros((count, deltas), dtype=np.int64),
        scores=np.zeros((count, deltas)),
        violations=np.zeros((count, deltas)),
        pulls=np.zeros((count, deltas, arms), dtype=np.int64),
        histogram=np.zeros((deltas, BINS + 1 if histogram else 1), dtype=np.int64),
        behind=np.full((count, deltas), 0.0 if histogram else np.nan),
        shares=np.full((count, marks, arms), np.nan),
        glr=np.full((count, marks), np.nan),
    )


def truth_of(instance: Instance, law: Law | None = None) -> Array:
    """The rows of ``kernels.streams.rewards``, for rewards of the family or of another law."""
    truth = np.zeros((rewards.FLOOR + 1, instance.means.size))
    truth[rewards.MEAN] = instance.oriented.out_of_units(instance.means)
    truth[rewards.SPREAD] = np.sqrt(instance.scales)
    if isinstance(instance.family, Bounded):
        guess = np.sqrt(instance.family.variances(instance.means)) / instance.family.width
        truth[rewards.SPREAD] = -1.0 if instance.family.variance is None else guess
    truth[rewards.FLOOR] = instance.floors
    if isinstance(instance.family, Poisson):
        mode = np.floor(instance.means)
        truth[rewards.BELOW] = pdtr(mode, instance.means)
        truth[rewards.SPREAD] = truth[rewards.BELOW] - np.where(mode > 0.0, pdtr(mode - 1.0, instance.means), 0.0)
    if law is not None:
        truth[[rewards.SPREAD, rewards.BELOW]] = np.array(law.parameters())[:, None]
    return truth


def _function(instance: Instance) -> Any:
    """The function of custom rates; None for all others."""
    return instance.rates.function if isinstance(instance.rates, Custom) else None
