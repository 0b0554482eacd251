"""What all sampling rules have in common, and how to write one in plain Python."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array
from fairbai.problems.configured import Configured

Fairness = Literal["every path", "on average", "none"]
Limit = Literal["fair", "unconstrained", "none"]


@dataclass(frozen=True)
class Situation:
    """What a rule written in Python sees: read-only arrays with one entry an arm.

    Attributes:
        assigned: Trials given to every arm so far.
        observed: Of these, the trials whose reward has come.
        means: Mean of the rewards that have come (0 for an arm that has none).
        floors: The share that every arm is guaranteed, at the present means.
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

    The two class attributes are promises, which ``fairbai.testing.check_sampling_rule`` tests.

    Attributes:
        fairness: How pre-specified floors are met. On "every path": N_a >= p_a t - K in every run at all times; "on
            average": E[N_a] >= p_a t - K; "none": no promise.
        limit: What the shares converge to: the "fair" optimum w*_p, the "unconstrained" w*, or "none".

    Example:
        >>> from dataclasses import dataclass
        >>> import fairbai as fb
        >>> @dataclass(frozen=True, eq=False)
        ... class RoundRobin(fb.sampling.SamplingRule):
        ...     fairness = "none"
        ...     limit = "none"
        ...     def choose(self, situation):
        ...         return int(situation.assigned.argmin())
        >>> fb.Identifier(3, delta=0.1, sampling=RoundRobin()).ask(4)
        [0, 1, 2, 0]
    """

    fairness: ClassVar[Fairness]
    limit: ClassVar[Limit]

    @property
    def code(self) -> int | None:
        """Its number in ``kernels.sampling``; None for a rule that is written in Python."""
        return None

    @property
    def origin(self) -> int:
        """How its kernel begins: with one pull of each arm, unless it has a way of its own."""
        return kernels.FROM_EACH_ARM

    @property
    def parameter(self) -> float:
        """The number that its kernel takes."""
        return 0.0

    def choose(self, situation: Situation) -> int:
        """The next arm; only for rules without a code."""
        raise TypeError(f"{type(self).__name__} must override choose")
