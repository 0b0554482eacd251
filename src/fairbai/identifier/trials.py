"""What ``Identifier.ask_trial`` returns, and how one that the caller kept is known again."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field

from fairbai.problems.checks import whole


@dataclass(frozen=True)
class Trial:
    """One trial, as ``Identifier.ask_trial`` returns it.

    Attributes:
        number: How many trials were assigned before it.
        arm: The label of its arm.
        probability: The probability with which the sampling rule drew this arm; None if it was not drawn from a policy:
            by rules that do not draw, in the pulls of each arm at the start, and after the decision.
        tag: With ``hold_trials=False``, by which ``tell`` sees that this is what was drawn; keep it with the rest.
    """

    number: int
    arm: Hashable
    probability: float | None = None
    tag: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole("number", self.number, 0)


def tag_of(seed: int, stream: int, number: int, arm: int, probability: float | None) -> str:
    """The tag of a trial that was drawn from this stream of the seed; ``arm`` is the number of the arm.

    It makes a mistake in what the caller keeps impossible. It is no secret to whoever knows the seed.
    """
    text = f"{seed} {stream} {number} {arm} {probability!r}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
