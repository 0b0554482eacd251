"""``fairbai warm``: compiles the kernels ahead of time, for images and other machines that are to be fast at once."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from fairbai.cli.flags import add_json, add_quiet
from fairbai.cli.kernels import kept_kernels, lost_kernels, obstacle
from fairbai.cli.printing import print_json

WARM_EXAMPLES = """examples:
  fairbai warm
  FAIRBAI_CACHE_DIR=/cache fairbai warm --quiet

Compiles what Identifier, solve, plan, analyze, the service and simulate need, in two to three minutes; later processes
load it. Without it they run as Python at first, while another process compiles. The exit code is 1 if nothing can be
kept.
"""
GAUSSIAN = {"kind": "gaussian", "variance": 1.0}
FAMILIES: dict[str, Any] = {"gaussian": GAUSSIAN, "bernoulli": "bernoulli"}  # the others have the kernels of bernoulli
RULES = ("fair_top_two", "fair_track_and_stop")  # without a solver in every round, and with one


def add_warm(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai warm``."""
    add_json(parser)
    add_quiet(parser)


def run_warm(options: argparse.Namespace) -> int:
    """Compile what is not compiled yet; returns 1 if it cannot be kept."""
    if os.environ.get("FAIRBAI_JIT", "background") == "background":
        os.environ["FAIRBAI_JIT"] = "wait"  # before the library is imported
    reason = obstacle()
    if reason is None:
        start, before = time.monotonic(), len(kept_kernels())
        _compile(options.quiet)
        if lost := lost_kernels():
            reason = f"{', '.join(lost)} could not be kept: is the disk full?"
    if reason is not None:
        print(f"fairbai: {reason}", file=sys.stderr)
        return 1
    found = _found(before, time.monotonic() - start)
    if options.json:
        print_json(found)
    elif not options.quiet:
        print(_sentence(found))
    return 0


def _compile(quiet: bool) -> None:
    work = steps()
    for number, (about, step) in enumerate(work, 1):
        if not quiet:
            print(f"fairbai: {number} of {len(work)}: {about}", file=sys.stderr, flush=True)
        step()


def _found(before: int, seconds: float) -> dict[str, Any]:
    from fairbai.compiling.cache import CACHE_DIRECTORY

    files = kept_kernels()
    return {
        "compiled": len(files) - before,
        "seconds": round(seconds, 1),
        "kernels": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 1e6, 1),
        "directory": str(CACHE_DIRECTORY),
    }


def _sentence(found: dict[str, Any]) -> str:
    """What was done, and where it is."""
    new = f"{found['compiled']} kernels compiled in {found['seconds']} s" if found["compiled"] else "nothing to compile"
    return f"{new}; {found['directory']} has {found['kernels']}, of {found['megabytes']} MB"


def steps() -> list[tuple[str, Callable[[], object]]]:
    """What to compile, in words, and what calls it."""
    from fairbai import Instance, rates, simulate
    from fairbai.identifier.rehearsal import rehearse, rehearse_drawn

    found: list[tuple[str, Callable[[], object]]] = []
    for name, family in FAMILIES.items():
        instance = Instance([0.6, 0.4], family=family, floors=0.2)
        found.append((f"solve and plan, {name}", partial(_plan, instance)))
        found.append((f"Identifier with ceilings, {name}", partial(rehearse, family, rates.Bounded(0.1, 0.8))))
        found.append((f"Identifier with learned floors, {name}", partial(rehearse, family, rates.Gap(0.5))))
        for rule in RULES:
            run = partial(simulate, instance, 0.1, rule, settle=True, runs=1, maximum_rounds=10)
            found.append((f"Identifier, {name}, {rule}", partial(rehearse, family, 0.25, rule)))
            found.append((f"simulate, {name}, {rule}", run))
    found.append(("Identifier, means that change", rehearse_drawn))
    found.append(("analyze", _analyze))
    return found


def _analyze() -> None:
    from fairbai import analyze

    log = {"arm": [0, 1, 1], "reward": [0, 1, 1], "probability": [0.5, 0.5, 0.5]}
    analyze(log, family="poisson")
    analyze(log, probability="probability").plan()
    analyze({"arm": [0, 1], "trials": [9, 9], "sum": [1, 2]}, trials="trials", sum="sum", family="bernoulli")


def _plan(instance: Any) -> None:
    from fairbai import Instance, plan, rates, solve

    solve(Instance(instance.means, instance.family, rates.Bounded(0.1, 0.8)))
    plan(instance)
