"""The machine that the numbers were measured on, and whether it was idle: no host names, no paths."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("fairbai", "numpy", "numba", "clarabel", "cvxpy")
_IDLE_LOAD = 0.3
_IDLE_CORES = 0.1


class Watch:
    """Records the load before and during a run, and how much of the processors other processes used.

    The load average lags by a minute and includes our own run; the share of other processes is exact, and shows whether
    the machine was idle during the run.
    """

    def __init__(self) -> None:
        self.before = os.getloadavg()[0]
        self.during: list[float] = []
        self._start = _clocks()

    def look(self) -> None:
        """Record the current load."""
        self.during.append(os.getloadavg()[0])

    def others(self) -> float | None:
        """Cores that other processes kept busy on average since the start; None if the system does not report it."""
        if self._start is None or (now := _clocks()) is None:
            return None
        wall, busy, own = (end - begin for end, begin in zip(now, self._start, strict=True))
        return max(0.0, busy - own) / wall

    def report(self) -> list[str]:
        """The lines above the table."""
        versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
        during = f", {min(self.during):.2f} to {max(self.during):.2f} during it" if self.during else ""
        return [
            f"- Date: {datetime.now(UTC):%Y-%m-%d}",
            f"- Processor: {_processor()}, {os.cpu_count()} cores",
            f"- Python {platform.python_version()}, {versions}",
            f"- Load average (one minute): {self.before:.2f} before the run{during} (the run itself counts for 1)",
            f"- {self._verdict()}",
        ]

    def _verdict(self) -> str:
        others = self.others()
        if others is None:
            return "Whether the machine was idle is unknown: this system does not report it."
        use = f"other processes kept {others:.2f} cores busy on average during the run"
        if others > _IDLE_CORES:
            return f"**The machine was not idle**: {use}. Ratios are then less reliable."
        if self.before > _IDLE_LOAD:
            return f"**The machine was not idle** before the run (see the load); during it, it was: {use}."
        return f"The machine was idle: {use}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _clocks() -> tuple[float, float, float] | None:
    """Wall-clock seconds, seconds in which processors were busy (or taken by the host), and our own CPU seconds."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return None
    user, nice, system, _idle, _wait, hard, soft, stolen = (float(word) for word in first.split()[1:9])
    own = os.times()
    spent = own.user + own.system + own.children_user + own.children_system
    return own.elapsed, (user + nice + system + hard + soft + stolen) / os.sysconf("SC_CLK_TCK"), spent
