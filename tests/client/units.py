"""Units and policies on which every implementation of the hash must agree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from fairbai.service.http.pages import pages

EDGE_JS: Path = pages.STATIC / "edge.js"
SEED = "000102030405060708090a0b0c0d0e0f"
VECTORS = {  # u of a unit under this seed, computed once
    "user-7": 0.5841747169498037,
    "a": 0.17046981529626237,
    "12345678": 0.008102776900081876,
    "Müller": 0.5960858587161207,
    "訪問者 7": 0.42191429157282345,
    "\U0001f600": 0.2666800914536932,
    "x" * 300: 0.06897026947926488,
}


def policy(probabilities: dict[str, float], seed: str = SEED) -> dict[str, Any]:
    return {"version": 3, "arms": list(probabilities), "probabilities": probabilities, "seed": seed}


def many_units(count: int = 10_000) -> list[str]:
    """Names as sites have them: numbers, e-mail addresses, random text of any script, of all lengths."""
    rng = random.Random(5)
    letters = "abcXYZ019-_.@ äßñ漢字кирилица\u2028\x00\U0001f600\U0001f9ea"
    units = [f"user-{number}" for number in range(count // 2)]
    while len(units) < count:
        units.append("".join(rng.choices(letters, k=rng.randrange(1, 40))))
    return units
