"""The paper's figures of the price of fairness T*_p / T*, with the bounds on it.

The paper bounds the price by min(1/(1 − psum), 1/(K p_min)) up to a constant, with p_min the smallest positive floor.
With constant 1 that is false (docs/errata.md). The correct bound is max_a w*_a / (p_a + (1 − psum) w*_a), which is at
most 1/(1 − psum). The figures show both wherever they differ.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.allocation import price_of_fairness, solve
from fairbai.charts import style
from fairbai.problems import Instance
from fairbai.problems.checks import Array
from fairbai.reproduction.scenarios import equal_gap_means, linear_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pattern = Callable[[Array], Array]
"""How floors are distributed over the arms, given the means, up to a factor."""

PRICE = r"price $T^\star_p/T^\star$"
SPARE = r"$1/(1-p_{\mathrm{sum}})$"
SMALLEST = r"$1/(K p_{\min})$"
BOUND = r"correct bound, $\max_a\, w^\star_a/(p_a + (1-p_{\mathrm{sum}})w^\star_a)$"
PRINTED = r"printed bound, $\min\{1/(1-p_{\mathrm{sum}}),\, 1/(K p_{\min})\}$"
FALSE = "price exceeds the printed bound"

# Sums of the floors, denser towards 1, where the price rises steeply. Prices are drawn up to 0.99.
SUMS = 0.99 * (1.0 - (1.0 - np.linspace(0.0, 1.0, 61)) ** 2)[1:]
ARMS = np.unique(np.geomspace(2, 100, 40).round().astype(int))
SHARES = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True, eq=False)
class Prices:
    """One price per row of floors, and the terms of the bounds on it."""

    ratio: Array
    bound: Array
    spare: Array
    smallest: Array

    @property
    def printed(self) -> Array:
        """The smaller of the two terms: the paper's bound with constant 1."""
        return np.minimum(self.spare, self.smallest)


def prices(means: Array, floors: Array) -> Prices:
    """The prices of the rows of ``floors``, each with a positive entry and a sum below 1."""
    exact = [price_of_fairness(Instance(means, floors=row)) for row in floors]
    return Prices(
        ratio=np.array([price.ratio for price in exact]),
        bound=np.array([price.upper_bound for price in exact]),
        spare=1.0 / (1.0 - floors.sum(axis=1)),
        smallest=1.0 / (means.size * np.min(floors, axis=1, initial=math.inf, where=floors > 0.0)),
    )


@style.applied()
def hindering_floors() -> "Figure":
    """Main text, case 1: K = 30, means linear in [0, 1], floors p_a = K p0 Δ_a / ΣΔ."""
    means = linear_means(30, 1.0)
    gaps = means.max() - means
    found = prices(means, np.outer(SUMS, gaps / gaps.sum()))
    figure, (axes,) = style.panels(style.ONE_COLUMN, 3.0)
    p0 = SUMS / means.size
    _price(axes, p0, found)
    # The best arm has no floor, so the correct bound is 1/(1 − psum) itself.
    axes.plot(p0, found.spare, label=f"{SPARE}, here the correct bound", **style.PRICES["spare"].line)
    _printed(axes, p0, found)
    axes.set(xlabel=r"$p_0$", ylabel="price and bounds", xlim=(0.0, 1.0 / means.size))
    style.legend_below(figure, axes, 1)
    return figure


@style.applied()
def equal_gaps() -> "Figure":
    """Main text, case 2: equal gaps, p = 0 for the best arm and (w*_a + 1/K)/2 for the others, over K."""
    found = [prices(means, floors[None, :]) for means, floors in map(between, ARMS)]
    ratio = np.array([one.ratio[0] for one in found])
    spare = np.array([one.spare[0] for one in found])
    smallest = ARMS * np.array([one.smallest[0] for one in found])
    figure, (left,) = style.panels(style.ONE_COLUMN, 3.0)
    right = left.twinx()
    price, term, other = (style.PRICES[name] for name in ("price", "spare", "smallest"))
    right.plot(ARMS, smallest, label=r"$1/p_{\min}$ (right)", color=term.color, linestyle=other.linestyle)
    right.plot(ARMS, spare, label=f"{SPARE} (right)", **term.line)
    left.plot(ARMS, ratio, label=f"{PRICE} (left)", **price.line)
    formula = (spare + smallest) / (1.0 + np.sqrt(ARMS - 1.0)) ** 2
    hollow: dict[str, Any] = {
        "marker": price.marker,
        "markerfacecolor": "none",
        "linestyle": "none",
        "color": price.color,
    }
    left.plot(ARMS, formula, label="closed form (left)", markevery=3, **hollow)
    left.set(xlabel="number of arms $K$", ylabel=PRICE, ylim=(0.999, 1.051))
    left.set_zorder(right.get_zorder() + 1)
    left.patch.set_visible(False)
    right.set_ylabel("terms of the price", color=term.color)
    right.tick_params(axis="y", colors=term.color)
    right.spines["right"].set(visible=True, color=term.color)
    right.set_ylim(bottom=0.0)
    right.grid(visible=False)
    style.legend_below(figure, left, 2, right)
    return figure


