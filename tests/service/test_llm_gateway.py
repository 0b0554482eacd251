"""The example of an LLM gateway, run as a user would run it: real HTTP between users, gateway and service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parents[2]


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_it_finds_the_prompt_that_is_worth_its_price() -> None:
    """Not the one that is liked most, which costs too much."""
    printed = run_python("-m", "examples.llm_gateway", cwd=ROOT)
    rows = re.findall(r"^(short|detailed|reasoning) +([\d,]+) +([\d.]+)% +15% +(-?[\d.]+) ", printed, re.MULTILINE)
    assert [name for name, *_ in rows] == ["short", "detailed", "reasoning"], printed
    assert all(float(share) >= 15.0 for _, _, share, _ in rows)
    assert "Decision: 'detailed', wrong with probability at most 5% (this is proved)." in printed
    assert "From now on every call is answered with the prompt 'detailed'." in printed
