"""Drawing a cell."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.environments.cell import WirelessCell
from fairbai.problems.checks import Array, Numbers, array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours: distinguishable with any colour vision, and when printed in grey.
SHARE, FLOOR, STATION, COVERAGE = "#56B4E9", "#D55E00", "#000000", "#F0F0F0"
AREA = 2000.0  # square points for a disc that stands for all slots; times the root of the number of UEs
MAX_LABELS = 24  # UEs; more labels would overlap


def draw_cell(
    cell: WirelessCell,
    axes: "Axes",
    shares: Numbers | None = None,
    floors: Numbers | None = None,
    legend: bool = True,
) -> None:
    """Draw the base station, its coverage and the UEs, with their shares of the slots as the areas of discs.

    Args:
        cell: The cell.
        axes: The Matplotlib axes to draw on.
        shares: Each UE's share of the slots, drawn as the area of a disc.
        floors: Each UE's guaranteed share, drawn as the area of a ring: a disc that fills its ring meets the floor.
        legend: Whether to put a legend at the lower edge.
    """
    from matplotlib.patches import Circle

    given = {"shares": _parts("shares", shares, cell.ues), "floors": _parts("floors", floors, cell.ues)}
    x, y = cell.positions.T
    area = _area(cell)
    coverage = Circle(cell.channel.station, cell.channel.radius(), facecolor=COVERAGE, edgecolor="#808080", zorder=0)
    axes.add_patch(coverage).set_label("coverage")
    axes.scatter(*cell.channel.station, marker="^", s=140, color=STATION, zorder=3, label="base station")
    if given["shares"] is not None:
        axes.scatter(x, y, s=area * given["shares"], color=SHARE, zorder=1, label="share of the slots (area)")
    if given["floors"] is not None:
        rings = axes.scatter(x, y, s=area * given["floors"], edgecolors=FLOOR, linewidths=1.6, zorder=2)
        rings.set(facecolors="none", label="floor (area)")
    axes.scatter(x, y, s=12, color=STATION, zorder=3, label="UE")
    if cell.ues <= MAX_LABELS:
        for ue in range(cell.ues):
            _label(cell, axes, ue, given)
    _frame(cell, axes)
    if legend:
        _legend(axes)


def _parts(name: str, values: Any, ues: int) -> Array | None:
    """Shares of the slots, checked; None if there are none."""
    if values is None:
        return None
    parts = array(name, values, ues)
    if (parts < 0.0).any() or (parts > 1.0).any():
        raise ValueError(f"{name} must be from 0 to 1, got {parts}")
    return parts


def _area(cell: WirelessCell) -> float:
    """The area of a disc that stands for all slots; larger for many UEs, whose shares are small."""
    return AREA * float(np.sqrt(cell.ues))


def _label(cell: WirelessCell, axes: "Axes", ue: int, given: dict[str, Array | None]) -> None:
    """The UE's number, share and floor, on the side of its disc that faces away from the station."""
    from matplotlib.patheffects import withStroke

    place = cell.positions[ue]
    away = place - cell.channel.station
    away = away / (np.hypot(*away) or 1.0)
    largest = max((float(parts[ue]) for parts in given.values() if parts is not None), default=0.0)
    distance = np.sqrt(_area(cell) * largest / np.pi) + 4.0  # from the centre of the disc, in points
    lines = [f"UE {ue}"]
    for name, parts in given.items():
        if parts is not None:
            lines.append(f"{name[:-1]} {parts[ue]:.1%}")
    axes.annotate(
        "\n".join(lines),
        tuple(place),
        tuple(distance * away),
        textcoords="offset points",
        ha="left" if away[0] > 0.4 else "right" if away[0] < -0.4 else "center",
        va="bottom" if away[1] > 0.4 else "top" if away[1] < -0.4 else "center",
        fontsize=8,
        zorder=4,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],  # readable across the edge of the coverage
    )


def _frame(cell: WirelessCell, axes: "Axes") -> None:
    """The map with its units."""
    axes.set(xlim=(0.0, cell.channel.width), ylim=(0.0, cell.channel.height), aspect="equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")


def _legend(axes: "Axes") -> None:
    """At the lower edge of the map, which the station does not cover."""
    legend = axes.legend(loc="lower center", ncols=3, fontsize=9)
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([60.0])  # discs as large as a share would hide the text
