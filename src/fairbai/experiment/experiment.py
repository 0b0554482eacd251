"""One experiment in memory: the arrays that the kernels work on, and its three steps; rules and rates in Python too."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from fairbai.compiling.entry import patiently
from fairbai.experiment.arrays import codes_of, first_state, params_of, set_floors, set_limits
from fairbai.experiment.defaults import MAX_SEED, check_unit, checked_seed, sampling_of, stopping_of
from fairbai.experiment.design import checked_guarantees, prepared
from fairbai.experiment.optimal_cost import optimal_cost
from fairbai.experiment.python_rules import python_choice
from fairbai.kernels import state as rows
from fairbai.kernels.allocation.shares import SHARES_ROWS
from fairbai.kernels.config import RATE, RUN
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.loop import steps as kernels
from fairbai.kernels.rates import CONSTANT
from fairbai.kernels.sampling.queues import AVAILABLE
from fairbai.kernels.sampling.rules import FROM_POLICY, PYTHON, draws, earns, has_policy
from fairbai.kernels.settling import settle
from fairbai.kernels.stopping import design, standing
from fairbai.problems.assumptions import proved_if
from fairbai.problems.checks import Array, whole
from fairbai.problems.configured import Form
from fairbai.problems.families import Family
from fairbai.problems.question import Question, check_rates
from fairbai.problems.rates import Bounded, Constant, Rate
from fairbai.sampling.rule import SamplingRule
from fairbai.stopping import DesignBased, StoppingRule

MANY, MANY_TO_SOLVE = 5_000, 500  # arms from which on a trial as Python takes a tenth of a second
MANY_PAIRS = 200  # arms from which on comparing all pairs as Python may take a second

Evidence = tuple[float, int, float, float, float]
"""What ``kernels.stopping.scores.evidence`` returns."""


class Experiment:
    """What an ``Identifier`` and a simulated run have in common: assign an arm, observe a reward, reconsider.

    Args:
        arms: Their number.
        family: The reward family.
        rates: The floors; none by default.
        sampling: The sampling rule; ``FairTopTwo()`` by default, or a rule that draws if the stopping rule needs one.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        seed: Of the random stream, together with ``run``.
        run: The number of the run.
        question: What the answer must be; by default, the arm with the largest mean.

    Attributes:
        declared: The reward family.
        family: The same as the kernels see it: for them the largest mean is the best.
    """

    def __init__(
        self,
        arms: int,
        family: Family,
        rates: Rate | None = None,
        sampling: SamplingRule | Form | None = None,
        stopping: StoppingRule | Form | None = None,
        seed: int = 0,
        run: int = 0,
        question: Question | None = None,
    ) -> None:
        self.question = (question or Question()).for_control(arms)
        self.declared, self.family = family, family.for_goal(self.question.goal)
        self.rates = Constant() if rates is None else rates
        self.stopping = stopping_of(stopping, family)
        self.sampling = sampling_of(sampling, self.stopping, self.rates, arms, family)
        self.python_rule = self.sampling.code is None
        self._check()
        self.codes = codes_of(self, checked_seed(seed), run)
        self.python_rates = not isinstance(self.rates, Constant) and int(self.codes[RATE]) == CONSTANT
        self.params = params_of(self, arms)
        self.state, self.scalars = first_state(self, arms)
        if isinstance(self.rates, Constant):
            set_floors(self.state, self.scalars, self.rates.floors(np.zeros(arms)))
        if isinstance(self.rates, Bounded):
            set_limits(self.state, self.scalars, self.rates.limits(arms))
        self.guarantees: Array | None = None
        if isinstance(self.stopping, DesignBased):
            self.guarantees = checked_guarantees(self.sampling, self.rates, arms)
            self.state, self.scalars = prepared(self.stopping, self.guarantees, self.state, self.scalars)
        self.resize(arms)

    def _check(self) -> None:
        """Refuse rules and rates that do not suit each other, the family or the question."""
        self.sampling.check(self.rates)
        self.stopping.check(self.family)
        check_unit(self.family, self.rates)
        check_rates(self.question.goal, self.rates, self.family)

    def resize(self, arms: int) -> None:
        """Make room for what the kernels compute of so many arms."""
        self.policy = np.empty(arms)
        self.workspace = np.ones((SHARES_ROWS, arms))  # which says that every arm is available
        code = PYTHON if self.python_rule else self.sampling.code
        needed = self.limited or self.sampling.solves or has_policy(code) or earns(code)
        self._room = (self.policy, self.workspace) if needed else (None, None)  # the compiler then leaves out both
        self._many = arms > (MANY_TO_SOLVE if self.sampling.solves else MANY)

    def copied(self) -> Self:
        """A copy to spend: what happens to it does not happen to this experiment."""
        one = copy.copy(self)
        one.state, one.scalars = self.state.copy(), self.scalars.copy()
        return one

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the run loop takes."""
        return self.codes, self.params, self.state, self.scalars, *self._room

    @property
    def all_arrays(self) -> tuple[Any, ...]:
        """The same with nothing left out, as the loop over edge nodes takes it."""
        return self.codes, self.params, self.state, self.scalars, self.policy, self.workspace

    @property
    def keeps_scores(self) -> bool:
        """Whether a score stays true of the arm that it named, and so is kept: not if the best arm may change."""
        return self.stopping.proved(self.family) and not self.stopping.drift_proof

    @property
    def proved_if(self) -> str:
        """The conditions of the proof of its answer."""
        return proved_if(self.declared, self.stopping.drift_proof, self.sampling.condition)

    def restart_stream(self, run: int) -> None:
        """Draw what comes from the stream of this run."""
        self.codes[RUN] = whole("stream", run, 0, MAX_SEED)

    @property
    def run(self) -> int:
        """The number of the run."""
        return int(self.codes[RUN])

    @property
    def round(self) -> int:
        """Trials that were assigned."""
        return int(self.scalars[rows.ROUND])

    @property
    def unseen(self) -> bool:
        """Whether there are arms that have no reward yet, or too few to estimate an unknown variance."""
        return bool(self.scalars[rows.UNSEEN] > 0.0)

    @property
    def limited(self) -> bool:
        """Whether there are ceilings or groups beside the floors."""
        return bool(rows.has_limits(self.scalars))

    @property
    def best(self) -> int:
        """The arm to name: the first with the best mean or, with a stop that survives drift, the best average.

        With a control, it is the control if more evidence speaks for that.
        """
        if self.question.control is not None:
            return int(self.scalars[rows.NAMED])
        if self.guarantees is not None:
            return int(design.leader(self.state))
        return int(self.state[rows.MEAN].argmax())

    def assign(self, available: Array | None = None) -> int:
        """Choose the next arm and count it as assigned.

        Args:
            available: 1 for every arm that may be chosen, for a rule that skips arms; all by default.
        """
        if self.sampling.skips_arms:
            self.workspace[AVAILABLE] = 1.0 if available is None else available
        if self.python_rule:
            arm = python_choice(self)
            self.count_assigned(arm)
            return arm
        assign = patiently(kernels.assign) if self._many else kernels.assign
        chosen = int(assign(self.codes, self.params, self.state, self.scalars, *self._room))
        if chosen < 0:
            raise NotImplementedError(f"no kernel knows the sampling rule {self.sampling.kind}")
        return chosen

    def drawn_with(self, arm: int) -> float | None:
        """The probability with which the rule has just drawn this arm; None if it did not draw it from a policy."""
        started = self.sampling.origin == FROM_POLICY or self.round > self.policy.size
        if self.python_rule or not started or not draws(self.sampling.code):
            return None
        return float(self.policy[arm])

    def count_assigned(self, arm: int) -> None:
        """Count a trial of an arm that something else than the rule chose."""
        self.state[rows.ASSIGNED, arm] += 1.0
        self.scalars[rows.ROUND] += 1.0

    def observe(self, arm: int, value: float) -> None:
        """Count a reward."""
        kernels.observe(self.codes, self.params, self.state, self.scalars, arm, value)

    def weigh(self, arm: int, value: float, chance: float) -> None:
        """Count a drawn trial as evidence that survives drift, in the order of assignment."""
        design.count_bet(self.state, self.scalars, arm, value, chance)

    def reconsider(self, level: float = -math.inf) -> Evidence:
        """Bring floors and allocation up to date with the means; returns what ``kernels.stopping.evidence`` does.

        Where the score is below ``level`` it may be any number below it, which is quicker to find.
        """
        if self.python_rates and not self.unseen:
            set_floors(self.state, self.scalars, self.floors_at(self.state[rows.MEAN]))
        reconsider = patiently(kernels.reconsider) if self._many else kernels.reconsider
        found: Evidence = reconsider(self.codes, self.params, self.state, self.scalars, self._room[1], level)
        return found

    def floors_at(self, means: Array) -> Array:
        """The floors of rates that are written in Python, which see means in the unit of the rewards."""
        return self.rates.floors(self.family.in_units(means))

    def exact_evidence(self) -> Evidence:
        """What ``kernels.stopping.evidence`` says, exact at every level."""
        found: Evidence = kernels.exact_evidence(self.codes, self.params, self.state, self.scalars)
        return found

    def how_sure(self) -> tuple[float, Evidence]:
        """The best score that speaks for the named arm; and the evidence now, exact at every level."""
        found: tuple[float, Evidence] = kernels.how_sure(self.codes, self.params, self.state, self.scalars)
        return found

    def candidates(self, level: float) -> Any:
        """Whether each arm may still be the best: no other has a score of at least ``level`` against it."""
        entry = patiently(standing.candidates) if self.policy.size > MANY_PAIRS else standing.candidates
        return entry(self.codes, self.params, self.state, self.scalars, level)

    @property
    def names_an_arm(self) -> bool:
        """Whether every arm has a reward, so that one can be named."""
        return bool(np.count_nonzero(self.state[rows.OBSERVED]) == self.policy.size)

    def trials_to_settle(self, floors: Array) -> int:
        """The least number of further trials that can meet these floors, or all limits."""
        return int(settle.settling_trials(self.state, self.scalars, floors, self.workspace))

    def settling_arm(self, floors: Array, end: int) -> int:
        """The next arm on the way to the round at which they are met."""
        return int(settle.settling_arm(self.state, self.scalars, floors, end, self.workspace))

    def give_up(self, arm: int, n: int = 1) -> None:
        """Expect no reward of ``n`` more trials of an arm."""
        lost = self.state[rows.LOST].copy()
        lost[arm] += n
        self.lose(lost)

    def lose(self, lost: Array) -> None:
        """Set how many trials of every arm are given up: fairness counts them, and no rewards are expected of them."""
        self.state[rows.LOST] = lost
        self.scalars[rows.GIVEN_UP] = self.state[rows.LOST].sum()

    def set_rewards(self, arm: int, count: int, total: float, squares: float) -> None:
        """Set what the rewards of an arm add up to, where some that were counted were wrong; ``recount`` is due then.

        Args:
            arm: The arm.
            count: How many rewards it has.
            total: Their sum.
            squares: The sum of their squares or, if variances are unknown, of their squared deviations.
        """
        state = self.state
        state[rows.OBSERVED, arm], state[rows.SUM, arm], state[rows.SQUARES, arm] = count, total, squares
        if self.family.code == GAUSSIAN_UNKNOWN:
            state[rows.SCALE, arm] = self.family.scales(self.policy.size)[arm]
        if count == 0:
            state[[rows.MEAN, rows.INSIDE, rows.PENALTY], arm] = 0.0

    def forget_floors(self) -> None:
        """Set learned floors to 0, which they are until every arm has the rewards that its estimates need."""
        if not isinstance(self.rates, Constant):
            set_floors(self.state, self.scalars, np.zeros(self.policy.size))

    def recount(self) -> None:
        """Bring what follows from the counts and sums up to date, after these were changed from outside."""
        kernels.recount(self.codes, self.params, self.state, self.scalars)

    def trials_for(self, evidence: float) -> float:
        """About how many trials bring so much more evidence: the GLR grows by about 1 / T*_p per trial."""
        if self.unseen:
            return math.inf
        cost = self._optimal_cost()
        rest = max(0.0, evidence) / cost if cost > 0.0 else math.inf
        return float(math.ceil(rest)) if math.isfinite(rest) else math.inf

    def _optimal_cost(self) -> float:
        """1 / T*_p at the present means: how much the GLR grows with every trial, at best."""
        return optimal_cost(self)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo what was counted if something fails on the way, such as the user's own rule or rates."""
        before = self.state.copy(), self.scalars.copy()
        try:
            yield
        except BaseException:
            self.state[:], self.scalars[:] = before
            raise
