"""Ceilings and group floors: their exact price, and how the fair rules keep them."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fairbai.allocation import lower_bound, price_of_fairness, solve
from fairbai.charts import style
from fairbai.problems import Instance, rates
from fairbai.problems.checks import Array
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import CELL_MEANS, linear_means
from fairbai.reproduction.studies import ALGORITHMS, HEURISTIC, MAXIMUM_ROUNDS, OURS, ratio_of_means
from fairbai.simulation import Runs, Study, sweep
from fairbai.simulation.summary import mean_and_ci95

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTA = 0.01
FLOOR, CEILING, GROUP_FLOOR = 0.02, 0.3, 0.4
POINTS = 61
RULES = {name: (ALGORITHMS | OURS)[name] for name in ("F-TaS", "Uniform Fair", "F-TaS tracked", "FairTopTwo")}
LOOKS = {
    "Linear": style.Look(style.BLUE, "o", "-", ""),
    "Scheduling": style.Look(style.VERMILLION, "s", "--", "///"),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """The price of a limit as it grows tighter.

    Attributes:
        limit: The common ceiling, or the floor of the group.
        price: T* within the limit over T* without it.
        gap: The largest certified relative gap of the solutions.
    """

    limit: Array
    price: Array
    gap: float


@cache
def means() -> dict[str, Array]:
    """The means of two of the paper's models, ten arms each."""
    return {"Linear": linear_means(10, 4.0), "Scheduling": np.array(CELL_MEANS)}


