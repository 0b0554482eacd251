"""The last word of an experiment that has ended without a decision, or that somebody has closed."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

EndedBy = Literal["decision", "max_trials", "deadline", "closed"]


@dataclass(frozen=True)
class Final:
    """An answer or a best guess that nothing changes any more. Arms are numbers.

    Attributes:
        recommendation: The answer, or the arm that was ahead; None if not every arm had a reward.
        decided: Whether it is the answer.
        ended_by: What ended the experiment.
        confidence: How sure it is that the arm is right; None where nothing is proved, and where an earlier version,
            which did not keep it, has closed the experiment.
        candidates: The arms that were not excluded; None where ``confidence`` is.
    """

    recommendation: int | None
    decided: bool
    ended_by: EndedBy
    confidence: float | None = None
    candidates: list[int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Of its JSON form; in earlier versions only people ended experiments."""
        return cls(**{"ended_by": "decision" if form["decided"] else "closed", **form})
