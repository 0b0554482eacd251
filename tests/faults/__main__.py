"""Faults for as long as you like: ``python -m tests.faults <seconds per database> [<seed>]``."""

import random
import sys

from tests.faults.runs import run_postgresql, run_sqlite


def main() -> None:
    """Run on both databases; the exit code is 1 if anything was lost, doubled or wrong."""
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1_000_000)
    good = True
    for run in (run_sqlite, run_postgresql):
        report = run(seed, seconds)
        print(report, flush=True)
        good = good and report.verdict.good
    sys.exit(not good)


if __name__ == "__main__":
    main()
