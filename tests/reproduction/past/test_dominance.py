"""The section on dominance: every number against the runs that it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from fairbai.reproduction.past import dominance
from fairbai.reproduction.scenarios import table_settings
from fairbai.reproduction.studies import DELTAS
from tests.reproduction.test_studies import made_results


def test_table_findings_and_figure() -> None:
    results = made_results()
    section = dominance.section(results)
    (table,) = section.tables
    assert len(table.rows) == len(table_settings()) * len(DELTAS) == 24
    times, extra = [], []
    for place, setting in enumerate(table_settings()):
        theirs = results.paper.runs(setting.name, "F-TaS", "heuristic")
        ours, settled = (results.ours.runs(setting.name, "FairTopTwo", "heuristic", way) for way in (False, True))
        for column in range(len(DELTAS)):
            row = table.rows[3 * place + column]
            assert row[0] == setting.title
            assert float(row[2].replace(",", "")) == pytest.approx(theirs.stopping_time[:, column].mean(), abs=0.06)
            for cell, runs in ((3, ours), (4, settled)):
                expected = runs.stopping_time[:, column].mean() / theirs.stopping_time[:, column].mean()
                assert float(row[cell].split()[1]) == pytest.approx(expected, abs=6e-4)
            for cell, runs in ((6, ours), (7, settled)):
                expected = runs.violation[:, column].mean() / theirs.violation[:, column].mean()
                assert float(row[cell].split()[1]) == pytest.approx(expected, abs=6e-5)
        times += (ours.stopping_time.mean(axis=0) / theirs.stopping_time.mean(axis=0)).tolist()
        extra += (settled.stopping_time.mean(axis=0) / ours.stopping_time.mean(axis=0) - 1.0).tolist()
    assert f"{1.0 - np.mean(times):.1%} fewer trials on average" in section.findings[0]
    assert any(f"Settling adds {np.mean(extra):.2%}" in line for line in section.findings)
    (picture,) = section.pictures
    assert len(picture.figure.axes[0].containers) == 4  # two kinds of floors, with settling and without


def test_nothing_left_is_a_zero() -> None:
    pair = dominance.Pair(
        table_settings()[0], 0.1, 100.0, 0.02, (0.9, 0.01), (0.92, 0.01), (0.1, 0.01), (0.0, 0.0), 0.02
    )
    assert dominance._row(pair)[3:] == ["× 0.900 ± 0.010", "× 0.920 ± 0.010", "2.000", "× 0.1000 ± 0.0100", "0"]
