"""Edge nodes: the cost of following a published policy and reporting only every B trials.

docs/edge.md describes the model. All runs use the proved threshold ``Mixture`` and delta = 0.01.
"""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.charts import style
from fairbai.problems.checks import Array
from fairbai.reproduction.past.edge_cells import BATCHES, NODES, WAYS, Cell, Way, chosen, simulated
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.simulation.edge import COST
from fairbai.simulation.summary import mean_and_ci95

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {
    1: style.Look(style.BLACK, "o", "-", ""),
    4: style.Look(style.BLUE, "s", "-", ""),
    16: style.Look(style.VERMILLION, "^", "-", ""),
    64: style.Look(style.GREEN, "D", "-", ""),
}


def section(runs: int, seed: int, progress: bool) -> Section:
    """Simulate the nodes and describe the results."""
    cells, extras = simulated(runs, seed, progress)
    return Section(
        name="edge-nodes",
        title="Edge nodes that report in batches",
        findings=_findings(cells, extras),
        tables=(_table(cells), _settling_table(extras)),
        pictures=(
            Picture(
                "edge-batches",
                "Trials and violation against the batch size",
                "All trials made, relative to one node that reports every trial (top), and the mean violation at the "
                "stop (bottom), against the number B of trials between two reports of a node. Colours and "
                "markers show the number of nodes M, line styles the rule and how the nodes follow its policies.",
                _curves(cells),
            ),
            Picture(
                "edge-rule",
                "The overhead compared with the rule for choosing B",
                "Additional trials relative to the expected trials T, against M B / T: the number of nodes matters "
                f"only through the product. The line is the rule, overhead = {COST:g} M B / T. Cells with M B below "
                "2 % of T are left out; bars are 95 % intervals.",
                _rule(cells),
            ),
        ),
    )


def _of(cells: list[Cell], scenario: PaperScenario, way: Way) -> list[Cell]:
    return [cell for cell in cells if cell.scenario is scenario and cell.way is way]


def _clear(cells: list[Cell]) -> list[Cell]:
    """Cells whose overhead stands out from the noise, given enough runs."""
    return [cell for cell in cells if cell.in_flight >= 0.02 * cell.expected]


def _findings(cells: list[Cell], extras: list[tuple[Cell, Cell]]) -> list[str]:
    known, learned = chosen()
    quotas = [cell for scenario in chosen() for cell in _of(cells, scenario, WAYS[0])]
    large = [cell for cell in quotas if cell.in_flight >= 0.25 * cell.expected]
    prices = np.array([cell.overhead * cell.expected / cell.in_flight for cell in large])
    worst = [max(cell.violation for cell in _of(cells, known, way)) for way in WAYS]
    start = [_of(cells, known, way)[0].violation for way in WAYS]
    moved = [_of(cells, learned, WAYS[0])[0].violation, max(cell.violation for cell in _of(cells, learned, WAYS[0]))]
    most = {way: max(_extra(*pair) for pair in extras if pair[0].way.draws == way) for way in ("quota", "random")}
    settled = max(float(after.runs.violation.max()) for _, after in extras)
    return [
        "The cost of batches depends on M B, the trials that the nodes have not reported yet: where M B is at least a "
        f"quarter of the expected trials T, each of them costs FairTopTwo with quotas {prices.min():.2f} to "
        f"{prices.max():.2f} trials. The rule for choosing B, B = ε T / ({COST:g} M), allows for {COST:g}.",
        f"With floors that are known beforehand and nodes that follow the policy by quotas, the mean violation of "
        f"FairTopTwo is at most {worst[0]:.3%} for every B up to {BATCHES[-1]:,} and every M ({start[0]:.3%} without "
        f"batches); with random draws it rises to {worst[1]:.3%}. F-TaS has {start[2]:.3%} even without batches.",
        f"With floors that depend on the means it is {moved[0]:.2%} without batches and at most {moved[1]:.2%} with "
        "them: it comes from estimating the floors, not from the batches.",
        f"Settling after the last report reduces every violation to {settled:g}, with at most {most['quota']:.2%} more "
        f"trials for quotas and {most['random']:.2%} for random draws.",
    ]


def _extra(before: Cell, after: Cell) -> float:
    """Trials of settling, relative to those before it."""
    return after.trials / before.trials - 1.0


def _table(cells: list[Cell]) -> Table:
    header = (
        "setting",
        "rule",
        "M",
        "B",
        "trials at the decision",
        "all trials",
        "overhead",
        "predicted overhead",
        "violation",
    )
    return Table("edge-batches", "Trials and violation by batch size B and nodes M", header, list(_rows(cells)))


