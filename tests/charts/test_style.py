"""How figures look, and the files they become."""

from __future__ import annotations

import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from fairbai.charts import style

HEADS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@style.applied()
def small_figure() -> Figure:
    figure, (axes,) = style.panels(2.0, 1.5)
    for level, (name, look) in enumerate(list(style.ALGORITHMS.items())[:2]):
        axes.bar(level, level + 1.0, label=name, **look.bar)
        axes.plot([0.0, 1.0], [level, level], label=name, marker=look.marker, **look.line)
    axes.set_xlabel(r"$w^\star_p$")
    style.legend_below(figure, axes, 2)
    return figure


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return style.save(small_figure(), tmp_path_factory.mktemp("plain"), "small")


def test_save_writes_three_formats(files: tuple[Path, ...]) -> None:
    assert [path.name for path in files] == ["small.png", "small.svg", "small.pdf"]
    for path in files:
        assert path.read_bytes().startswith(HEADS[path.suffix])


def test_pictures_have_200_dots_an_inch(files: tuple[Path, ...]) -> None:
    header = files[0].read_bytes()[16:24]
    assert (int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")) == (400, 300)


def test_no_file_holds_a_date(files: tuple[Path, ...]) -> None:
    dates = (b"CreationDate", b"dc:date", b"Creation Time")
    assert not any(word in path.read_bytes() for path in files for word in dates)


def test_threads_get_the_same_bytes_and_clear_their_figures(files: tuple[Path, ...], tmp_path: Path) -> None:
    def draw(name: str) -> list[bytes]:
        figure = small_figure()
        paths = style.save(figure, str(tmp_path / name / "new"), "small")
        assert figure.axes == []
        return [path.read_bytes() for path in paths]

    with ThreadPoolExecutor(2) as threads:
        for found in threads.map(draw, "ab"):
            assert found == [path.read_bytes() for path in files]


def test_the_users_settings_neither_matter_nor_change(files: tuple[Path, ...], tmp_path: Path) -> None:
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "figure.facecolor": "red", "svg.hashsalt": "mine"}):
        before = dict(mpl.rcParams)
        own = style.save(small_figure(), tmp_path, "small")
        assert dict(mpl.rcParams) == before
    assert [path.read_bytes() for path in own] == [path.read_bytes() for path in files]


@pytest.mark.parametrize("looks", [style.ALGORITHMS, style.ALLOCATIONS, style.PRICES])
def test_everything_differs_in_more_than_colour(looks: dict[str, style.Look]) -> None:
    for name in ("color", "marker", "linestyle", "hatch"):
        assert len({getattr(look, name) for look in looks.values()}) == len(looks)


def test_lines_stand_out_from_white_paper() -> None:
    for look in (*style.ALGORITHMS.values(), *style.PRICES.values()):
        red, green, blue = to_rgb(look.color)
        assert 0.299 * red + 0.587 * green + 0.114 * blue < 0.72


def test_matplotlib_is_imported_for_figures_only_and_pyplot_never() -> None:
    script = (
        "import sys, fairbai.reproduction.scenarios\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import fairbai.reproduction.figures.price, fairbai.reproduction.figures.allocations\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[report\]'"):
        runpy.run_path(str(style.__file__))
