"""The published numbers, as they are in the file."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from fairbai.reproduction.tables.published import PublishedCell, published


def test_every_cell_of_both_tables_is_there_once() -> None:
    found = Counter((c.table, c.delta, c.algorithm, c.constraints, c.setting, c.quantity) for c in published())
    expected = product(
        ("synthetic", "scheduling"),
        (0.1, 0.01, 0.001),
        ("F-TaS", "TaS", "Uniform Fair"),
        ("prespecified", "theta_dependent"),
        ("agonistic", "antagonistic"),
        ("sample_complexity", "violation_percent"),
    )
    assert found == Counter(expected)
    assert found.total() == 144


@pytest.mark.parametrize(
    "cell",
    [
        PublishedCell("synthetic", 0.1, "F-TaS", "prespecified", "agonistic", "sample_complexity", 258.63, 27.56),
        PublishedCell(
            "synthetic", 0.001, "Uniform Fair", "theta_dependent", "antagonistic", "violation_percent", 0.02, 0.11
        ),
        PublishedCell("scheduling", 0.01, "TaS", "prespecified", "antagonistic", "violation_percent", 11.14, 0.13),
        PublishedCell("scheduling", 0.001, "F-TaS", "theta_dependent", "agonistic", "sample_complexity", 398.94, 24.53),
    ],
)
def test_numbers_of_the_paper(cell: PublishedCell) -> None:
    assert cell in published()


def test_numbers_are_possible() -> None:
    for cell in published():
        assert cell.ci95 > 0.0
        assert 0.0 < cell.mean < (100.0 if cell.quantity == "violation_percent" else 20_000.0)


def test_the_caller_may_change_the_list() -> None:
    published().clear()
    assert len(published()) == 144
