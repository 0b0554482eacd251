"""Writes a log of an A/B test in which two things went wrong: run it with `python examples/mismatched_log.py log.csv`.

Arms are drawn with probability 1/2 each, but a redirect loses visitors of A, so that 45 % of those in the log saw A.
And the conversion rate of both arms rises in the course of the month, from 10 % to 13 %; B converts 1 point more than A
all the time.
"""

import argparse
import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 5, 1)
DAYS = 28


def rows(visitors: int, share: float, rise: float, seed: int) -> list[tuple[str, str, float, int]]:
    """Time, variant, the probability with which it was drawn, and whether the visitor bought."""
    rng = np.random.default_rng(seed)
    when = np.sort(rng.random(visitors))
    variant = np.where(rng.random(visitors) < share, "A", "B")
    rate = 0.10 + rise * when + np.where(variant == "B", 0.01, 0.0)
    bought = rng.random(visitors) < rate
    times = [(START + timedelta(days=DAYS * float(part))).isoformat(timespec="seconds") for part in when]
    return [(time, str(one), 0.5, int(sold)) for time, one, sold in zip(times, variant, bought, strict=True)]


def write(path: Path, visitors: int = 30_000, share: float = 0.45, rise: float = 0.03, seed: int = 7) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "variant", "probability", "bought"])
        writer.writerows(rows(visitors, share, rise, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the log of an A/B test.")
    parser.add_argument("path", type=Path, nargs="?", default=Path("log.csv"), help="the file (default: log.csv)")
    parser.add_argument("--visitors", type=int, default=30_000, help="rows (default: 30,000)")
    parser.add_argument("--share", type=float, default=0.45, help="of A among them (default: 0.45; right would be 0.5)")
    parser.add_argument("--rise", type=float, default=0.03, help="of all rates over the month (default: 0.03)")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    write(options.path, options.visitors, options.share, options.rise, options.seed)
    print(f"{options.visitors:,} rows are in {options.path}")


if __name__ == "__main__":
    main()
