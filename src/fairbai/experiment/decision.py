"""The answer of an experiment."""

from dataclasses import dataclass

from fairbai.problems.checks import Array


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer, when it was found, the round at which all floors are met, the floors to meet, and the evidence."""

    recommendation: int
    round: int
    final_round: int
    floors: Array
    glr: float
    threshold: float
