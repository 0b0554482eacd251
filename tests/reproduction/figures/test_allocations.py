"""The bars of the allocation figures, against ``solve``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

import fairbai as fb
from fairbai.charts import style
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import allocations as figures

# Which scenarios a figure shows: model, constraints.
PANELS: dict[Callable[[], Figure], list[tuple[Any, Any]]] = {
    figures.prespecified: [("linear", "prespecified"), ("equal gaps", "prespecified")],
    figures.theta_dependent: [("linear", "theta_dependent")],
    figures.main_scheduling: [("scheduling", "theta_dependent")],
    figures.scheduling: [("scheduling", None)],
}
every_figure = pytest.mark.parametrize("draw", PANELS, ids=lambda draw: draw.__name__)


def heights(axes: Axes) -> dict[str, np.ndarray]:
    bars = [one for one in axes.containers if isinstance(one, BarContainer)]
    return {str(one.get_label()): np.array([patch.get_height() for patch in one]) for one in bars}


@every_figure
def test_bars_are_the_allocations_and_the_floors(draw: Callable[[], Figure]) -> None:
    figure = draw()
    shown = [scenario for which in PANELS[draw] for scenario in scenarios.select(*which)]
    for axes, scenario in zip(figure.axes, shown, strict=True):
        instance = scenario.instance
        found = heights(axes)
        expected = {
            "unconstrained": fb.solve(fb.Instance(instance.means)).weights,
            "fair": fb.solve(instance).weights,
            "floors": instance.floors,
        }
        assert list(found) == [figures.LABELS[name] for name in expected]
        for name, values in expected.items():
            np.testing.assert_array_equal(found[figures.LABELS[name]], values)
        assert axes.get_title() == scenario.title
        assert len(axes.get_xticks()) == instance.means.size


@every_figure
def test_axes_are_labelled_and_the_widths_fit_columns(draw: Callable[[], Figure]) -> None:
    figure = draw()
    assert len(figure.legends) == 1
    names = {axes.get_xlabel() for axes in figure.axes} - {""}
    assert names == ({"user"} if draw in (figures.scheduling, figures.main_scheduling) else {"arm"})
    assert figure.axes[0].get_ylabel() == "share of the trials"
    assert figure.get_figwidth() in (style.ONE_COLUMN, style.TWO_COLUMNS)


def test_bars_of_an_arm_do_not_overlap() -> None:
    axes = figures.main_scheduling().axes[0]
    patches = sorted(axes.patches, key=lambda patch: patch.get_x())  # type: ignore[attr-defined]
    for one, following in pairwise(patches):
        assert one.get_x() + one.get_width() <= following.get_x() + 1e-9  # type: ignore[attr-defined]
