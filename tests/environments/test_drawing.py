"""Pictures of cells, and the example that draws one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from fairbai.environments import WirelessCell, draw_cell
from tests.processes import run_python

EXAMPLE = Path(__file__).parents[2] / "examples" / "wireless_cell.py"
SHARES = np.array([0.19, 0.01, *[0.1] * 8])


def drawn(cell: WirelessCell, **parts: Any) -> Any:
    axes = Figure(figsize=(8, 8)).add_subplot()
    draw_cell(cell, axes, **parts)
    axes.figure.canvas.draw()
    return axes


def test_what_is_drawn() -> None:
    axes = drawn(WirelessCell.paper(), shares=SHARES, floors=np.full(10, 0.05))
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["coverage", "base station", "share of the slots (area)", "floor (area)", "UE"]
    assert [text.get_text() for text in axes.texts][:2] == [
        "UE 0\nshare 19.0%\nfloor 5.0%",
        "UE 1\nshare 1.0%\nfloor 5.0%",
    ]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (m)", "y (m)")
    sizes = next(part.get_sizes() for part in axes.collections if part.get_label().startswith("share"))
    assert sizes / sizes[0] == pytest.approx(SHARES / SHARES[0])  # areas stand for shares
    (coverage,) = axes.patches
    assert coverage.get_radius() == WirelessCell.paper().channel.radius()


def test_labels_do_not_cover_each_other() -> None:
    axes = drawn(WirelessCell.paper(), shares=SHARES, floors=np.full(10, 0.05))
    boxes = [text.get_window_extent() for text in [*axes.texts, axes.get_legend()]]
    for number, box in enumerate(boxes):
        assert axes.bbox.x0 < box.x0 < box.x1 < axes.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_cells_without_shares_and_with_many_ues() -> None:
    assert [text.get_text() for text in drawn(WirelessCell.random(3)).texts] == ["UE 0", "UE 1", "UE 2"]
    assert not drawn(WirelessCell.random(40), shares=np.full(40, 1.0 / 40)).texts
    assert drawn(WirelessCell([(100.0, 100.0), (120.0, 100.0)])).texts  # a UE at the station


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"shares": [0.5, 0.5]}, r"shares must have one entry per arm \(10\), got 2"),
        ({"floors": np.full(10, -0.1)}, "floors must be from 0 to 1, got"),
        ({"shares": np.full(10, np.nan)}, "shares must be finite, got nan for arm 0"),
    ],
)
def test_bad_input(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drawn(WirelessCell.paper(), **parts)


@pytest.mark.system
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_example(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"cell.{kind}"
    printed = run_python(EXAMPLE, "--output", file)
    rows = re.findall(r"^ +(\d+) +[\d.]+ +[-\d.]+ +(\d+) +([\d.]+)% +([\d.]+)%$", printed, re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(10))
    assert all(float(share) >= float(floor) for *_, share, floor in rows)
    assert "UE 6 has the best channel" in printed
    assert max(map(len, printed.replace(str(file), "").splitlines())) <= 110
    assert file.read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<?xml")
