"""Fair anchored top-two: fairness first, then the best arm or its challenger. No optimisation at all."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import number
from fairbai.problems.rates import Constant, Rate
from fairbai.sampling.bounds import Bounds, group_sizes, groups_floored, harmonic
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class FairTopTwo(SamplingRule):
    """The default rule: as few trials as F-TaS or fewer, floors on every path, a fraction of the cost.

    An arm that is behind its floor is drawn with the probability of what it lacks, and for certain if it lacks more
    than a trial; then an arm that was never pulled. Otherwise the choice is between the empirical best arm b and its
    challenger, the arm that is cheapest to tie with b when log N is added to the cost. The odds are H^√t to 1, where
    H = Σ d(θ_b, m_a) / d(θ_a, m_a) over the arms above their floors (for Gaussian arms of one variance Σ (N_a / N_b)²):
    the slope of the allocation problem, which is 1 at its optimum.

    Every choice is drawn, so that two experiments on the same visitors do not choose in step.

    Args:
        margin: An arm counts as above its floor if N_a > p_a t + margin. An arm that is held at its floor moves up and
            down by a trial, and by more if the floor is learned; with a smaller margin it would look as if it were
            above.
        earning: From 0, for the fewest trials until the answer, to 1, for the least regret until then: a trial also
            costs what it forgoes, so that more of them go to the best arm. The floors hold all the same. 1 needs
            floors for two arms or more, and is refused without: trials of the best arm would cost nothing.

    Example:
        >>> FairTopTwo().to_dict()
        {'kind': 'fair_top_two', 'margin': 2.0}
        >>> FairTopTwo(earning=0.5).converges_to
        'none'
    """

    margin: float = 2.0
    earning: float = 0.0
    fairness: ClassVar[Fairness] = "every path"
    converges_to: ClassVar[Target] = "fair"
    random: ClassVar[bool] = True
    code: ClassVar[int] = kernels.FAIR_TOP_TWO
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        margin = number("margin", self.margin, 0.0, 1e300, "at least 0")
        earning = number("earning", self.earning, 0.0, 1.0, "in [0, 1]")
        self._set(margin=margin, earning=earning, parameter=margin, second=earning)
        if earning > 0.0:
            self._set(converges_to="none")

    def check(self, rates: Rate) -> None:
        """Refuse an earning of 1 where the best arm may cost nothing, so that the answer may never come."""
        super().check(rates)
        if self.earning == 1.0 and isinstance(rates, Constant) and _floored(rates) < 2:
            raise ValueError(
                "fair_top_two with earning 1 needs floors for two arms or more: without them it would hardly ever end; "
                "give floors, such as floors=0.05, or use earning=0.9"
            )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; without an earning of 0, so that it is what it was before there was one."""
        form = super().to_dict()
        return form if self.earning > 0.0 else {name: value for name, value in form.items() if name != "earning"}

    def bounds(self, rates: Constant, arms: int) -> Bounds:
        """The claims of docs/sampling.md and, with ceilings or groups, of docs/limits.md."""
        behind = harmonic(arms - 1)
        groups = [0.5 + (arms - size) * (2.0 + behind) for size in group_sizes(rates, arms)]
        groups_above = [1.0 + 2.0 * floored for floored in groups_floored(rates, arms)]
        return Bounds([behind] * arms, [1.0] * arms, groups, groups_above)


def _floored(rates: Constant) -> float:
    """How many arms have a floor of their own; a floor for all counts as one for many."""
    if np.ndim(rates.floor) > 0:
        return float(np.count_nonzero(rates.floor))
    return math.inf if float(rates.floor) > 0.0 else 0.0  # type: ignore[arg-type]  # a number
