"""Every figure of the paper, declared once: how to draw it, what it shows, what the paper says, and what we found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fairbai.charts import style
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import against_ftas, allocations, complexity, findings, price, violations
from fairbai.reproduction.scenarios import Constraints, Model, PaperScenario
from fairbai.reproduction.studies import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAIN, APPENDIX, BEYOND = "main text", "appendix", "beyond the paper"
Finding = Callable[[Results], Sequence[str]]


@dataclass(frozen=True)
class PaperFigure:
    """One figure and what to say about it.

    Attributes:
        name: The name of its files.
        place: Where it appears in the paper, such as "main text"; "beyond the paper" for our own.
        title: A few words.
        caption: What it shows.
        claim: What the paper says about it; empty for our own.
        draw: Draws it from the runs of the report.
        finding: Says what these runs show: a verdict, then details.
    """

    name: str
    place: str
    title: str
    caption: str
    claim: str
    draw: "Callable[[Results], Figure]"
    finding: Finding


def _without_runs(draw: "Callable[[], Figure]") -> "Callable[[Results], Figure]":
    return lambda _: draw()


@style.applied()
def scheduling_cell() -> "Figure":
    """Main text: the wireless cell."""
    from fairbai.environments import WirelessCell, draw_cell

    figure, (axes,) = style.panels(style.ONE_COLUMN, 3.9)
    draw_cell(WirelessCell.paper(), axes, legend=False)
    style.legend_below(figure, axes, 3)
    return figure


def _chosen(*pairs: tuple[Model, Constraints]) -> list[PaperScenario]:
    return [scenario for model, constraints in pairs for scenario in scenarios.select(model, constraints)]


PRESPECIFIED: tuple[tuple[Model, Constraints], ...] = (("linear", "prespecified"), ("equal gaps", "prespecified"))
SYNTHETIC: tuple[tuple[Model, Constraints], ...] = (("linear", "prespecified"), ("linear", "theta_dependent"))
THETA: tuple[tuple[Model, Constraints], ...] = (("linear", "theta_dependent"),)
SCHEDULING: tuple[tuple[Model, Constraints], ...] = (("scheduling", "prespecified"), ("scheduling", "theta_dependent"))


def _about(finding: Callable[..., Sequence[str]], *pairs: tuple[Model, Constraints]) -> Finding:
    """A finding about some scenarios, which are built only when it is called."""
    return lambda results: finding(results, *_chosen(*pairs))


def _moved(*pairs: tuple[Model, Constraints]) -> Finding:
    return lambda _: findings.allocations(*_chosen(*pairs))


BOX = (
    "Stopping times of all runs (points), their quartiles (boxes), and the lower bounds with floors, T*ₚ kl(δ, 1−δ), "
    "and without, T* kl(δ, 1−δ). The printed theorem has an extra factor of 2; see the errata."
)
DENSITY = (
    "The violation ρ(t) = maxₐ (pₐ − Nₐ(t)/t), or 0, over all rounds until the decision of all runs. A density cannot "
    "show the share of rounds without any violation; it is written above each panel. The bar at the far right of a "
    "panel stands for the first rounds of the runs: until the arm with the largest floor is pulled for the first time, "
    "the violation is that floor."
)
COMPLEXITY_CLAIM = "F-TaS takes about as long as TaS with agonistic floors, and less than Uniform Fair with all floors."
DENSITY_CLAIM = "F-TaS is close to Uniform Fair, while TaS violates the floors more in all settings."
ALLOCATION_CLAIM = "Agonistic floors are close to w*; antagonistic ones are inversely proportional to it."

FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure(
        name="price-of-hindering-floors",
        place=MAIN,
        title="Price of fairness, floors that hinder",
        caption="30 arms with means evenly spaced in [0, 1] and floors pₐ = K p₀ Δₐ/ΣΔ. The best arm has no floor, so "
        "the correct bound is 1/(1−psum) itself. In the grey area the price exceeds the printed bound.",
        claim="The price follows 1/(1−psum) closely, especially for small p₀.",
        draw=_without_runs(price.hindering_floors),
        finding=findings.hindering_floors,
    ),
    PaperFigure(
        name="price-with-equal-gaps",
        place=MAIN,
        title="Price of fairness, equal gaps",
        caption="No floor for the best arm, (w*ₐ + 1/K)/2 for the others. Left axis: the price, and its closed form as "
        "circles. Right axis: its two terms; the price is their sum divided by (1 + √(K−1))².",
        claim="The price is (1/(1−psum) + 1/pmin) / (1 + √(K−1))², and 1/pmin is the larger term for many arms.",
        draw=_without_runs(price.equal_gaps),
        finding=findings.equal_gaps,
    ),
    PaperFigure(
        name="synthetic-violations",
        place=MAIN,
        title="Violations, synthetic models, δ = 0.01",
        caption=DENSITY,
        claim=DENSITY_CLAIM,
        draw=violations.main_synthetic,
        finding=_about(partial(findings.violations, deltas=(0.01,)), *SYNTHETIC),
    ),
    PaperFigure(
        name="scheduling-cell",
        place=MAIN,
        title="The scheduling cell",
        caption="The base station in the middle of the map, its coverage, and the ten users.",
        claim="Ten users are placed at random around a base station in the middle of the cell.",
        draw=_without_runs(scheduling_cell),
        finding=findings.cell,
    ),
    PaperFigure(
        name="scheduling-allocations",
        place=MAIN,
        title="Allocations, scheduling, θ-dependent floors",
        caption="Shares without floors (w*), with floors (w*ₚ), and the floors p, in the wireless cell.",
        claim="Agonistic floors give w*ₚ ≈ w*; antagonistic ones discourage good arms.",
        draw=_without_runs(allocations.main_scheduling),
        finding=_moved(("scheduling", "theta_dependent")),
    ),
    PaperFigure(
        name="scheduling-violations",
        place=MAIN,
        title="Violations, scheduling, δ = 0.01",
        caption=DENSITY,
        claim=DENSITY_CLAIM,
        draw=violations.main_scheduling,
        finding=_about(partial(findings.violations, deltas=(0.01,)), *SCHEDULING),
    ),
    PaperFigure(
        name="prespecified-allocations",
        place=APPENDIX,
        title="Allocations, synthetic models, pre-specified floors",
        caption="Ten arms with linear means (p₀ = 0.9) and with equal gaps of 2 (p₀ = 0.99).",
        claim=ALLOCATION_CLAIM,
        draw=_without_runs(allocations.prespecified),
        finding=_moved(*PRESPECIFIED),
    ),
    PaperFigure(
        name="prespecified-sample-complexity",
        place=APPENDIX,
        title="Sample complexity, synthetic models, pre-specified floors",
        caption=BOX,
        claim=COMPLEXITY_CLAIM,
        draw=complexity.prespecified,
        finding=_about(findings.complexity, *PRESPECIFIED),
    ),
    PaperFigure(
        name="prespecified-violations",
        place=APPENDIX,
        title="Violations, synthetic models, pre-specified floors",
        caption=DENSITY,
        claim=DENSITY_CLAIM,
        draw=violations.prespecified,
        finding=_about(findings.violations, *PRESPECIFIED),
    ),
    PaperFigure(
        name="theta-dependent-allocations",
        place=APPENDIX,
        title="Allocations, synthetic model, θ-dependent floors",
        caption="15 arms with means linear in [0, 5] and floors that depend on the gaps, p₀ = 0.7.",
        claim=ALLOCATION_CLAIM,
        draw=_without_runs(allocations.theta_dependent),
        finding=_moved(*THETA),
    ),
    PaperFigure(
        name="theta-dependent-sample-complexity",
        place=APPENDIX,
        title="Sample complexity, synthetic model, θ-dependent floors",
        caption=BOX,
        claim=COMPLEXITY_CLAIM,
        draw=complexity.theta_dependent,
        finding=_about(findings.complexity, *THETA),
    ),
    PaperFigure(
        name="theta-dependent-violations",
        place=APPENDIX,
        title="Violations, synthetic model, θ-dependent floors",
        caption=DENSITY,
        claim=DENSITY_CLAIM,
        draw=violations.theta_dependent,
        finding=_about(findings.violations, *THETA),
    ),
    PaperFigure(
        name="all-scheduling-allocations",
        place=APPENDIX,
        title="Allocations, scheduling, all floors",
        caption="The wireless cell with pre-specified floors (top) and θ-dependent floors (bottom), p₀ = 0.9.",
        claim=ALLOCATION_CLAIM,
        draw=_without_runs(allocations.scheduling),
        finding=_moved(*SCHEDULING),
    ),
    PaperFigure(
        name="scheduling-sample-complexity",
        place=APPENDIX,
        title="Sample complexity, scheduling",
        caption=BOX,
        claim=COMPLEXITY_CLAIM,
        draw=complexity.scheduling,
        finding=_about(findings.complexity, *SCHEDULING),
    ),
    PaperFigure(
        name="all-scheduling-violations",
        place=APPENDIX,
        title="Violations, scheduling, all δ",
        caption=DENSITY,
        claim=DENSITY_CLAIM,
        draw=violations.scheduling,
        finding=_about(findings.violations, *SCHEDULING),
    ),
    PaperFigure(
        name="two-regimes",
        place=APPENDIX,
        title="The two regimes of the bound",
        caption="Equal gaps, ten arms, floors p = λ w*: the price, the two terms of the printed bound, and the "
        "correct bound.",
        claim="For small λ the term 1/(1−psum) is the tighter one, for large λ 1/(K pmin).",
        draw=_without_runs(price.two_regimes),
        finding=findings.two_regimes,
    ),
    PaperFigure(
        name="scaling-with-equal-floors",
        place=APPENDIX,
        title="Scaling of the price, equal floors",
        caption="The same floor p for all arms; means linear in [0, 1] (top) and equal gaps of 0.1 (bottom). In the "
        "grey areas the price exceeds the printed bound; the correct bound is drawn as well.",
        claim="With linear means the price scales with 1/(1−psum); with equal gaps it is less affected.",
        draw=_without_runs(price.scaling_equal_floors),
        finding=findings.scaling_equal,
    ),
    PaperFigure(
        name="scaling-with-gap-floors",
        place=APPENDIX,
        title="Scaling of the price, floors from the gaps",
        caption="As in the previous figure, with floors pₐ = p K fₐ/Σf; fₐ = 1 + 1/Δₐ, and f = 1 for the best arm.",
        claim="With linear means the price scales with 1/(1−psum); with equal gaps it is less affected.",
        draw=_without_runs(price.scaling_gap_floors),
        finding=findings.scaling_gaps,
    ),
    PaperFigure(
        name="ours-against-ftas",
        place=BEYOND,
        title="Our rules compared with F-TaS",
        caption="Mean stopping time and mean violation at the stop, relative to F-TaS, in the ten settings of the "
        "paper, with 95 % intervals.",
        claim="",
        draw=against_ftas.ratios,
        finding=findings.ours,
    ),
)
"""The paper's figures in its order, then our own."""
