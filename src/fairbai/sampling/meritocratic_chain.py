"""FairBandits (Joseph et al., 2016): no arm is preferred to another before it is known to be better."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array, confidence
from fairbai.problems.rates import Constant
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class MeritocraticChain(SamplingRule):
    """Draws all arms with equal probability whose confidence intervals are chained to the highest one.

    FairBandits of Joseph, Kearns, Morgenstern and Roth (2016). With probability 1 - delta, at all times, an arm has a
    larger probability than another only if its mean is larger. Arms that are out of the chain never come back. The
    intervals are {m : N d(θ̂, m) <= log(K π² N² / (3 delta))}; the paper has those of Hoeffding, with a constant that
    we know from memory only. It ignores floors and limits: as long as all arms are chained, it draws uniformly.

    Args:
        delta: The probability that the promise is broken; it affects the sampling only.

    Example:
        >>> MeritocraticChain().fairness
        'none'
    """

    delta: float = 0.05
    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.MERITOCRATIC_CHAIN
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        delta = confidence(self.delta)
        self._set(delta=delta, parameter=delta)

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """None: an arm that is out is never drawn."""
        return None
