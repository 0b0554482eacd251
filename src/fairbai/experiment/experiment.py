"""One experiment in memory: the arrays that the kernels work on, and its three steps; rules and rates in Python too."""

import math
from typing import Any

import numpy as np

from fairbai.kernels import state as rows
from fairbai.kernels.loop import steps as kernels
from fairbai.kernels.rates import CONSTANT, spare_share
from fairbai.kernels.sampling.rules import PYTHON, rule_workspace
from fairbai.kernels.settling.floors import add_margins, add_variances, raise_floors, reach
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.problems.checks import Array, frozen, is_whole, whole
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.rates import Bounded, Constant, Limits, Rate
from fairbai.sampling.fair_top_two import FairTopTwo
from fairbai.sampling.rule import SamplingRule, Situation
from fairbai.stopping import Mixture, StoppingRule

LARGEST_SEED = 2**63 - 1


class Experiment:
    """What an ``Identifier`` and a simulated run have in common: assign an arm, observe a reward, reconsider.

    Args:
        arms: Their number.
        family: The reward family; Gaussian with variance 1 by default.
        rates: The floors; none by default.
        sampling: The sampling rule; ``FairTopTwo()`` by default.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        seed: Of the random stream, together with ``run``.
        run: The number of the run.
    """

    def __init__(
        self,
        arms: int,
        family: Family | None = None,
        rates: Rate | None = None,
        sampling: SamplingRule | None = None,
        stopping: StoppingRule | None = None,
        seed: int = 0,
        run: int = 0,
    ) -> None:
        self.family: Family = _instance_of("family", Family, family, Gaussian())
        self.rates: Rate = _instance_of("rates", Rate, rates, Constant())
        self.sampling: SamplingRule = _instance_of("sampling", SamplingRule, sampling, FairTopTwo())
        self.stopping: StoppingRule = _instance_of("stopping", StoppingRule, stopping, Mixture())
        self.stopping.check(self.family)
        seed = checked_seed(seed)
        learned = not isinstance(self.rates, Constant)
        rate = getattr(self.rates, "code", CONSTANT)
        self.python_rates = learned and rate == CONSTANT
        self.python_rule = self.sampling.code is None
        rule = PYTHON if self.python_rule else self.sampling.code
        codes = [self.family.code, rate, learned, rule, self.sampling.origin, self.stopping.code, seed, run]
        self.codes = np.array(codes, dtype=np.int64)
        p0, temperature = getattr(self.rates, "p0", 0.0), getattr(self.rates, "temperature", 1.0)
        self.reals = np.array([p0, temperature, self.sampling.parameter, *self.stopping.parameters])
        self.state = np.zeros((rows.STATE_ROWS, arms))
        self.state[rows.SCALE] = self.family.scales(arms)
        self.numbers = np.zeros(rows.NUMBERS)
        self.numbers[rows.UNSEEN] = arms
        self.numbers[rows.SPARE] = 1.0
        self.numbers[rows.SLACK] = -1.0
        if not learned:
            self._set_floors(self.rates.floors(np.zeros(arms)))
        if isinstance(self.rates, Bounded):
            self._set_limits(self.rates.limits(arms))
        self.policy = np.empty(arms)
        self.room = rule_workspace(arms)

    @property
    def round(self) -> int:
        """Trials that were assigned."""
        return int(self.numbers[rows.ROUND])

    @property
    def limited(self) -> bool:
        """Whether there are ceilings or groups beside the floors."""
        return bool(self.numbers[rows.SLACK] >= 0.0)

    @property
    def best(self) -> int:
        """The first arm with the largest mean."""
        return int(np.argmax(self.state[rows.MEAN]))

    def assign(self) -> int:
        """Choose the next arm and count it as assigned."""
        if self.python_rule:
            arm = self._ask_python()
            self.count_assigned(arm)
            return arm
        return int(kernels.assign(self.codes, self.reals, self.state, self.numbers, self.policy))

    def _ask_python(self) -> int:
        """The choice of a rule that is written in Python, checked before anything changes."""
        seed, run = int(self.codes[kernels.SEED]), int(self.codes[kernels.RUN])
        uniform = float(two_uniforms(seed, run, self.round)[0])
        assigned, observed, means, floors = self.state[[rows.ASSIGNED, rows.OBSERVED, rows.MEAN, rows.FLOOR]]
        situation = Situation(frozen(assigned), frozen(observed), frozen(means), frozen(floors), uniform)
        arm = self.sampling.choose(situation)
        arms = self.policy.size
        if not is_whole(arm, 0, arms - 1):
            raise ValueError(f"{self.sampling.kind} must choose an arm from 0 to {arms - 1}, got {arm!r}")
        return int(arm)

    def count_assigned(self, arm: int) -> None:
        """Count a trial of an arm that something else than the rule chose."""
        self.state[rows.ASSIGNED, arm] += 1.0
        self.numbers[rows.ROUND] += 1.0

    def observe(self, arm: int, value: float) -> None:
        """Count a reward."""
        kernels.observe(self.codes, self.reals, self.state, self.numbers, arm, value)

    def reconsider(self, level: float = -math.inf) -> tuple[float, int, float, float, float]:
        """Bring floors and allocation up to date with the means; returns what ``kernels.stopping.evidence`` does.

        Where the score is below ``level`` it may be any number below it, which is quicker to find.
        """
        if self.python_rates and self.numbers[rows.UNSEEN] == 0.0:
            self._set_floors(self.rates.floors(self.state[rows.MEAN]))
        found: tuple[float, int, float, float, float] = kernels.reconsider(
            self.codes, self.reals, self.state, self.numbers, self.room, level
        )
        return found

    def raised_floors(self, margin: float) -> tuple[Array, float]:
        """The floors at the means, each raised by ``margin`` standard errors, and what they leave."""
        state = self.state
        floors, room = state[rows.FLOOR].copy(), np.zeros((4, self.policy.size))
        family, rate, (p0, temperature) = self.family.code, self.codes[kernels.RATE], self.reals[:2]
        if not self.python_rates:
            return floors, float(raise_floors(family, rate, p0, temperature, margin, state, floors, room))
        floors[:] = self.rates.floors(state[rows.MEAN])
        if margin > 0.0:
            variances, means = room[0], state[rows.MEAN].copy()
            for arm in range(means.size):
                low, high, error = reach(family, state, arm)
                if low < high:
                    ends = [self.rates.floors(_with(means, arm, end)) for end in (low, high)]
                    add_variances(*ends, error / (high - low), variances)
            add_margins(floors, variances, margin)
        return floors, float(spare_share(floors))

    def assess(self) -> tuple[float, int, float, float, float]:
        """What ``kernels.stopping.evidence`` says, exactly."""
        found: tuple[float, int, float, float, float] = kernels.assess(self.codes, self.reals, self.state, self.numbers)
        return found

    def _set_floors(self, floors: Array) -> None:
        self.state[rows.FLOOR] = floors
        self.numbers[rows.SPARE] = spare_share(self.state[rows.FLOOR])

    def _set_limits(self, limits: Limits) -> None:
        self.state[rows.CEILING] = limits.ceilings
        self.state[rows.GROUP] = limits.groups
        self.state[rows.GROUP_FLOOR] = limits.group_floors
        self.state[rows.CENTRE] = limits.centre
        self.numbers[rows.SLACK] = limits.slack


def _with(means: Array, arm: int, mean: float) -> Array:
    """The means with another one for an arm."""
    changed = means.copy()
    changed[arm] = mean
    return changed


def checked_seed(seed: Any) -> int:
    """``seed`` as an int that the random stream takes."""
    return whole("seed", seed, 0, LARGEST_SEED, "a whole number from 0 to 2**63 - 1")


def _instance_of(name: str, kind: type, value: Any, default: Any) -> Any:
    if value is None:
        return default
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
    return value
