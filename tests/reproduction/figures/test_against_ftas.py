"""The ratios to F-TaS, against the runs that they show."""

from __future__ import annotations

import numpy as np
import pytest

from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import against_ftas
from fairbai.reproduction.studies import DELTAS, OURS
from tests.reproduction.made import made_results


def test_ratios() -> None:
    results = made_results()
    figure = against_ftas.ratios(results)
    assert len(figure.axes) == 6
    chosen = scenarios.select()
    handles, labels = figure.axes[1].get_legend_handles_labels()
    assert labels == ["F-TaS", "F-TaS tracked", "F-TaS tracked, settled", "FairTopTwo", "FairTopTwo, settled"]
    for handle, (name, settle) in zip(handles[1:], [(name, s) for name in OURS for s in (False, True)], strict=True):
        shown = np.asarray(handle.lines[0].get_xdata())  # type: ignore[attr-defined]
        for value, scenario in zip(shown, chosen, strict=True):
            ours = results.ours.runs(scenario.name, name, "heuristic", settle).stopping_time[:, 1].mean()
            assert value == pytest.approx(
                ours / results.paper.runs(scenario.name, "F-TaS", "heuristic").stopping_time[:, 1].mean()
            )
    assert [axes.get_title() for axes in figure.axes[:3]] == [f"$\\delta = {delta:g}$" for delta in DELTAS]
    assert "violation" in figure.axes[3].get_xlabel()
