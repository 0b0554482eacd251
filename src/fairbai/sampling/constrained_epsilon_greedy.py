"""Constrained ε-greedy (Celis et al., 2019): the best policy within all limits, and a little of any other."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import number
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class ConstrainedEpsilonGreedy(SamplingRule):
    """Draws from (1 - ε_t) argmax θ̂ᵀπ + ε_t q within all limits, with ε_t = min(1, exploration / t).

    The algorithm of Celis, Kapoor, Salehi and Vishnoi (2019). The maximum is over all policies within the floors,
    ceilings and groups, and q is one in their interior; so every draw is within all limits. While arms have no reward
    it draws from q.

    Args:
        exploration: The paper has 4 / (η d²), with a gap d that is not known beforehand and an η that depends on q (its
            exact meaning is not known to us). The default is our choice.

    Example:
        >>> ConstrainedEpsilonGreedy(exploration=50).to_dict()
        {'kind': 'constrained_epsilon_greedy', 'exploration': 50.0}
    """

    exploration: float = 20.0
    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.CONSTRAINED_EPSILON_GREEDY
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        exploration = number("exploration", self.exploration, 0.0, 1e300, "at least 0")
        self._set(exploration=exploration, parameter=exploration)
