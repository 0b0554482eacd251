"""The real tests: what the file holds, and the question that each of them becomes."""

from __future__ import annotations

import math
from importlib.resources import files

import numpy as np
import pytest
from scipy.optimize import minimize

import fairbai as fb
from fairbai.reproduction.past import archive_data
from fairbai.reproduction.past.archive_data import RealTest, archive_tests, usual_rate


def test_the_file_is_whole() -> None:
    tests = archive_tests()
    assert len(tests) == len({test.name for test in tests}) == 2491
    assert sum(test.arms for test in tests) == 11_571
    assert sum(test.traffic for test in tests) == 41_109_316
    assert {test.arms for test in tests} == {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14}
    assert all((test.clicks <= test.impressions).all() for test in tests)
    first = tests[0]
    assert (first.name, first.week) == ("51436079220cb800020008b8", 201304)
    assert first.impressions[:4].tolist() == [2787, 2655, 2518, 2593]
    assert first.clicks[:4].tolist() == [90, 84, 97, 35]


def test_its_licence_is_beside_it_and_named() -> None:
    notice = files("fairbai.reproduction").joinpath("data", "NOTICE.md").read_text(encoding="utf-8")
    for text in (notice, archive_data.SOURCE):
        assert "CC BY 4.0" in text
        assert "Upworthy Research Archive" in text
        assert "10.1038/s41597-021-00934-7" in text
        assert all(name in text for name in ("Matias", "Munger", "Aubin Le Quere", "Ebersole"))


def test_the_question_of_a_test() -> None:
    test = RealTest("one", 201401, np.array([100.0, 200.0, 100.0, 100.0]), np.array([5.0, 8.0, 0.0, 1.0]))
    instance = test.instance("20%")
    assert instance.means.tolist() == [0.05, 0.04, 0.005, 0.01]  # half a click where there is none
    assert instance.floors.tolist() == [0.125] * 4
    assert instance.acceptable == (0, 1)
    assert instance.family.kind == "bernoulli"
    assert test.traffic == 500


def test_the_usual_rate() -> None:
    assert usual_rate() == pytest.approx(0.01495, abs=1e-5)


def least_cost(weights: np.ndarray, means: np.ndarray, named: int, stretch: float) -> float:
    """The least cost of a tie, over the rivals and a fine grid of ties."""
    low, high = means.min() / stretch / 2.0, means.max()
    own = np.geomspace(low, high, 20_001)

    def divergence(mean: float, other: np.ndarray) -> np.ndarray:
        return mean * np.log(mean / other) + (1.0 - mean) * np.log((1.0 - mean) / (1.0 - other))

    def cost(rival: int) -> float:
        other = np.maximum(stretch * own, means[rival])  # a rival that is better than the tie need not move
        return float(
            (weights[named] * divergence(means[named], own) + weights[rival] * divergence(means[rival], other)).min()
        )

    return min(cost(rival) for rival in range(means.size) if rival != named)


@pytest.mark.parametrize(("tolerance", "stretch"), [(None, 1.0), ("20%", 1.25), ("30%", 1.0 / 0.7)])
def test_the_time_of_a_test_by_a_general_optimiser(tolerance: str | None, stretch: float) -> None:
    """A grid of ties and a search without derivatives, over shares above the floors and over all right answers."""
    test = next(one for one in archive_tests() if one.arms == 3)
    instance = test.instance(tolerance)
    named = [instance.best_arm] if tolerance is None else instance.acceptable

    def shares(free: np.ndarray) -> np.ndarray:
        grown = np.exp(np.append(free, 0.0))
        return instance.floors + 0.5 * grown / grown.sum()

    def best(arm: int) -> float:
        starts = [np.zeros(2), np.array([1.0, -1.0]), np.array([-1.0, 1.0])]
        found = [
            minimize(lambda x: -1e4 * least_cost(shares(x), instance.means, arm, stretch), start, method="Nelder-Mead")
            for start in starts
        ]
        return float(max(-1e-4 * one.fun for one in found))

    expected = 1.0 / max(best(arm) for arm in named)
    assert fb.solve(instance).characteristic_time == pytest.approx(expected, rel=2e-3)
    assert math.isfinite(expected)
