"""A live A/B/n test on a simulated website: run it with `make demo`, or alone with `python examples/ab_test.py`.

Visitors arrive one by one, and the experiment chooses which of five variants each of them sees. Whether a visitor
converts is known only later, and for some visitors never. Every variant is guaranteed 10 % of the visitors.
"""

import argparse
import heapq
import sys
import time
from dataclasses import dataclass, field

import numpy as np

import fairbai as fb

CONVERSION = {"classic": 0.30, "short form": 0.24, "video": 0.20, "big button": 0.15, "no images": 0.10}
QUICK = {"classic": 0.60, "short form": 0.35, "video": 0.25, "big button": 0.15, "no images": 0.10}
FLOOR = 0.10
DELTA = 0.05
MEAN_DELAY = 200.0  # visitors who arrive before the outcome of one is known
LOST = 0.05  # share of outcomes that are lost, whatever they are: otherwise the estimates would be biased
BAR = 40  # characters for a share of 60 %
PAUSE = 0.03  # seconds per frame of the live display


@dataclass
class Website:
    """Shows variants to visitors, and reports their conversions with a delay."""

    experiment: fb.Identifier
    conversion: dict[str, float]
    rng: np.random.Generator
    visitors: int = 0
    _reports: list[tuple[float, int, str, float]] = field(default_factory=list)

    def visit(self) -> None:
        """Serve one visitor: ask which variant to show."""
        variant = self.experiment.ask()
        self.visitors += 1
        converted = float(self.rng.random() < self.conversion[variant])
        if self.rng.random() >= LOST:
            due = self.visitors + self.rng.exponential(MEAN_DELAY)
            heapq.heappush(self._reports, (due, self.visitors, variant, converted))

    def report(self) -> None:
        """Tell the experiment the conversions that are known by now."""
        while self._reports and self._reports[0][0] <= self.visitors:
            _, _, variant, converted = heapq.heappop(self._reports)
            self.experiment.tell(variant, converted)


def bar(share: float, floor: float) -> str:
    """A bar for a share: `#` up to the floor and `+` above it, with `|` at the floor."""
    to_share, to_floor = (min(BAR, round(BAR * part / 0.6)) for part in (share, floor))
    cells = list(("#" * min(to_share, to_floor)).ljust(to_share, "+").ljust(BAR + 1))
    cells[to_floor] = "|"
    return "".join(cells)


def picture(status: fb.Status) -> list[str]:
    """The state of the experiment, as lines of text."""
    lines = [f"{'variant':<12}{'visitors':>9}{'outcomes':>9}{'converted':>11}   share of visitors, | marks the floor"]
    for arm, label in enumerate(status.arms):
        mean = "-" if status.observed[arm] == 0 else f"{status.means[arm]:.1%}"
        counts = f"{status.assigned[arm]:>9,}{status.observed[arm]:>9,}{mean:>11}"
        drawn = bar(status.shares[arm], status.floors[arm])
        lines.append(f"{label:<12}{counts}   {drawn}{status.shares[arm]:>7.1%}")
    part = min(1.0, status.glr / status.threshold)
    meter = ("=" * round(BAR * part)).ljust(BAR, ".")
    lines.append(f"evidence    [{meter}] {status.glr:.1f} of {status.threshold:.1f}")
    lines.append(f"{status.assigned.sum():,} visitors so far, {rest(status)}")
    return lines


def rest(status: fb.Status) -> str:
    if status.stopped:
        return "done"
    if status.decided:
        return f"decided; {status.expected_remaining:,.0f} more until every floor is met"
    if np.isinf(status.expected_remaining):
        return "too early to estimate how many more"
    return f"about {status.expected_remaining:,.0f} more"


class Display:
    """A picture that is redrawn in place in a terminal; elsewhere, one line at a time."""

    def __init__(self, live: bool, pause: float) -> None:
        self.live, self.pause = live, pause
        self._height = 0

    def show(self, status: fb.Status) -> None:
        if self.live:
            lines = picture(status)
            back = f"\x1b[{self._height}F" if self._height else ""
            print(back + "\n".join(f"{line}\x1b[K" for line in lines), flush=True)
            self._height = len(lines)
            time.sleep(self.pause)
        else:
            shares = " ".join(f"{share:.2f}" for share in status.shares)
            evidence = f"evidence {status.glr:5.1f} of {status.threshold:.1f}"
            print(f"{status.assigned.sum():>7,} visitors  shares {shares}  {evidence}  {rest(status)}")


def run(site: Website, display: Display, every: int) -> fb.Status:
    """Run until the experiment stops; refresh the display after every ``every`` visitors."""
    while not site.experiment.stopped:
        site.visit()
        site.report()
        if site.visitors % every == 0:
            display.show(site.experiment.status())
    status = site.experiment.status()
    display.show(status)
    return status


def verdict(status: fb.Status) -> list[str]:
    """The decision, in sentences."""
    guarantee = "this is proved" if status.proved else "this is not proved"
    return [
        f"Decision: show {status.recommendation!r} to everybody. An experiment like this names a wrong variant with",
        f"probability at most {DELTA:.0%} ({guarantee}). It took {status.assigned.sum():,} visitors.",
    ]


def shares(status: fb.Status) -> list[str]:
    """Every share against its floor; the floors are met exactly, not approximately."""
    total = status.assigned.sum()
    lines = ["Shares against floors:"]
    for label, count, floor in zip(status.arms, status.assigned, status.floors, strict=True):
        met = "met" if count >= floor * total else "MISSED"
        lines.append(f"  {label:<12}{count:>7,} of {total:,} = {count / total:>6.2%}, floor {floor:.0%}: {met}")
    return lines


def cost(status: fb.Status) -> list[str]:
    """What the floors cost, assuming that the estimated conversion rates are the true ones."""
    price = fb.price_of_fairness(fb.Instance(status.means, family=fb.Bernoulli(), floors=FLOOR))
    fair, free = (round(time * status.threshold) for time in (price.fair, price.unconstrained))
    return [
        "Cost of fairness (an estimate that assumes the estimated conversion rates are the true ones):",
        f"  about {fair:,} visitors are needed with the floors and {free:,} without, a factor of {price.ratio:.3f}",
        f"  (and never more than {price.upper_bound:.3f} for these rates and floors).",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="A live A/B/n test on a simulated website.")
    parser.add_argument("--seed", type=int, default=1, help="seed of the visitors and of the experiment (default: 1)")
    parser.add_argument("--quick", action="store_true", help="easier variants and no pauses")
    options = parser.parse_args()

    conversion = QUICK if options.quick else CONVERSION
    live = sys.stdout.isatty()
    print(f"Five variants, each guaranteed {FLOOR:.0%} of the visitors; {LOST:.0%} of the outcomes are lost.")
    experiment = fb.Identifier(list(conversion), DELTA, fb.Bernoulli(), FLOOR, seed=options.seed)
    site = Website(experiment, conversion, np.random.default_rng(options.seed))
    every = (20 if options.quick else 100) * (1 if live else 10)
    status = run(site, Display(live, 0.0 if options.quick else PAUSE), every)
    for paragraph in (verdict(status), shares(status), cost(status)):
        print("\n" + "\n".join(paragraph))


if __name__ == "__main__":
    main()
