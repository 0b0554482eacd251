"""The page and the figure of a log: self-contained, escaped, and complete."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import fairbai as fb
from fairbai.charts import logs

ALL = ["means", "evidence", "ratio", "over_time", "shares"]


def log(rows: int = 400, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    arms = np.array(["<b>A</b>", "B & $5"])[rng.integers(0, 2, rows)]
    return {"arm": arms, "reward": rng.random(rows) < 0.3, **{name: make(rows) for name, make in more.items()}}


def dates(rows: int) -> Any:
    return np.datetime64("2026-05-01") + np.arange(rows).astype("timedelta64[h]")


def halves(rows: int) -> Any:
    return np.full(rows, 0.5)


def test_the_page_is_self_contained_and_escaped(tmp_path: Path) -> None:
    found = fb.analyze(log(t=dates, p=halves), time="t", probability="p")
    file = found.save_html(tmp_path / "page.html")
    text = file.read_text(encoding="utf-8")
    assert "<b>A</b>" not in text
    assert "&lt;b&gt;A&lt;/b&gt;" in text
    assert "B &amp; $5" in text
    assert "<script" not in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "default-src 'none'" in text
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert len(pictures) == 5
    for picture in pictures:
        assert base64.b64decode(picture).decode().rstrip().endswith("</svg>")
    for sentence in ("What is guaranteed", "Sample ratio: no mismatch with the logged probabilities", "GUESSED"):
        assert sentence in text


def test_the_page_is_the_same_every_time(tmp_path: Path) -> None:
    found = fb.analyze(log())
    first, second = (found.save_html(tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_what_is_wrong_stands_out(tmp_path: Path) -> None:
    data = log(6000)
    data["arm"] = np.where(np.random.default_rng(1).random(6000) < 0.45, "A", "B")
    found = fb.analyze(data)
    text = found.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<body class="doubted">' in text
    assert '<li class="alert">SAMPLE-RATIO MISMATCH' in text
    assert "interval, 95 % but doubtful" in text
    assert found.figure().axes[0].get_title() == "Means, with intervals (95 %, but doubtful: see the report)"


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        (log(), {}, ALL),
        (log(), {"shares": "any"}, ["means", "evidence", "over_time", "shares"]),
        (log(t=dates), {"time": "t"}, ALL),
        (
            log(t=np.arange, p=halves),
            {"time": "t", "probability": "p"},
            ALL,
        ),
        (
            {"arm": ["a", "b"], "n": [50, 60], "s": [5, 6]},
            {"trials": "n", "sum": "s", "family": "bernoulli"},
            ["means", "shares"],
        ),
    ],
)
def test_what_is_drawn(data: Any, options: dict[str, Any], expected: list[str]) -> None:
    found = fb.analyze(data, **options)
    assert list(logs.panels(found.to_dict())) == expected
    made = found.figure()
    made.canvas.draw()
    titles = [axes.get_title() for axes in made.axes]
    assert len(titles) in (2, 4)
    assert all(titles)
    assert titles[0] == "Means, with intervals valid at all times (95 %)"


def test_an_arm_without_trials_and_infinite_intervals() -> None:
    columns = {"arm": ["a", "b", "c"], "n": [50, 60, 0], "s": [500, 660, 0]}
    found = fb.analyze(columns, trials="n", sum="s", family="poisson", shares="any")
    found.figure().canvas.draw()
    assert "∞" in repr(found)


def test_figures_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = fb.analyze(log())
    for module in [name for name in sys.modules if name.startswith(("matplotlib", "fairbai.charts"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="figures need matplotlib"):
        found.figure()
    with pytest.raises(ImportError, match="figures need matplotlib"):
        found.save_html(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_an_arm_has_one_colour_in_all_panels() -> None:
    rng = np.random.default_rng(1)
    arms = [f"arm {number}" for number in rng.integers(0, 8, 4000)]
    found = fb.analyze({"arm": arms, "reward": rng.integers(0, 2, 4000).tolist()}).to_dict()
    curves = {line.get_label(): line.get_color() for line in logs.picture("over_time", found).axes[0].get_lines()}
    curves = {label: color for label, color in curves.items() if label.startswith("arm ")}
    assert len(curves) == logs.MAX_CURVES
    labels = [arm["arm"] for arm in found["arms"]]
    points = [bar.lines[0].get_color() for bar in logs.picture("means", found).axes[0].containers]
    means = dict(zip(labels, points, strict=True))
    faces = [to_hex(bar.get_facecolor()).upper() for bar in logs.picture("shares", found).axes[0].patches]
    shares = dict(zip(labels, faces, strict=True))
    assert {label: means[label] for label in curves} == curves
    assert {label: shares[label] for label in curves} == {label: color.upper() for label, color in curves.items()}
