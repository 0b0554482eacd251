"""What is asked of the arms: the largest or the least mean, exactly or within a tolerance, against a control or not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array, is_whole, number, refuse
from fairbai.problems.families import MAX_VALUE, Family, Gaussian
from fairbai.problems.labels import some
from fairbai.problems.rates import Custom, Overlapping, Proportional, Rate

Goal = Literal["max", "min"]
Tolerance = float | str | None
"""How far from the best the answer may be: in the unit of the rewards, or in percent of the best, such as "10%"."""


@dataclass(frozen=True)
class Question:
    """What the answer must be.

    Without a control, the answer is an arm that is within the tolerance of the best; without a tolerance, the best.
    With a control, it is an arm that is better than the control and within the tolerance of the best; or the control,
    if no arm is better than it by more than the tolerance. Where both are true, either may be the answer.

    Args:
        goal: Whether the best arm has the largest ("max") or the least mean ("min").
        tolerance: See ``Tolerance``; None for none.
        control: The number of an arm, or None.

    Example:
        >>> Question(tolerance="10%").percent
        10.0
    """

    goal: Goal = "max"
    tolerance: Tolerance = None
    control: int | None = None

    def __post_init__(self) -> None:
        if self.goal not in ("max", "min"):
            raise ValueError(f"goal must be 'max' or 'min', got {self.goal!r}")
        object.__setattr__(self, "tolerance", _checked_tolerance(self.tolerance))
        if self.control is not None and self.tolerance is None:
            raise ValueError(
                "control needs a tolerance: how much better than the control an arm must be for it to matter, such as "
                "tolerance='5%'; without one, an arm that is as good as the control would be tried forever"
            )

    @property
    def plain(self) -> bool:
        """Whether the question is which arm has the largest mean."""
        return self == Question()

    @property
    def percent(self) -> float | None:
        """The tolerance in percent of the best; None if it is not relative."""
        return float(self.tolerance[:-1]) if isinstance(self.tolerance, str) else None

    @property
    def exact(self) -> bool:
        """Whether there is no tolerance."""
        return self.tolerance is None

    def for_control(self, arms: int) -> "Question":
        """The same, checked to have its control among so many arms."""
        if self.control is not None and not is_whole(self.control, 0, arms - 1):
            raise ValueError(f"control must be an arm from 0 to {arms - 1}, got {self.control!r}")
        return self

    # --- for the kernels ----------------------------------------------------------------------------------------

    def ties(self, family: Family, arms: int) -> Array:
        """Two rows: the stretch s and the shift e of every rival, in the unit of the kernels.

        An arm a speaks against the arm b that is named if its mean may be s times that of b, and e, or more. For the
        control it is the mean of b itself.

        Args:
            family: The declared one.
            arms: Their number.
        """
        self._check(family)
        turned = family.for_goal(self.goal)
        at, unit = float(turned.in_units(0.0)), float(turned.in_units(1.0)) - float(turned.in_units(0.0))
        stretch, shift = self._in_units()
        ties = np.empty((2, arms))
        ties[0], ties[1] = stretch, ((stretch - 1.0) * at + shift) / unit
        if self.control is not None:
            ties[:, self.control] = 1.0, 0.0
        return ties

    def _in_units(self) -> tuple[float, float]:
        """The same for any rival but the control, in the unit of the rewards."""
        if self.tolerance is None:
            return 1.0, 0.0
        if self.percent is None:
            return 1.0, float(self.tolerance) if self.goal == "max" else -float(self.tolerance)
        part = self.percent / 100.0
        return 1.0 / (1.0 - part if self.goal == "max" else 1.0 + part), 0.0

    def _check(self, family: Family) -> None:
        """Refuse what makes no sense for a family."""
        if self.control is not None and family.structured:
            raise ValueError("control is not for linear arms: leave it out")
        if self.percent is not None and family.low < 0.0 and not isinstance(family, Gaussian):
            raise ValueError(
                f"a tolerance in percent needs means that are positive, got {self.tolerance!r} for {family!r}: give it "
                f"in the unit of the rewards"
            )
        if isinstance(self.tolerance, float) and self.tolerance >= family.high - family.low:
            raise ValueError(
                f"tolerance must be less than the range of the means ({family.high - family.low:g}), got "
                f"{self.tolerance:g}: every arm would be an answer"
            )

    # --- in words -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> str:
        """The tolerance, as in "within 10 %"."""
        return f"{self.percent:g} %" if self.percent is not None else f"{self.tolerance:g}"

    def asked(self, labels: Sequence[Any]) -> str:
        """What is looked for, as the object of a sentence: "the best arm"."""
        best = "the best arm" if self.goal == "max" else "the arm with the least mean"
        if self.tolerance is None:
            return best
        if self.control is None:
            return f"an arm within {self.size} of {best.removeprefix('the arm with ')}"
        return f"an arm that is better than {labels[self.control]!r} (or show that none is by more than {self.size})"

    def to_dict(self, labels: Sequence[Any]) -> dict[str, Any]:
        """The JSON form: what is not as usual."""
        form: dict[str, Any] = {} if self.tolerance is None else {"tolerance": self.tolerance}
        form |= {} if self.goal == "max" else {"goal": self.goal}
        return form if self.control is None else form | {"control": labels[self.control]}

    # --- for instances ------------------------------------------------------------------------------------------

    def check_means(self, means: Array) -> None:
        """Refuse means to which a relative tolerance does not apply."""
        if self.percent is not None:
            refuse("means", "be positive for a tolerance in percent", means, means <= 0.0)

    def pulled_back(self, means: Array) -> Array:
        """For every arm as a rival: the mean of the named arm at their tie, in the unit of the rewards."""
        stretch, shift = self._in_units()
        pulled = (means - shift) / stretch
        if self.control is not None:
            pulled[self.control] = means[self.control]
        return pulled

    def floors(self, rates: Rate, family: Family, means: Array) -> Array:
        """The floors at these means: rates that depend on the means see them mirrored, if less is better."""
        check_rates(self.goal, rates, family)
        if self.goal == "max" or isinstance(rates, Custom):
            return rates.floors(means)
        return rates.floors(family.for_goal(self.goal).out_of_units(means))

    def right(self, means: Array, named: Any, slack: float = 0.0) -> npt.NDArray[np.bool_]:
        """Whether the named arms are right answers.

        Args:
            means: The means of all arms on the last axis, in the unit of the rewards.
            named: One arm for each of the other axes.
            slack: By how much means may be wrong, because they are rounded.
        """
        own = np.take_along_axis(means, named[..., None], axis=-1)[..., 0]
        best = means.max(axis=-1) if self.goal == "max" else means.min(axis=-1)
        control = None if self.control is None else means[..., self.control]
        right: npt.NDArray[np.bool_] = self._right(own, best, control, slack)
        right |= (named == self.control) & self._within(own, best, slack)
        return right

    def acceptable(self, means: Array) -> tuple[int, ...]:
        """The arms that are right answers, the best first."""
        up = means if self.goal == "max" else -means
        best = means[int(np.argmax(up))]
        right = self._right(means, best, None if self.control is None else means[self.control])
        if self.control is not None:
            right[self.control] = self._within(means[self.control], best)
        arms = np.flatnonzero(right)
        return tuple(arms[np.argsort(-up[arms], kind="stable")].tolist())

    def _within(self, own: Any, best: Any, slack: float = 0.0) -> Any:
        """Whether means are within the tolerance of the best."""
        sign = 1.0 if self.goal == "max" else -1.0
        stretch, shift = self._in_units()
        return sign * (stretch * own + shift) >= sign * best - slack

    def _right(self, own: Any, best: Any, control: Any, slack: float = 0.0) -> Any:
        """Whether arms with these means are right answers, if they are not the control."""
        right = self._within(own, best, slack)
        if control is not None:
            right = right & ((own > control) if self.goal == "max" else (own < control))
        return right


def question_of(goal: Any, tolerance: Any, control: Any, labels: Sequence[Any]) -> Question:
    """The question of an experiment whose arms have these labels; the control is given by its label."""
    if control is None:
        return Question(goal, tolerance)
    if control not in labels or not isinstance(control, str | int | np.integer) or isinstance(control, bool):
        raise ValueError(f"control must be one of {some(labels)}, got {control!r}")
    return Question(goal, tolerance, list(labels).index(control))


def check_rates(goal: str, rates: Rate, family: Family) -> None:
    """Refuse rates that would favour the worst arms, and groups that overlap where arms share no parameters."""
    if isinstance(rates, Overlapping) and not family.structured:
        raise ValueError(f"groups that overlap need linear arms, got {family.kind} arms: use rates.Bounded")
    if goal == "min" and isinstance(rates, Proportional):
        raise ValueError(
            "rates in proportion to the means favour the largest, which is the worst for goal='min': give other rates, "
            "such as InverseGap or Softmax"
        )


def _checked_tolerance(tolerance: Any) -> float | str | None:
    """A tolerance as users give it: none, a number, or percent."""
    if tolerance is None:
        return None
    expected = "a positive number in the unit of the rewards, or percent of the best such as '10%'"
    if isinstance(tolerance, (bool, np.bool_)):
        raise ValueError(f"tolerance must be {expected}, got {tolerance!r}")
    if not isinstance(tolerance, str):
        return number("tolerance", tolerance, math.ulp(0.0), MAX_VALUE, expected)
    text = tolerance.strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not text.endswith("%") or not 0.0 < value < 100.0:
        raise ValueError(f"tolerance must be {expected}, with less than 100 %, got {tolerance!r}")
    return f"{value:.12g}%"