def worse_half(values: Array) -> list[int]:
    """The arms with the smaller means: the group that is guaranteed a share."""
    return sorted(np.argsort(values)[: values.size // 2].tolist())


def bounded(values: Array) -> Instance:
    """The same floor and ceiling for all arms, and a floor for the worse half of them together."""
    group = rates.Group(worse_half(values), floor=GROUP_FLOOR)
    return Instance(values, floors=rates.Bounded(FLOOR, CEILING, groups=[group]))


def price_of_ceilings(values: Array) -> Curve:
    """One ceiling for all arms, from 1/K, where all shares are equal, to 1; no floors."""
    lowest = 1.0 / values.size
    ceilings = lowest + (1.0 - lowest) * np.linspace(0.0, 1.0, POINTS) ** 2
    return _curve(values, ceilings, [rates.Bounded(0.0, ceiling) for ceiling in ceilings])


def price_of_groups(values: Array) -> Curve:
    """A floor for the worse half of the arms together, from 0 to 0.98; no other limits."""
    floors, group = np.linspace(0.0, 0.98, POINTS), worse_half(values)
    return _curve(values, floors, [rates.Bounded(groups=[rates.Group(group, floor)]) for floor in floors])


def _curve(values: Array, limit: Array, limits: list[rates.Bounded]) -> Curve:
    free = solve(Instance(values)).characteristic_time
    solved = [solve(Instance(values, floors=one)) for one in limits]
    price = np.array([one.characteristic_time / free for one in solved])
    return Curve(limit, price, max(one.duality_gap for one in solved))


def section(runs: int, seed: int, progress: bool) -> Section:
    """The price of ceilings and group floors, and simulations of the fair rules within them."""
    instances = {name: bounded(values) for name, values in means().items()}
    settle = [False, True]
    study = sweep(instances, RULES, HEURISTIC, DELTA, settle, runs, seed, MAXIMUM_ROUNDS, progress=progress)
    ceilings = {name: price_of_ceilings(values) for name, values in means().items()}
    groups = {name: price_of_groups(values) for name, values in means().items()}
    return Section(
        name="limits",
        title="Ceilings and floors on groups of arms",
        findings=[*_kept(study, instances), *_prices(instances, ceilings, groups)],
        tables=[_price_table(), _rule_table(study, instances)],
        pictures=[
            Picture(
                "limits-price",
                "The price of ceilings and of group floors",
                "T* within the limits relative to T* without, solved exactly, for two of the paper's models with ten "
                "arms and no other floors. Left: the same ceiling for all arms; a mark shows the largest unconstrained "
                "share, above which a ceiling costs nothing. Right: a floor on the total share of the five worst arms.",
                _price_figure(ceilings, groups),
            ),
            Picture(
                "limits-rules",
                "The fair rules within limits",
                f"Every share is between {FLOOR:g} and {CEILING:g}, and the five worst arms get at least "
                f"{GROUP_FLOOR:g} together; δ = {DELTA:g}, the paper's threshold. Filled: at the decision. Hollow: "
                "settled. Mean trials relative to the lower bound within the limits, and mean violation at the stop, "
                "with 95 % intervals.",
                _rule_figure(study, instances),
            ),
        ],
    )


# --- findings ---------------------------------------------------------------------------------------------------------


def _kept(study: Study, instances: dict[str, Instance]) -> list[str]:
    """The headline, and the cost of settling."""
    settled = [_runs(study, name, rule, True) for name in instances for rule in RULES]
    worst = max(float(runs.violation.max()) for runs in settled)
    plain = [_runs(study, name, "FairTopTwo", False) for name in instances]
    theirs = [_runs(study, name, "F-TaS", False) for name in instances]
    ratios = [ratio_of_means(*pair, "stopping_time", DELTA) for pair in zip(plain, theirs, strict=True)]
    extra = {rule: max(100.0 * _extra(study, name, rule) for name in instances) for rule in RULES}
    most = max(float((one.violation * one.stopping_time).max()) for one in plain)
    return [
        f"After settling, the largest violation of any floor, ceiling or group floor in "
        f"{sum(len(runs) for runs in settled):,} runs is {worst:g}.",
        "Settling adds at most "
        + ", ".join(f"{percent:.2f} % ({rule})" for rule, percent in extra.items())
        + " to the trials.",
        "On the two models FairTopTwo takes "
        + " and ".join(f"{value:.2f} ± {width:.2f}" for value, width in ratios)
        + f" times as many trials as sampled F-TaS, and before settling none of its runs is more than {most:.2f} "
        "trials outside a limit.",
    ]


def _prices(instances: dict[str, Instance], ceilings: dict[str, Curve], groups: dict[str, Curve]) -> list[str]:
    gap = max(curve.gap for curve in (*ceilings.values(), *groups.values()))
    free = {name: _free_share(name) for name in instances}
    ends = [f"{ceilings[name].price[0]:.2f} ({name.lower()})" for name in instances]
    both = [f"{price_of_fairness(instance).ratio:.2f}" for instance in instances.values()]
    return [
        f"Every price is certified: the largest relative gap is {gap:.0e}.",
        "A common ceiling costs nothing down to the largest unconstrained share, "
        + " and ".join(f"{share:.3f}" for share in free.values())
        + f". At 1/K, where all shares are equal, the price is {' and '.join(ends)}.",
        f"The combined limits of the simulations have a price of {' and '.join(both)}.",
    ]


def _free_share(name: str) -> float:
    return float(solve(Instance(means()[name])).weights.max())


# --- tables -----------------------------------------------------------------------------------------------------------


def _price_table() -> Table:
    rows = []
    for name, values in means().items():
        group = worse_half(values)
        limits = {f"ceiling {u:g}": rates.Bounded(0.0, u) for u in (0.1, 0.12, 0.15, 0.2, 0.3, 0.4)}
        for floor in (0.1, 0.3, 0.5, 0.7, 0.9):
            limits[f"group floor {floor:g}"] = rates.Bounded(groups=[rates.Group(group, floor)])
        rows += [_price_row(name, values, words, one) for words, one in limits.items()]
    header = ["model", "limit", "T*", "price", "certified gap"]
    return Table("limits_price", "The price of ceilings and group floors", header, rows)


def _price_row(name: str, values: Array, words: str, limits: rates.Bounded) -> list[str]:
    found, free = solve(Instance(values, floors=limits)), solve(Instance(values))
    price = found.characteristic_time / free.characteristic_time
    return [name, words, f"{found.characteristic_time:.3f}", f"{price:.4f}", f"{found.duality_gap:.0e}"]


def _rule_table(study: Study, instances: dict[str, Instance]) -> Table:
    rows = []
    for name, instance in instances.items():
        bound = lower_bound(instance, DELTA)
        for rule in RULES:
            for settle in (False, True):
                runs = _runs(study, name, rule, settle)
                trials, violation = mean_and_ci95(runs.stopping_time), mean_and_ci95(100.0 * runs.violation)
                rows.append(
                    [
                        name,
                        f"{rule}, settled" if settle else rule,
                        f"{trials[0]:.1f} ± {trials[1]:.1f}",
                        f"{trials[0] / bound:.2f}",
                        f"{violation[0]:.3f} ± {violation[1]:.3f}",
                        f"{100.0 * runs.violation.max():.3f}",
                        f"{100.0 * (1.0 - runs.correct.mean()):.2f}",
                    ]
                )
    header = [
        "model",
        "rule",
        "trials",
        "relative to the lower bound",
        "violation in %",
        "largest violation in %",
        "errors in %",
    ]
    title = f"The fair rules within limits, δ = {DELTA:g}, the paper's threshold (a heuristic)"
    return Table("limits_rules", title, header, rows)


def _runs(study: Study, name: str, rule: str, settle: bool) -> Runs:
    return study.runs(name, rule, "heuristic", settle)


def _mean(runs: Runs, quantity: str) -> float:
    return float(getattr(runs, quantity).mean())


def _extra(study: Study, name: str, rule: str) -> float:
    """The trials of settling, relative to those until the decision."""
    runs = _runs(study, name, rule, True)
    return _mean(runs, "stopping_time") / _mean(runs, "decision_time") - 1.0


# --- figures ----------------------------------------------------------------------------------------------------------


@style.applied()
def _price_figure(ceilings: dict[str, Curve], groups: dict[str, Curve]) -> "Figure":
    figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.9, 1, 2)
    for name in ceilings:
        look, share = LOOKS[name], _free_share(name)
        left.plot(ceilings[name].limit, ceilings[name].price, label=f"{name} means", **look.line)
        left.plot(share, 1.0, marker=look.marker, color=look.color, linestyle="none", zorder=4)
        right.plot(groups[name].limit, groups[name].price, label=f"{name} means", **look.line)
    left.set(xlabel="ceiling of every share", ylabel="price $T^\\star_{\\mathrm{limits}}/T^\\star$", xlim=(0.1, 0.6))
    left.set_ylim(bottom=0.9)
    right.set(xlabel="floor of the five worst arms together", ylabel="price (logarithmic)", xlim=(0.0, 1.0))
    style.log_axis(right)
    style.legend_below(figure, left, 2)
    return figure


@style.applied()
def _rule_figure(study: Study, instances: dict[str, Instance]) -> "Figure":
    figure, axes = style.panels(style.TWO_COLUMNS, 3.4, 2, 2, sharey=True, sharex="row")
    for column, (name, instance) in enumerate(instances.items()):
        bound = lower_bound(instance, DELTA)
        _marks(axes[column], study, name, "stopping_time", 1.0 / bound)
        _marks(axes[2 + column], study, name, "violation", 100.0)
        axes[column].set_title(f"{name} means")
        axes[column].set_xlabel("mean trials, relative to the lower bound")
        axes[2 + column].set_xlabel("mean violation in %")
    axes[0].set_xlim(left=1.0)
    return figure


def _marks(axes: "Axes", study: Study, name: str, quantity: str, factor: float) -> None:
    """One mark per rule: filled at the decision, hollow when settled."""
    for place, rule in enumerate(RULES):
        look = style.ALGORITHMS[rule]
        for settle in (False, True):
            value, width = mean_and_ci95(factor * getattr(_runs(study, name, rule, settle), quantity))
            axes.errorbar(
                value,
                place + (0.14 if settle else -0.14),
                xerr=width,
                color=look.color,
                marker=look.marker,
                markerfacecolor="white" if settle else look.color,
                elinewidth=0.8,
                clip_on=False,
            )
    axes.set_yticks(range(len(RULES)), list(RULES))
    axes.set_ylim(len(RULES) - 0.5, -0.5)
