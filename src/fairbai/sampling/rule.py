"""What all sampling rules have in common, and how to write one in plain Python."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array
from fairbai.problems.configured import Configured
from fairbai.problems.rates import Bounded, Constant, Rate
from fairbai.sampling.bounds import Bounds

ALONE = "no other experiment runs on the same visitors"
Fairness = Literal["every path", "on average", "none"]
Target = Literal["fair", "unconstrained", "none"]


@dataclass(frozen=True)
class Situation:
    """What a rule written in Python sees: read-only arrays with one entry per arm.

    Attributes:
        assigned: Trials given to each arm so far.
        observed: Of these, the trials whose reward has arrived.
        means: Mean of the rewards that have arrived (0 for an arm that has none).
        floors: The share that each arm is guaranteed, at the current means.
        uniform: A random number in (0, 1), new for every trial; the only randomness that a rule may use.
    """

    assigned: Array
    observed: Array
    means: Array
    floors: Array
    uniform: float


@dataclass(frozen=True, eq=False)
class SamplingRule(Configured):
    """Chooses the arm of the next trial. To write your own, subclass and override ``choose``.

    A rule states its own facts. The first three are promises, which ``fairbai.testing.check_sampling_rule`` tests.

    Attributes:
        fairness: How floors that are known beforehand are met. On "every path": in every run and at all times no arm is
            behind its floor by more than ``bounds`` says; "on average": E[N_a] >= p_a t - K; "none": no promise.
        converges_to: Where the shares go: to the "fair" optimum w*_p, the "unconstrained" w*, or "none" of them.
        random: Whether the choice depends on the random number. If not, the rewards alone determine the arms, and an
            answer is proved only where no other experiment runs on the same visitors.
        draws: Whether every arm is drawn from a policy, so that its probability is known; ``start`` may delay this.
        tracks: Whether the rule takes an arm that is below the sum of its policies: the furthest, or one drawn.
        solves: Whether it solves the allocation problem after each reward.
        skips_arms: Whether ``ask`` may say that some arms are not available.
        takes_limits: Whether it can be used with ceilings and groups; a rule that keeps floors only refuses them.
        code: Its number in ``kernels.sampling``; None for a rule that is written in Python.
        origin: How its kernel begins: with one pull of each arm, or by its policy.
        parameter: The number that its kernel takes.
        second: A second one.

    Example:
        >>> from dataclasses import dataclass
        >>> import fairbai as fb
        >>> @dataclass(frozen=True, eq=False)
        ... class RoundRobin(fb.sampling.SamplingRule):
        ...     fairness = "none"
        ...     converges_to = "none"
        ...     def choose(self, situation):
        ...         return int(situation.assigned.argmin())
        >>> fb.Identifier(3, delta=0.1, family=fb.Gaussian(1.0), sampling=RoundRobin()).ask(4)
        [0, 1, 2, 0]
    """

    argument: ClassVar[str] = "sampling"
    fairness: ClassVar[Fairness]
    converges_to: ClassVar[Target]
    random: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    tracks: ClassVar[bool] = False
    solves: ClassVar[bool] = False
    skips_arms: ClassVar[bool] = False
    takes_limits: ClassVar[bool] = True
    code: ClassVar[int | None] = None
    origin: ClassVar[int] = kernels.FROM_EACH_ARM
    parameter: ClassVar[float] = 0.0
    second: ClassVar[float] = 0.0

    def choose(self, situation: Situation) -> int:
        """The next arm; only for rules without a code."""
        raise TypeError(f"{type(self).__name__} must override choose")

    @property
    def condition(self) -> str:
        """What proofs need besides: a rule that does not draw may choose in step with another on the same visitors."""
        return "" if self.random else ALONE

    def check(self, rates: Rate) -> None:
        """Refuse limits that the rule would not keep."""
        if isinstance(rates, Bounded) and not self.takes_limits:
            raise ValueError(
                f"{self.kind} keeps floors, but neither ceilings nor groups: use FairTopTwo() or another rule for them"
            )

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """The least probability with which each arm is drawn in any trial; None if not all trials are drawn."""
        if not self.draws or self.code is None or self.origin != kernels.FROM_POLICY:
            return None
        return rates.floors(np.zeros(arms))

    def bounds(self, rates: Constant, arms: int) -> Bounds | None:
        """How far from these limits the rule can be at any time, in any run; None if that is not promised.

        Unless a rule says more, "every path" means that no arm is ever more than ``most_behind`` trials behind its
        floor, which are K unless it says less, and promises nothing about ceilings and groups.
        """
        if self.fairness != "every path" or isinstance(rates, Bounded):
            return None
        return Bounds([self.most_behind(arms)] * arms, [], [])

    def most_behind(self, arms: int) -> float:
        """By how many trials an arm can ever be behind its floor, for a rule that is fair on every path."""
        return float(arms)

    def most_behind_if_skipped(self, trials: int) -> float:
        """By how many trials an arm can be behind its floor after so many trials, for a rule that skips arms.

        The floor is then a share of the trials in which the arm was available.
        """
        return float(trials)
