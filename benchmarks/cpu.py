"""CPU time of processes, which says what work costs on a machine that others keep busy, too. For Linux."""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
PARENT, USER, SYSTEM = 1, 11, 12  # among the fields after the name; see proc(5)


def cpu_seconds(processes: Iterable[int]) -> float:
    """What these processes and all that they started have used so far."""
    fields = dict(filter(None, map(_fields, Path("/proc").glob("[0-9]*/stat"))))
    children = defaultdict(list)
    for process, values in fields.items():
        children[values[PARENT]].append(process)
    total, left = 0, list(processes)
    while left:
        process = left.pop()
        total += fields[process][USER] + fields[process][SYSTEM]
        left += children[process]
    return total * TICK


def _fields(file: Path) -> tuple[int, list[int]] | None:
    """The process, and what is known of it; None if it has ended."""
    try:
        state, *numbers = file.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(file.parent.name), [ord(state), *map(int, numbers)]