@style.applied()
def two_regimes() -> "Figure":
    """Appendix: the two terms of its bound for equal gaps, K = 10, and floors p = λ w*."""
    means = equal_gap_means(10, 1.0)
    found = prices(means, np.outer(SHARES, solve(Instance(means)).weights))
    figure, (axes,) = style.panels(style.ONE_COLUMN, 3.0)
    _price(axes, SHARES, found)
    axes.plot(SHARES, found.bound, label=BOUND, **style.PRICES["bound"].band)
    axes.plot(SHARES, found.spare, label=SPARE, **style.PRICES["spare"].line)
    axes.plot(SHARES, found.smallest, label=SMALLEST, **style.PRICES["smallest"].line)
    axes.set(xlabel=r"$\lambda$", ylabel="price and bounds", xlim=(0.0, 1.0), ylim=(0.85, 60.0))
    style.legend_below(figure, axes, 1)
    return figure


@style.applied()
def scaling_equal_floors() -> "Figure":
    """Appendix: the same floor p for all arms; means linear in [0, 1] (top), equal gaps of 0.1 (bottom)."""
    return _scaling(np.ones_like)


@style.applied()
def scaling_gap_floors() -> "Figure":
    """Appendix: p_a = p K f_a / Σf, f_a = 1 + 1/Δ_a, f = 1 for the best arm; models as above."""
    return _scaling(inverse_gap_pattern)


def inverse_gap_pattern(means: Array) -> Array:
    """f_a = 1 + 1/Δ_a, and 1 for the best arm: it gets the smallest floor, its closest rivals the largest."""
    gaps = means.max() - means
    pattern: Array = np.ones_like(gaps)
    pattern[gaps > 0.0] += 1.0 / gaps[gaps > 0.0]
    return pattern


def _scaling(pattern: Pattern) -> "Figure":
    """Prices against p in (0, 1/K), for both models (rows) and three numbers of arms (columns)."""
    figure, axes = style.panels(style.TWO_COLUMNS, 4.4, 2, 3, sharex="col", sharey="row")
    models = (("means linear in [0, 1]", linear_means, 1.0), ("equal gaps of 0.1", equal_gap_means, 0.1))
    cases = [(*model, arms) for model in models for arms in (10, 20, 30)]
    for panel, (name, model, top, arms) in zip(axes, cases, strict=True):
        means = model(arms, top)
        shape = pattern(means)
        found = prices(means, np.outer(SUMS, shape / shape.sum()))
        p = SUMS / arms
        _price(panel, p, found)
        panel.plot(p, found.bound, label=BOUND, **style.PRICES["bound"].line)
        panel.plot(p, found.spare, label=SPARE, **style.PRICES["spare"].line)
        _printed(panel, p, found)
        panel.set(title=f"{name}, $K={arms}$", xlim=(0.0, 1.0 / arms))
    for panel in axes[3:]:
        panel.set_xlabel("$p$")
    for panel in axes[::3]:
        panel.set_ylabel("price and bounds")
    style.spread(figure)
    style.legend_below(figure, axes[0], 2)
    return figure


def between(arms: int) -> tuple[Array, Array]:
    """Means with equal gaps, and floors halfway between w* and 1/K, except for the best arm, which has none."""
    means = equal_gap_means(arms, 1.0)
    floors = (solve(Instance(means)).weights + 1.0 / arms) / 2.0
    floors[means.argmax()] = 0.0
    return means, floors


def _price(axes: "Axes", p: Array, found: Prices) -> None:
    """The price itself, on a logarithmic axis."""
    axes.plot(p, found.ratio, label=PRICE, zorder=3, **style.PRICES["price"].line)
    style.log_axis(axes)


def _printed(axes: "Axes", p: Array, found: Prices) -> None:
    """The paper's bound with constant 1, shaded where the price exceeds it."""
    axes.plot(p, found.printed, label=PRINTED, **style.PRICES["printed"].band)
    above = found.ratio > found.printed
    area: dict[str, Any] = {"color": style.GREY, "alpha": 0.35, "linewidth": 0.0}
    axes.fill_between(p, found.printed, found.ratio, where=above, interpolate=True, label=FALSE, **area)
