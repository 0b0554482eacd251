"""Learning with fairness guarantee (Li, Liu and Ji, 2019): virtual queues, for arms that may be unavailable."""

import math
from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import number
from fairbai.sampling.bounds import harmonic
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class VirtualQueues(SamplingRule):
    """The available arm with the largest Q_a + η u_a, where Q_a is what it is owed and u_a what it promises.

    LFG of Li, Liu and Ji (2019), one arm at a time. In every trial in which an arm is available its queue grows by its
    floor, and a pull takes 1 from it: Q_a ← max(Q_a + p_a - [a is pulled], 0). u_a is the upper confidence bound of
    rewards in [0, 1]; for others, where that bound lies between the least (0) and the largest (1) of them, which is our
    extension. In the paper queues of unavailable arms grow, too: floors are shares of all trials, which may be
    impossible. Here they are shares of the trials in which the arm is available, which is always possible.

    With arms that are always available, none is ever more than η H_K + H_K + 1 trials behind its floor; in general
    √(2 (η + 1) t) after t trials. It takes no ceilings or groups.

    Args:
        eta: How much a promise counts against what is owed. More earns more (the paper bounds the regret per trial by
            K / (2 η) and what learning costs), and meets the floors later.

    Example:
        >>> import fairbai as fb
        >>> ident = fb.Identifier(["a", "b", "c"], delta=0.05, family="bernoulli", sampling=VirtualQueues())
        >>> ident.ask(available=["b", "c"])
        'b'
    """

    eta: float = 10.0
    fairness: ClassVar[Fairness] = "every path"
    converges_to: ClassVar[Target] = "none"
    takes_limits: ClassVar[bool] = False
    skips_arms: ClassVar[bool] = True
    code: ClassVar[int] = kernels.VIRTUAL_QUEUES
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        eta = number("eta", self.eta, 0.0, 1e9, "from 0 to 1e9")
        self._set(eta=eta, parameter=eta)

    def most_behind(self, arms: int) -> float:
        """The claim of docs/earning.md, for arms that are always available."""
        return (self.eta + 1.0) * harmonic(arms) + 1.0

    def most_behind_if_skipped(self, trials: int) -> float:
        """The claim of docs/earning.md, whatever arms are available."""
        return math.sqrt(2.0 * (self.eta + 1.0) * trials)
