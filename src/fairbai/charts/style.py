"""How our figures look, in one place: fonts, sizes, colours, and the files they become.

Nothing depends on colour alone: whatever has a colour also has a marker, a line style and a hatch of its own, so
figures can be printed in grey.
"""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import matplotlib.style
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator
except ImportError:
    raise ImportError("figures need matplotlib: pip install '.[report]' in a clone of the repository") from None

from fairbai.charts import colors

ONE_COLUMN = 3.5  # inches, as in a paper with two columns
TWO_COLUMNS = 7.16

BLACK, GREY = colors.BLACK, colors.GREY
ORANGE, SKY, GREEN = colors.ORANGE, colors.SKY, colors.GREEN
BLUE, VERMILLION, PURPLE = colors.BLUE, colors.VERMILLION, colors.PURPLE

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same letters on every machine
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "patch.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # text that can be searched
    "svg.hashsalt": "fairbai",  # ids that do not change from run to run
}


@dataclass(frozen=True)
class Look:
    """What one thing looks like in every figure."""

    color: str
    marker: str
    linestyle: str | tuple[float, tuple[float, ...]]
    hatch: str

    @property
    def line(self) -> dict[str, Any]:
        """For ``Axes.plot`` without markers."""
        return {"color": self.color, "linestyle": self.linestyle}

    @property
    def band(self) -> dict[str, Any]:
        """For a line that others may cover: broad, pale and below them."""
        return {"color": self.color, "linewidth": 3.5, "alpha": 0.45, "zorder": 1.5}

    @property
    def bar(self) -> dict[str, Any]:
        """For bars, boxes and other areas."""
        return {"facecolor": self.color, "edgecolor": BLACK, "hatch": self.hatch}


_DOTS = (0.0, (1.0, 1.2))
_DASH_DOT_DOT = (0.0, (6.0, 1.5, 1.0, 1.5, 1.0, 1.5))

ALGORITHMS: dict[str, Look] = {
    "F-TaS": Look(BLUE, "o", "-", ""),
    "TaS": Look(ORANGE, "s", "--", "///"),
    "Uniform Fair": Look(GREEN, "^", "-.", "..."),
    "F-TaS tracked": Look(SKY, "D", _DOTS, "xxx"),
    "FairTopTwo": Look(PURPLE, "v", _DASH_DOT_DOT, "\\\\\\"),
}


def looks(count: int) -> list[Look]:
    """So many looks that differ, for things without a look of their own; vermillion is left for limits."""
    colors = (BLUE, ORANGE, GREEN, PURPLE, SKY, GREY)
    lines, hatches = ("-", "--", "-.", _DOTS, _DASH_DOT_DOT), ("", "///", "...", "xxx", "\\\\\\")
    markers = "os^vDP*X"
    return [
        Look(colors[i % len(colors)], markers[i % len(markers)], lines[i % len(lines)], hatches[i % len(hatches)])
        for i in range(count)
    ]


ALLOCATIONS: dict[str, Look] = {
    "unconstrained": Look(ORANGE, "s", "--", "////"),
    "fair": Look(BLUE, "o", "-", ""),
    "floors": Look("#ffffff", "_", _DOTS, "....."),
}

PRICES: dict[str, Look] = {
    "price": Look(BLACK, "o", "-", ""),
    "spare": Look(VERMILLION, "s", "--", "///"),
    "smallest": Look(PURPLE, "^", _DOTS, "..."),
    "bound": Look(BLUE, "D", "-.", "xxx"),
    "printed": Look(GREEN, "v", _DASH_DOT_DOT, "\\\\\\"),
}

_FORMATS: dict[str, tuple[Any, dict[str, Any]]] = {
    "png": (FigureCanvasAgg, {}),
    "svg": (FigureCanvasSVG, {"Date": None}),
    "pdf": (FigureCanvasPdf, {"CreationDate": None}),
}
_lock = threading.RLock()


@contextmanager
def applied() -> Iterator[None]:
    """Our style, whatever the user's settings are; for ``with``, or as a decorator of a function that draws.

    Matplotlib keeps its settings in one place for all threads, so only one thread draws at a time.
    """
    with _lock, matplotlib.style.context(["default", RC]):
        yield


def panels(width: float, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches, and its axes row by row; more arguments go to ``Figure.subplots``."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def spread(figure: Figure) -> None:
    """More room between columns, for tick labels at the ends of neighbouring axes."""
    figure.set_layout_engine("constrained", wspace=0.08)


def log_axis(axes: Axes, horizontal: bool = False) -> None:
    """A logarithmic axis, vertical unless it is to be horizontal, with plain numbers: 1, 2, 5, 10 and so on."""
    axes.set(**{"xscale" if horizontal else "yscale": "log"})
    axis = axes.xaxis if horizontal else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def trials_axis(axes: Axes, logarithmic: bool) -> None:
    """A horizontal axis of trials: 1,000 and 10,000, with powers of ten if it is logarithmic."""
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator())
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:,.0f}")


def date_axis(axes: Axes) -> None:
    """A horizontal axis of dates, with few and short labels."""
    locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def svg(figure: Figure) -> str:
    """A figure as the text of an SVG file, the same every time, and the figure is cleared."""
    file = io.StringIO()
    with applied():
        FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})  # type: ignore[no-untyped-call]
        figure.clear()
    return file.getvalue()


def legend_below(figure: Figure, axes: Axes, columns: int, *more: Axes) -> None:
    """One legend for all panels, below them, with what ``axes`` (and ``more``) show."""
    pairs = [pair for one in (axes, *more) for pair in zip(*one.get_legend_handles_labels(), strict=True)]
    figure.legend(*zip(*pairs, strict=True), loc="outside lower center", ncols=columns, columnspacing=1.2)


def save(figure: Figure, directory: Path | str, name: str) -> tuple[Path, ...]:
    """Write ``name``.png, .svg and .pdf, the same bytes every time, and clear the figure.

    Returns:
        The paths of the three files.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = tuple(directory / f"{name}.{kind}" for kind in _FORMATS)
    with applied():
        if layout := figure.get_layout_engine():
            layout.execute(figure)
            figure.set_layout_engine("none")  # laid out once, and not for every format
        figure.set_dpi(RC["savefig.dpi"])
        for path, (canvas, metadata) in zip(paths, _FORMATS.values(), strict=True):
            # Figure.savefig would draw everything twice, for layouts that depend on the format.
            getattr(canvas(figure), f"print_{path.suffix[1:]}")(path, metadata=metadata)
        figure.clear()
    return paths
