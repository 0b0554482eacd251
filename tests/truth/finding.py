"""One finding: the claim, the figure that refuted it, and how to measure the figure again."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """What an attack finds.

    Attributes:
        text: The figure, such as "1 of 20 wrong".
        holds: Whether the claim withstands it.
    """

    text: str
    holds: bool


@dataclass(frozen=True)
class Finding:
    """A claim that was attacked.

    Attributes:
        number: Which finding of the review it is, such as "truth 1".
        claim: What was said, in a few words.
        before: The figure at commit b6cc41c, which said it.
        measure: Attacks the claim as it stands now; takes a few seconds at most.
    """

    number: str
    claim: str
    before: str
    measure: Callable[[], Figure]
