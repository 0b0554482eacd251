"""Real tests: how many of them can be decided within their own traffic, exactly and within a tolerance.

Every test of the archive is replayed with its observed rates as the truth and its own traffic as the budget, with
floors of half an equal share and δ = 0.05. docs/reproduction.md explains what is compared.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairbai.reproduction.past import archive_charts
from fairbai.reproduction.past.archive_data import SOURCE, archive_tests
from fairbai.reproduction.past.archive_replays import (
    CHANCE,
    DELTA,
    OURS,
    TITLES,
    UNIFORM,
    WAYS,
    Bools,
    Replays,
    replayed,
)
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.simulation.summary import clopper_pearson, mean_and_ci95

REPLAYS = 4
NEED = "(log((K - 1)/δ) + 2) T*"
BOUND = "kl(δ, 1 - δ) T*"


def section(runs: int, seed: int, progress: bool) -> Section:
    """The section about ``runs`` / 2 tests, evenly spread over the archive; ``fairbai reproduce archive`` has all."""
    tests = archive_tests()
    chosen = np.unique(np.linspace(0, len(tests) - 1, min(len(tests), max(2, runs // 2))).astype(int))
    return written(replayed([tests[index] for index in chosen], REPLAYS, seed, progress))


def written(found: Replays) -> Section:
    """The section about these replays."""
    return Section(
        name="archive",
        title="Real tests: what a tolerance is worth",
        findings=_findings(found),
        tables=[_decided_table(found), _fits_table(found)],
        pictures=[
            Picture(
                "archive-decided",
                "Tests decided within their own traffic",
                f"In how many tests {BOUND} fits into the traffic (the lower bound of an exact answer; with a "
                "tolerance it is one as δ falls to 0), and in how many replays there is an answer within it, by "
                "tolerance; wrong answers are on top, with their share of the replays. "
                f"δ = {DELTA:g}, floors 1/(2K). {SOURCE}",
                archive_charts.draw_decided(found),
            ),
            Picture(
                "archive-trials",
                "How much of the traffic it takes",
                "The share of the replays that have an answer once this part of the traffic is used. "
                f"δ = {DELTA:g}, floors 1/(2K). {SOURCE}",
                archive_charts.draw_trials(found),
            ),
        ],
    )


# --- what is counted --------------------------------------------------------------------------------------------------


def way(name: str) -> int:
    """The number of a way."""
    return [one.name for one in WAYS].index(name)


def share(happened: Bools) -> tuple[float, float, float]:
    """How often something happened, with its 95 % interval.

    The tests are given and only the replays are random, so that the interval of one probability is a little too wide.
    """
    low, high = clopper_pearson(int(happened.sum()), happened.size)
    return float(happened.mean()), low, high


def _percent(happened: Bools) -> str:
    if not happened.size:
        return "-"
    value, low, high = (100.0 * part for part in share(happened))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _list(values: Sequence[str]) -> str:
    return ", ".join(values[:-1]) + f" and {values[-1]}"


def _shares(values: Sequence[float]) -> str:
    return _list(["-" if math.isnan(value) else f"{100.0 * value:.1f} %" for value in values])


def _mean(cells: Bools) -> float:
    return float(cells.mean()) if cells.size else math.nan


def _findings(found: Replays) -> list[str]:
    fits, columns = found.fits(found.needs), range(len(TITLES))

    def decided(name: str) -> str:
        return _shares([_mean(found.answered[:, way(name), column]) for column in columns])

    expected = [_mean(found.answered[fits[:, column], way(OURS), column]) for column in columns]
    errors, chance = found.wrong[:, way(OURS)], found.wrong[:, way(CHANCE)]
    answers = [chance[:, column][found.answered[:, way(CHANCE), column]] for column in columns]
    return [
        f"Where {NEED}, which is about what a proved stop needs, fits into the traffic of a test, fairbai decides "
        f"{_shares(expected)} of the replays ({_list(TITLES)}).",
        f"That is the case in {_list([f'{count}' for count in fits.sum(axis=0)])} of {len(found.tests):,} tests. "
        f"{BOUND}, the lower bound of an exact answer and, as δ falls to 0, of one within a tolerance, fits in "
        f"{_shares(found.fits(found.bounds).mean(axis=0).tolist())}.",
        f"Of all tests fairbai decides {decided(OURS)}, and uniform allocation with the same stop {decided(UNIFORM)}. "
        f"fairbai names a wrong arm in {int(errors.sum())} of {errors.size:,} replays.",
        f"A chance to win of 95 % ends {decided(CHANCE)} of the tests, and names a wrong arm in "
        f"{_shares([_mean(chance[:, column]) for column in columns])} of the replays: of its answers "
        f"{_shares([_mean(cells) for cells in answers])} are wrong.",
        _trials_finding(found, fits),
        _extent(found),
        SOURCE,
    ]


def _extent(found: Replays) -> str:
    """Which tests these are."""
    count, every = len(found.tests), len(archive_tests())
    tests = f"All {every:,} tests are" if count == every else f"{count} of {every:,} tests, evenly spread, are"
    more = "" if count == every else "; fairbai reproduce archive replays all"
    return f"{tests} replayed {found.trials.shape[-1]} times each, in every way and with every tolerance{more}."


def _trials_finding(found: Replays, fits: Bools) -> str:
    """Against uniform allocation and the bound, where a decision can be expected."""
    cells = [_cost(found, fits[:, column], column) for column in range(len(TITLES))]
    ratios, over = (_list([f"{cell[place]:.2f}" for cell in cells]) for place in (2, 0))
    return (
        f"In the tests in which {NEED} fits, fairbai takes {ratios} times the trials of uniform allocation, and {over} "
        f"times {BOUND} on average. Replays without an answer count with their traffic."
    )


def _cost(found: Replays, chosen: Bools, column: int) -> tuple[float, float, float]:
    """Trials in these tests over the bound and over the need, averages over tests; and over those of uniform."""
    if not chosen.any():
        return math.nan, math.nan, math.nan
    ours, uniform = (found.trials[chosen, way(name), column].mean(axis=1) for name in (OURS, UNIFORM))
    over = [float((ours / below[chosen, column]).mean()) for below in (found.bounds, found.needs)]
    return over[0], over[1], float(ours.sum() / uniform.sum())


# --- tables -----------------------------------------------------------------------------------------------------------


def _decided_table(found: Replays) -> Table:
    rows = []
    for column, title in enumerate(TITLES):
        for row, one in enumerate(WAYS):
            answered, wrong = found.answered[:, row, column], found.wrong[:, row, column]
            used, width = mean_and_ci95((found.trials[:, row, column] / found.traffic[:, None]).mean(axis=1))
            rows.append(
                [
                    title,
                    one.name,
                    "yes" if one.name != CHANCE else "no",
                    _percent(answered),
                    _percent(wrong),
                    _percent(wrong[answered]),
                    f"{100.0 * used:.1f} ± {100.0 * width:.1f}",
                    f"{found.trials[:, row, column].mean(axis=1).sum() / 1e6:.2f}",
                ]
            )
    title = (
        f"All {len(found.tests):,} tests: answers within the traffic and wrong answers in % of the replays, with 95 % "
        f"intervals; δ = {DELTA:g}"
    )
    header = [
        "tolerance",
        "way",
        "proved",
        "decided",
        "wrong",
        "wrong, of the answers",
        "traffic used in %",
        "trials of all tests, in millions",
    ]
    return Table("archive_decided", title, header, rows)


def _fits_table(found: Replays) -> Table:
    fits, possible = found.fits(found.needs), found.fits(found.bounds)
    rows = []
    for column, title in enumerate(TITLES):
        chosen = fits[:, column]
        rows.append(
            [
                title,
                f"{100.0 * possible[:, column].mean():.1f}",
                f"{100.0 * chosen.mean():.1f}",
                f"{int(chosen.sum())}",
                *(_percent(found.answered[chosen, way(name), column]) for name in (OURS, UNIFORM)),
                f"{int(found.wrong[chosen, way(OURS), column].sum())}",
                *(f"{value:.2f}" for value in _cost(found, chosen, column)),
            ]
        )
    header = [
        "tolerance",
        f"{BOUND} fits, % of the tests",
        f"{NEED} fits, %",
        "tests",
        "decided of these in %",
        "uniform",
        "wrong",
        f"trials over {BOUND}",
        f"trials over {NEED}",
        "trials over uniform",
    ]
    return Table("archive_fits", f"The tests in which {NEED} fits into the traffic", header, rows)