def _rows(cells: list[Cell]) -> Iterator[list[str]]:
    for cell in cells:
        trials, trials_ci95 = mean_and_ci95(cell.runs.stopping_time[:, 0])
        violation, violation_ci95 = mean_and_ci95(cell.runs.violation[:, 0])
        yield [
            cell.scenario.title,
            cell.way.name,
            f"{cell.nodes}",
            f"{cell.batch:,}",
            f"{cell.runs.decision_time.mean():,.0f}",
            f"{trials:,.0f} ± {trials_ci95:,.0f}",
            f"{cell.overhead:.1%}",
            f"{COST * cell.in_flight / cell.expected:.1%}",
            f"{violation:.3%} ± {violation_ci95:.3%}",
        ]


def _settling_table(extras: list[tuple[Cell, Cell]]) -> Table:
    rows = [
        [
            before.way.name,
            f"{before.nodes}",
            f"{before.batch:,}",
            f"{before.violation:.3%}",
            f"{_extra(before, after):.2%}",
            f"{after.runs.violation.max():g}",
        ]
        for before, after in extras
    ]
    title = f"Settling after the last report ({chosen()[0].title})"
    header = ("rule", "M", "B", "violation before", "additional trials", "largest violation after")
    return Table("edge-settling", title, header, rows)


@style.applied()
def _curves(cells: list[Cell]) -> "Figure":
    figure, axes = style.panels(style.TWO_COLUMNS, 5.4, 2, 2, sharex=True)
    for column, scenario in enumerate(chosen()):
        for way, nodes in itertools.product(WAYS, NODES):
            found = [cell for cell in _of(cells, scenario, way) if cell.nodes == nodes]
            sizes = [cell.batch for cell in found]
            look: dict[str, Any] = {"color": LOOKS[nodes].color, "marker": LOOKS[nodes].marker, "markersize": 3.2}
            look |= {"linestyle": way.linestyle, "linewidth": 1.1}
            axes[column].plot(sizes, [1.0 + cell.overhead for cell in found], **look)
            axes[column + 2].plot(sizes, [100.0 * cell.violation for cell in found], **look)
        axes[column].set_title(scenario.title.replace(", ", ",\n"))
        axes[column].set_yscale("log")
        axes[column + 2].set(xscale="log", xlabel="trials between two reports of a node, $B$")
        axes[column + 2].set_ylim(bottom=0.0)
    axes[0].set_ylabel("all trials, relative to no batches")
    axes[2].set_ylabel("violation at the stop, %")
    _legend(figure)
    return figure


def _legend(figure: "Figure") -> None:
    """Numbers of nodes by colour and marker, rules and draws by line style."""
    from matplotlib.lines import Line2D

    nodes = [
        Line2D([], [], label=f"$M = {count}$", color=look.color, marker=look.marker, linestyle="none")
        for count, look in LOOKS.items()
    ]
    ways = [Line2D([], [], label=way.name, color=style.GREY, linestyle=way.linestyle) for way in WAYS]
    figure.legend(handles=[*nodes, *ways], loc="outside lower center", ncols=4)


@style.applied()
def _rule(cells: list[Cell]) -> "Figure":
    figure, axes = style.panels(style.TWO_COLUMNS, 3.4, 1, 2, sharex=True, sharey=True)
    for panel, scenario in zip(axes, chosen(), strict=True):
        _rule_panel(panel, [cell for way in WAYS for cell in _clear(_of(cells, scenario, way))])
        panel.set_title(scenario.title.replace(", ", ",\n"))
        panel.set_xlabel("trials not yet reported, $M B / T$")
    axes[0].set_ylabel("overhead")
    style.legend_below(figure, axes[0], 5)
    return figure


def _rule_panel(panel: "Axes", cells: list[Cell]) -> None:
    ends: Array = np.array([0.02, 200.0])
    panel.plot(ends, COST * ends, color=style.BLACK, linewidth=1.0, label=f"rule: {COST:g} $M B/T$")
    for nodes, look in LOOKS.items():
        found = [cell for cell in cells if cell.nodes == nodes]
        panel.errorbar(
            [cell.in_flight / cell.expected for cell in found],
            [cell.overhead for cell in found],
            yerr=[mean_and_ci95(cell.runs.stopping_time[:, 0])[1] / cell.expected for cell in found],
            color=look.color,
            marker=look.marker,
            markerfacecolor="none",
            linestyle="none",
            elinewidth=0.8,
            label=f"$M = {nodes}$",
        )
    panel.set_xscale("log")
    panel.set_yscale("log", nonpositive="clip")
    panel.set_ylim(bottom=0.01)
