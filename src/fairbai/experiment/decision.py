"""The answer of an experiment."""

from dataclasses import dataclass

from fairbai.problems.checks import Array


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer, when it was found, the round at which all floors are met, the floors to meet, and the evidence.

    How sure it was and which arms were not excluded are None if the rule is not proved, and in decisions of versions
    that did not keep them.
    """

    recommendation: int
    round: int
    final_round: int
    floors: Array
    glr: float
    threshold: float
    confidence: float | None = None
    candidates: tuple[int, ...] | None = None
