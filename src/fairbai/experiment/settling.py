"""How an experiment settles after the decision: against which floors, and whether it goes on learning."""

from dataclasses import dataclass
from typing import Any, Self

from fairbai.experiment.experiment import Experiment
from fairbai.kernels.rates import spare_share
from fairbai.kernels.settling.floors import FROZEN, LEARNING, NOT, furthest_behind, settling_trials
from fairbai.kernels.settling.limits import settling_arm, settling_trials_within
from fairbai.problems.checks import Array, number, true_or_false

LONGEST = 2  # learning ends after as many further trials as there were before the decision


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
        >>> ident = fb.Identifier(3, delta=0.05, rates=fb.rates.InverseGap(0.7), settle=settling)
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


def settling_plan(experiment: Experiment, settle: bool | Settling) -> tuple[Array, int]:
    """The floors to meet as things stand, and the round at which they (and all other limits) are met."""
    floors, _ = experiment.raised_floors(settle.margin if isinstance(settle, Settling) else 0.0)
    return floors, settling_round(experiment, floors)


def settling_round(experiment: Experiment, floors: Array) -> int:
    """The first round at which these floors (and all other limits) can be met."""
    state, numbers = experiment.state, experiment.numbers
    if experiment.limited:
        return experiment.round + int(settling_trials_within(state, numbers, experiment.room))
    return experiment.round + int(settling_trials(state, numbers, floors, float(spare_share(floors))))


def settling_choice(experiment: Experiment, floors: Array, end: int) -> int:
    """The next arm on the way to that round."""
    state = experiment.state
    if experiment.limited:
        return int(settling_arm(state, experiment.numbers, end, experiment.room))
    return int(furthest_behind(state, floors, end, float(spare_share(floors))))
