"""The section on dominance: every number against the runs that it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from fairbai.reproduction.past import dominance
from fairbai.reproduction.scenarios import table_scenarios
from fairbai.reproduction.studies import DELTAS
from tests.reproduction.made import made_results


def test_table_findings_and_figure() -> None:
    results = made_results()
    section = dominance.section(results)
    (table,) = section.tables
    assert len(table.rows) == len(table_scenarios()) * len(DELTAS) == 24
    times, extra = [], []
    for place, scenario in enumerate(table_scenarios()):
        theirs = results.paper.runs(scenario.name, "F-TaS", "heuristic")
        ours, settled = (results.ours.runs(scenario.name, "FairTopTwo", "heuristic", way) for way in (False, True))
        for column in range(len(DELTAS)):
            row = table.rows[3 * place + column]
            assert row[0] == scenario.title
            assert float(row[2].replace(",", "")) == pytest.approx(theirs.stopping_time[:, column].mean(), abs=0.06)
            for cell, runs in ((3, ours), (4, settled)):
                expected = runs.stopping_time[:, column].mean() / theirs.stopping_time[:, column].mean()
                assert float(row[cell].split()[1]) == pytest.approx(expected, abs=6e-4)
            for cell, runs in ((6, ours), (7, settled)):
                expected = runs.violation[:, column].mean() / theirs.violation[:, column].mean()
                assert float(row[cell].split()[1]) == pytest.approx(expected, abs=6e-5)
        times += (ours.stopping_time.mean(axis=0) / theirs.stopping_time.mean(axis=0)).tolist()
        extra += (settled.stopping_time.mean(axis=0) / ours.stopping_time.mean(axis=0) - 1.0).tolist()
    assert f"takes {np.mean(times) - 1.0:.1%} more trials on average" in section.findings[0]
    assert any(f"Settling adds {np.mean(extra):.2%}" in line for line in section.findings)
    (picture,) = section.pictures
    assert len(picture.figure.axes[0].containers) == 4  # two kinds of floors, with settling and without


def pair(faster: tuple[float, float] = (0.9, 0.01), fairer: tuple[float, float] = (0.1, 0.01)) -> dominance.Pair:
    return dominance.Pair(table_scenarios()[0], 0.1, 100.0, 0.02, faster, (0.92, 0.01), fairer, (0.0, 0.0), 0.02)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([pair(), pair()], "in all 2 pairs"),
        ([pair(), pair(faster=(0.9, 0.2))], "in 2 of 2 pairs, 1 of them significantly"),
        ([pair(), pair(fairer=(1.1, 0.2))], "in 1 of 2 pairs, 1 of them significantly"),
        ([pair(fairer=(0.9, 0.2)), pair(faster=(1.0, 0.0))], "in 1 of 2 pairs, 0 of them significantly"),
    ],
)
def test_the_heading_claims_what_the_runs_show(pairs: list[dominance.Pair], words: str) -> None:
    assert dominance.title(pairs) == f"FairTopTwo against F-TaS: fewer trials and less violation {words}"


def test_nothing_left_is_a_zero() -> None:
    assert dominance._row(pair())[3:] == ["× 0.900 ± 0.010", "× 0.920 ± 0.010", "2.000", "× 0.1000 ± 0.0100", "0"]
