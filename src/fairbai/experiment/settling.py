"""How an experiment settles after the decision: against which floors, and whether it goes on learning."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.remaining import Remaining
from fairbai.kernels.config import configure
from fairbai.kernels.settling.margins import add_margins, add_variances, raise_floors, reach
from fairbai.kernels.settling.settle import FROZEN, LEARNING, NOT
from fairbai.kernels.state import ASSIGNED, CENTRE, MEAN
from fairbai.problems.checks import Array, number, true_or_false

MAX_LEARNING = 2  # learning ends after as many further trials as there were before the decision: twice as many in all


@dataclass(frozen=True, order=True)
class Settling:
    """Settling for floors that depend on the means: these are estimates, and a margin makes up for their error.

    With floors that are known beforehand it is the same as ``settle=True``.

    Args:
        margin: By how many of its standard errors every floor is raised. All margins together take at most half of what
            the floors leave, so that they can always be met.
        learn: Whether the rewards that come after the decision still move the floors (never the recommendation).
            Otherwise they are met as they are at the decision.

    Example:
        >>> import fairbai as fb
        >>> settling = fb.Settling(margin=0.5)
        >>> learned = fb.rates.InverseGap(0.7)
        >>> ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(1.0), rates=learned, settle=settling)
        >>> ident.to_dict()["settle"]
        {'margin': 0.5, 'learn': True}
    """

    margin: float = 0.0
    learn: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", number("margin", self.margin, 0.0, 1e300, "at least 0"))
        object.__setattr__(self, "learn", true_or_false("learn", self.learn))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"margin": self.margin, "learn": self.learn}

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """The object of a JSON form; what is left out has its default."""
        for name in form:
            if name not in ("margin", "learn"):
                raise ValueError(f"settle takes margin and learn, got {name!r}")
        return cls(**form)


def checked_settling(settle: Any) -> bool | Settling:
    """``settle`` as users give it, in Python or as JSON."""
    if isinstance(settle, dict):
        return Settling.from_dict(settle)
    return settle if isinstance(settle, Settling) else true_or_false("settle", settle)


def settling_form(settle: bool | Settling) -> bool | dict[str, Any]:
    """The JSON form of ``settle``."""
    return settle.to_dict() if isinstance(settle, Settling) else settle


def settling_code(settle: bool | Settling) -> tuple[int, float]:
    """What the kernels take: how to settle, and the margin."""
    if isinstance(settle, Settling):
        return LEARNING if settle.learn else FROZEN, settle.margin
    return FROZEN if settle else NOT, 0.0


def raised_floors(experiment: Experiment, margin: float) -> Array:
    """The floors at the present means, each raised by ``margin`` standard errors."""
    state, workspace = experiment.state, np.zeros((4, experiment.policy.size))
    if not experiment.python_rates:
        floors = np.empty(experiment.policy.size)
        raise_floors(configure(experiment.codes, experiment.params), margin, state, floors, workspace)
        return floors
    floors = np.array(experiment.floors_at(state[MEAN]))
    if margin > 0.0:  # as in ``raise_floors``, with a rate that no kernel can call
        variances, means = workspace[0], state[MEAN].copy()
        for arm in range(means.size):
            low, high, error = reach(experiment.family.code, state, arm)
            if low < high:
                below, above = (experiment.floors_at(_with(means, arm, end)) for end in (low, high))
                add_variances(below, above, error / (high - low), variances)
        add_margins(floors, variances, margin)
    return floors


def _with(means: Array, arm: int, mean: float) -> Array:
    """The means, with a different one for one arm."""
    changed = means.copy()
    changed[arm] = mean
    return changed


def settling_plan(
    experiment: Experiment, settle: bool | Settling, remaining: Remaining | None = None
) -> tuple[Array, int]:
    """The floors to meet as things stand, and the round at which they (and all other limits) are met.

    Args:
        experiment: The experiment.
        settle: How to settle.
        remaining: The arms that are not switched off, if some are: the others have no floors.
    """
    margin = settle.margin if isinstance(settle, Settling) else 0.0
    if remaining is None:
        floors = raised_floors(experiment, margin)
    else:
        floors = remaining.spread(raised_floors(remaining.load(), margin))
    return floors, settling_round(experiment, floors)


def learned(
    decision: Decision, experiment: Experiment, remaining: Remaining | None, settle: bool | Settling
) -> Decision:
    """The decision with floors that are up to date with the rewards, if that was asked for."""
    learns = isinstance(settle, Settling) and settle.learn
    if not learns or experiment.round > MAX_LEARNING * decision.round:
        return decision
    floors, end = settling_plan(experiment, settle, remaining)
    return replace(decision, floors=floors, final_round=end)


def settling_round(experiment: Experiment, floors: Array) -> int:
    """The first round at which these floors (and all other limits) can be met."""
    return experiment.round + experiment.trials_to_settle(floors)


def settling_choice(experiment: Experiment, floors: Array, end: int) -> int:
    """The next arm on the way to that round."""
    return experiment.settling_arm(floors, end)


def lacking_most(experiment: Experiment, floors: Array, available: Array) -> int:
    """The arm that lacks most of its floor, of those that are available."""
    lacking = floors * (experiment.round + 1.0) - experiment.state[ASSIGNED]
    return int(np.argmax(np.where(available > 0.0, lacking, -np.inf)))


def settled_shares(experiment: Experiment, floors: Array, answer: int) -> Array:
    """Shares for the trials after settling: the limits stay met, and all that they leave goes to the answer."""
    shares: Array = np.array(experiment.state[CENTRE] if experiment.limited else floors)
    shares[answer] += 1.0 - shares.sum()
    return shares
