"""Sentences about shares, in the user's own labels and in per cent."""

from collections.abc import Sequence
from typing import Any


def named(label: Any) -> str:
    """What a sentence calls an arm: its label in quotes, or its number."""
    return repr(label) if isinstance(label, str) else f"arm {label}"


def told(*pieces: str | float) -> str:
    """Text with shares in per cent, which have as many digits as it takes to tell different ones apart.

    Example:
        >>> told("a floor of ", 1 / 3, " but a ceiling of ", 0.3)
        'a floor of 33.33 % but a ceiling of 30 %'
        >>> told("a floor of ", 0.300001, " but a ceiling of ", 0.3)
        'a floor of 30.0001 % but a ceiling of 30 %'
    """
    shares = [piece for piece in pieces if not isinstance(piece, str)]
    different = len({round(share, 9) for share in shares})
    texts: list[str] = []
    for digits in (4, 6, 8, 10, 12):
        texts = [f"{100.0 * share:.{digits}g} %" for share in shares]
        if len(set(texts)) >= different:
            break
    percents = iter(texts)
    return "".join(piece if isinstance(piece, str) else next(percents) for piece in pieces)


def listed(words: Sequence[str]) -> str:
    """Words with commas between them, and "and" before the last.

    Example:
        >>> listed(["a", "b", "c"])
        'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
