"""Whether kernels are compiled, and who waits for it: the variable FAIRBAI_JIT."""

import os

import numba

BACKGROUND, WAIT, OFF = "background", "wait", "off"


def _chosen() -> str:
    """BACKGROUND unless FAIRBAI_JIT says otherwise; Numba's own switch turns everything off."""
    named = os.environ.get("FAIRBAI_JIT") or BACKGROUND
    if named not in (BACKGROUND, WAIT, OFF):
        raise ValueError(f"FAIRBAI_JIT must be {BACKGROUND}, {WAIT} or {OFF}, got {named!r}")
    return OFF if vars(numba.config)["DISABLE_JIT"] else named


MODE = _chosen()
"""BACKGROUND: what is not compiled yet runs as Python, while another process compiles it. WAIT: every call waits for
the compiled kernel. OFF: everything runs as Python. The results are the same, bit by bit."""
