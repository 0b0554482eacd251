"""Fair timing on a noisy machine, and the rows of the table."""

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

Size = TypeVar("Size")

QUICK = bool(os.environ.get("FAIRBAI_BENCH_QUICK"))
"""Whether the suites are only tried out: everything is as small as it can be, and the figures mean nothing."""


def sized(usual: Size, quick: Size) -> Size:
    """How much to measure: as usual, or when the suites are only tried out."""
    return quick if QUICK else usual


@dataclass(frozen=True)
class Ratio:
    """One row: our time and a peer's, both in seconds and measured in turns.

    Attributes:
        what: What is measured.
        ours: Seconds that we take.
        peer: What we are compared with.
        theirs: Seconds that the peer takes.
        ratio: The comparison in words, such as "512x faster".
        target: The target, empty if there is none.
        met: Whether it is met; None if there is none.
        shown: How ours and theirs are written, if they are not seconds.
    """

    what: str
    ours: float
    peer: str
    theirs: float
    ratio: str
    target: str = ""
    met: bool | None = None
    shown: Callable[[float], str] | None = None

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of ``HEADER``."""
        verdict = "" if self.met is None else "yes" if self.met else "NO"
        shown = self.shown or duration
        theirs = f"{shown(self.theirs)} ({self.peer})"
        return self.what, shown(self.ours), theirs, self.ratio, self.target, verdict


HEADER = ("what", "ours", "peer", "ratio", "target", "met?")
_WIDTHS = (66, 9, 58, 32, 22, 4)


def faster(what: str, ours: float, peer: str, theirs: float, at_least: float | None = None) -> Ratio:
    """A row that says how many times faster than the peer we are."""
    ratio = theirs / ours
    target, met = ("", None) if at_least is None else (f"at least {at_least:,.0f}x", ratio >= at_least)
    return Ratio(what, ours, peer, theirs, f"{_number(ratio)}x faster", target, met)


def slower(what: str, ours: float, peer: str, theirs: float, at_most: float | None = None) -> Ratio:
    """A row that says how many times the peer's time we take."""
    ratio = ours / theirs
    target, met = ("", None) if at_most is None else (f"at most {at_most:,.0f}x", ratio <= at_most)
    return Ratio(what, ours, peer, theirs, f"{_number(ratio)}x the time", target, met)


def best_of(calls: Sequence[Callable[[], Any]], rounds: int, number: int = 1) -> list[float]:
    """Seconds per call: the best of three per round and of all rounds, each averaged over ``number`` calls.

    All calls are made once beforehand (to compile, to import) and then take turns, so that a slow spell of the
    machine affects them all; three in a row, so that none pays for what its predecessor left in the caches.
    Noise only ever adds time, so the best is the most stable estimate, for both sides alike.
    """
    for call in calls:
        call()
    rounds, number = sized((rounds, number), (1, 1))
    best = [float("inf")] * len(calls)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for index, call in enumerate(calls):
                best[index] = min(best[index], *(_seconds(call, number) for _ in range(3)))
    finally:
        gc.enable()
    return best


def printed(program: str, environment: Mapping[str, str]) -> list[float]:
    """Run a program in a fresh interpreter and return the numbers that it printed.

    A program times itself, so the start of the interpreter is not counted.
    """
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=dict(environment), check=True, capture_output=True, text=True)
    return [float(word) for word in run.stdout.split()]


def in_turns(programs: Sequence[str], repeats: int, environment: Mapping[str, str]) -> list[list[list[float]]]:
    """What each program printed, per run; the programs take turns."""
    rounds = [[printed(program, environment) for program in programs] for _ in range(sized(repeats, 1))]
    return [list(runs) for runs in zip(*rounds, strict=True)]


def timed(statement: str) -> str:
    """A program that runs the statement and prints how many seconds it took."""
    return f"from time import perf_counter\nstart = perf_counter()\n{statement}\nprint(perf_counter() - start)\n"


def median(values: Sequence[float]) -> float:
    """The median, as a float."""
    return float(statistics.median(values))


def duration(seconds: float) -> str:
    """Seconds in a readable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def line(cells: Sequence[str]) -> str:
    """One line of the table for a terminal."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def markdown(rows: Sequence[Ratio]) -> list[str]:
    """The table for RESULTS.md."""
    table = [HEADER, ("---",) * len(HEADER), *(row.cells() for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in table]


def _number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _seconds(call: Callable[[], Any], number: int) -> float:
    start = perf_counter()
    for _ in range(number):
        call()
    return (perf_counter() - start) / number
