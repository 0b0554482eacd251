"""What ``Identifier.ask_trial`` returns."""

from collections.abc import Hashable
from dataclasses import dataclass

from fairbai.problems.checks import whole


@dataclass(frozen=True)
class Trial:
    """One trial, as ``Identifier.ask_trial`` returns it.

    Attributes:
        number: How many trials were assigned before it.
        arm: The label of its arm.
        probability: The probability with which the sampling rule drew this arm; None if it was not drawn from a policy:
            by rules that do not draw, in the pulls of each arm at the start, and after the decision.
    """

    number: int
    arm: Hashable
    probability: float | None = None

    def __post_init__(self) -> None:
        whole("number", self.number, 0)
