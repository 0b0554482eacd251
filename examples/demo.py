"""Solve the instances of the paper and print what fairness costs: run it with `make demo`.

Rewards are Gaussian with variance 1. Every setting comes twice: with rates that help to explore (agonistic) and
with rates that hinder it (antagonistic).
"""

import time
from dataclasses import dataclass

import numpy as np

import fairbai as fb

DELTA = 0.05
BAR = 22  # characters for the largest weight of a table

# Data rates of ten users of a wireless cell when each is served alone: one base station in the middle of a map of
# 200 m x 200 m, as simulated by mobile-env 2.1.0 with its default settings. The paper's scheduling experiments
# take them as mean rewards.
WIRELESS = [
    0.4371131578979562,
    0.3181990531355569,
    0.5244807784740037,
    0.5707506829307624,
    1.2368434591166806,
    0.7450111181763259,
    2.012212469344499,
    1.2491273988996408,
    0.9936107181837053,
    0.6028449345238708,
]


@dataclass
class Solved:
    """One instance with everything that the tables show of it."""

    instance: fb.Instance
    allocation: fb.Allocation
    price: fb.PriceOfFairness
    lower_bound: float


@dataclass
class Setting:
    """Means and the two kinds of floors that the paper puts on them; ``p0`` is the sum of the floors."""

    name: str
    means: list[float]
    p0: float
    pre_specified: bool

    def rates(self) -> dict[str, fb.rates.Constant | fb.rates.InverseGap | fb.rates.Gap]:
        if self.pre_specified:  # between w* and the normalised inverse of w*
            free = fb.Instance(self.means)
            return {
                "agonistic": fb.rates.blended(free, self.p0, alpha=0.9),
                "antagonistic": fb.rates.blended(free, self.p0, alpha=0.1),
            }
        return {"agonistic": fb.rates.InverseGap(self.p0), "antagonistic": fb.rates.Gap(self.p0)}

    def solve(self) -> dict[str, Solved]:
        solved = {}
        for kind, rates in self.rates().items():
            instance = fb.Instance(self.means, rates=rates)
            price, bound = fb.price_of_fairness(instance), fb.lower_bound(instance, DELTA)
            solved[kind] = Solved(instance, fb.solve(instance), price, bound)
        return solved


SETTINGS = [
    Setting("linear means, pre-specified", list(np.linspace(0.0, 4.0, 10)), 0.9, pre_specified=True),
    Setting("equal gaps, pre-specified", [2.0] + [0.0] * 9, 0.99, pre_specified=True),
    Setting("linear means, theta-dependent", list(np.linspace(0.0, 5.0, 15)), 0.7, pre_specified=False),
    Setting("wireless, pre-specified", WIRELESS, 0.9, pre_specified=True),
    Setting("wireless, theta-dependent", WIRELESS, 0.9, pre_specified=False),
]


def print_summary(results: list[dict[str, Solved]]) -> None:
    columns = f"{'K':>4}{'T*':>8}{'T*_p':>8}{'price':>8}{'bound':>8}{'at floor':>9}{'trials':>8}{'gap':>8}"
    print(f"{'instance':<30}{'p0':>4}  {'floors':<12}{columns}")
    for setting, solved in zip(SETTINGS, results, strict=True):
        for kind, one in solved.items():
            price, allocation = one.price, one.allocation
            times = f"{price.unconstrained:>8.2f}{price.fair:>8.2f}{price.ratio:>8.4f}{price.upper_bound:>8.3f}"
            rest = f"{allocation.at_floor.sum():>9}{one.lower_bound:>8.1f}{allocation.duality_gap:>8.0e}"
            print(f"{setting.name:<30}{setting.p0:>4g}  {kind:<12}{len(setting.means):>4}{times}{rest}")


def bar(floor: float, fair: float, free: float, full: float) -> str:
    """The fair weight, with `#` up to the floor and `+` above it, and `|` at the unconstrained weight."""
    to_floor, to_fair, to_free = (round(BAR * weight / full) for weight in (floor, fair, free))
    cells = list(("#" * to_floor).ljust(to_fair, "+").ljust(BAR + 1))
    cells[to_free] = "|"
    return "".join(cells)


def print_allocations(setting: Setting, solved: dict[str, Solved]) -> None:
    free = fb.solve(fb.Instance(setting.means)).weights
    full = max(free.max(), *(one.allocation.weights.max() for one in solved.values()))
    print(f"\n{setting.name}, p0 = {setting.p0:g}")
    header = f"{'arm':>3}{'mean':>9}{'w*':>8}"
    for kind in solved:
        header += f"{'p':>9}{'w*_p':>8}  {kind:<{BAR + 1}}"
    print(header.rstrip())
    for arm, mean in enumerate(setting.means):
        row = f"{arm:>3}{mean:>9.4f}{free[arm]:>8.4f}"
        for one in solved.values():
            floor, fair = one.instance.floors[arm], one.allocation.weights[arm]
            row += f"{floor:>9.4f}{fair:>8.4f}  {bar(floor, fair, free[arm], full)}"
        print(row.rstrip())


def main() -> None:
    print("Loading the solver (the first run compiles it: 10 to 30 seconds) ...", end=" ", flush=True)
    start = time.perf_counter()
    for setting in SETTINGS:
        setting.solve()
    print(f"{time.perf_counter() - start:.1f} s\n")

    start = time.perf_counter()
    results = [setting.solve() for setting in SETTINGS]
    seconds = time.perf_counter() - start

    print_summary(results)
    print(f"\nprice: T*_p / T*, never above bound; trials: lower bound on their mean at delta = {DELTA};")
    print("gap: certified relative distance of T*_p from the optimum.")
    print("\nBelow: w*, the optimal weights without floors; p, the floors; w*_p, the optimal weights with them.")
    print("A bar shows w*_p, with # up to the floor and + above it, and | at w*.")
    for setting, solved in zip(SETTINGS, results, strict=True):
        print_allocations(setting, solved)
    print(f"\nAll {sum(map(len, results))} instances took {1e3 * seconds:.2f} ms to solve, after compilation.")


if __name__ == "__main__":
    main()
