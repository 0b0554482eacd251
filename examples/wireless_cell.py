"""A base station finds its best UE while every UE gets its floor: run it with `python examples/wireless_cell.py`.

The cell is that of the paper's scheduling experiments: ten UEs, one of which is served per slot. The picture shows
their positions, and their shares of the slots beside their floors. Needs the extra `wireless`.
"""

import argparse
from pathlib import Path

import gymnasium
from matplotlib.figure import Figure

import fairbai as fb
from fairbai import environments

DELTA = 0.05
FLOORS = 0.9  # the sum of all floors; the lower a UE's rate, the larger its floor


def floors(cell: environments.WirelessCell) -> fb.rates.Constant:
    """Floors that compensate for poor channels, as an operator might set them."""
    return fb.rates.Constant(FLOORS * (1.0 / cell.means) / (1.0 / cell.means).sum())


def schedule(env: gymnasium.Env, scheduler: fb.Identifier, seed: int) -> fb.Status:
    """Run slot by slot until the scheduler stops; `environments.play` is this loop, with checks."""
    env.reset(seed=seed)
    while not scheduler.stopped:
        ue = scheduler.ask()
        _, throughput, _, _, _ = env.step(ue)
        scheduler.tell(ue, throughput)
    return scheduler.status()


def table(cell: environments.WirelessCell, status: fb.Status) -> list[str]:
    """What every UE got."""
    lines = [f"{'UE':>3}{'rate':>8}{'estimate':>10}{'slots':>8}{'share':>9}{'floor':>9}"]
    for ue, rate in enumerate(cell.means):
        counts = f"{status.assigned[ue]:>8,}{status.shares[ue]:>9.2%}{status.floors[ue]:>9.2%}"
        lines.append(f"{ue:>3}{rate:>8.3f}{status.means[ue]:>10.3f}{counts}")
    return lines


def picture(cell: environments.WirelessCell, status: fb.Status, file: Path) -> None:
    """Draw the cell with shares and floors; the suffix of the file chooses PNG, SVG or PDF."""
    figure = Figure(figsize=(8.0, 8.0), layout="constrained")
    axes = figure.add_subplot()
    environments.draw_cell(cell, axes, status.shares, status.floors)
    axes.set_title(f"{status.assigned.sum():,} slots: UE {status.recommendation} has the best channel", fontsize=11)
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedule the paper's wireless cell, with a floor for every UE.")
    parser.add_argument("--seed", type=int, default=1, help="seed of the channel and of the scheduler (default: 1)")
    parser.add_argument(
        "--output", type=Path, default=Path("wireless_cell.png"), help="file of the picture, such as .png or .svg"
    )
    options = parser.parse_args()

    cell = environments.WirelessCell.paper()
    env = gymnasium.make("fairbai/WirelessCell-v0", cell=cell)
    print("Scheduling ...", flush=True)
    scheduler = fb.Identifier(cell.ues, DELTA, fb.Gaussian(), floors=floors(cell), seed=options.seed)
    status = schedule(env, scheduler, options.seed)
    print("\n".join(table(cell, status)))
    print(f"UE {status.recommendation} has the best channel; it took {status.assigned.sum():,} slots to find out.")
    print(f"The answer is wrong with probability at most {DELTA:.0%}. Every UE got its floor or more.")
    price = fb.price_of_fairness(cell.instance(floors(cell)))
    print(f"The floors make the search {price.ratio:.2f} times as long as without them.")
    picture(cell, status, options.output)
    print(f"The picture is in {options.output}.")


if __name__ == "__main__":
    main()
