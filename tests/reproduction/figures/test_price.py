"""The curves of the price figures, against closed forms and ``price_of_fairness``."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fairbai as fb
from fairbai.reproduction.figures import price as figures
from fairbai.reproduction.scenarios import equal_gap_means, linear_means


def curve(axes: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (line,) = (line for line in axes.get_lines() if line.get_label() == label)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def labelled(figure: Figure) -> bool:
    """Every axis has a name, its own or that of the axis it shares."""
    named = [axes.get_ylabel() for axes in figure.axes], [axes.get_xlabel() for axes in figure.axes]
    return len(figure.legends) == 1 and any(named[0]) and any(named[1])


def exact(means: np.ndarray, floors: np.ndarray) -> fb.PriceOfFairness:
    return fb.price_of_fairness(fb.Instance(means, rates=fb.rates.Constant(floors)))


def test_prices_know_both_terms_of_the_printed_bound() -> None:
    """The counterexample of docs/errata.md: two arms, one without a floor."""
    found = figures.prices(np.array([1.0, 0.0]), np.array([[0.99, 0.0]]))
    np.testing.assert_allclose(found.ratio, 25.25252525, rtol=1e-8)
    np.testing.assert_allclose([found.spare, found.bound], 100.0)
    np.testing.assert_allclose([found.smallest, found.printed], 0.50505051, rtol=1e-7)


def test_hindering_floors() -> None:
    figure = figures.hindering_floors()
    (axes,) = figure.axes
    p0, ratio = curve(axes, figures.PRICE)
    assert p0[0] > 0.0
    assert p0[-1] == pytest.approx(0.99 / 30)
    means = linear_means(30, 1.0)
    for index in (0, 30, 59):
        price = exact(means, 30 * p0[index] * (1 - means) / np.sum(1 - means))
        assert ratio[index] == pytest.approx(price.ratio, rel=1e-9)
        assert price.upper_bound == pytest.approx(1 / (1 - 30 * p0[index]), rel=1e-9)  # no floor for the best arm
    spare = curve(axes, f"{figures.SPARE}, here the correct bound")[1]
    np.testing.assert_allclose(spare, 1 / (1 - 30 * p0), rtol=1e-9)
    assert np.all(ratio <= spare)
    printed = curve(axes, figures.PRINTED)[1]
    np.testing.assert_allclose(printed, np.minimum(1 / (1 - 30 * p0), 29 / (60 * p0)), rtol=1e-9)
    assert np.any(ratio > printed)
    assert labelled(figure)


def test_equal_gaps_over_the_number_of_arms() -> None:
    figure = figures.equal_gaps()
    left, right = figure.axes
    arms, ratio = curve(left, f"{figures.PRICE} (left)")
    assert (arms[0], arms[-1]) == (2, 100)
    np.testing.assert_allclose(ratio, curve(left, "closed form (left)")[1], rtol=1e-9)
    share = 1 / (np.sqrt(arms - 1) + arms - 1)
    floor = (share + 1 / arms) / 2
    np.testing.assert_allclose(curve(right, r"$1/p_{\min}$ (right)")[1], 1 / floor, rtol=1e-9)
    np.testing.assert_allclose(curve(right, f"{figures.SPARE} (right)")[1], 1 / (1 - (arms - 1) * floor), rtol=1e-9)
    assert arms[ratio.argmax()] in (18, 19, 20, 21, 22)
    assert left.get_ylabel() != right.get_ylabel() != ""
    assert labelled(figure)


def test_two_regimes() -> None:
    figure = figures.two_regimes()
    (axes,) = figure.axes
    share, ratio = curve(axes, figures.PRICE)
    np.testing.assert_allclose(ratio, 1.0, rtol=1e-9)
    np.testing.assert_allclose(curve(axes, figures.BOUND)[1], 1.0, rtol=1e-9)
    np.testing.assert_allclose(curve(axes, figures.SPARE)[1], 1 / (1 - share), rtol=1e-9)
    np.testing.assert_allclose(curve(axes, figures.SMALLEST)[1], 12 / (10 * share), rtol=1e-9)
    assert labelled(figure)


def check_scaling(figure: Figure, linear: np.ndarray, equal: np.ndarray) -> None:
    """Six panels; ``linear`` and ``equal`` are the patterns of the floors for ten arms, with sum 1."""
    assert len(figure.axes) == 6
    assert labelled(figure)
    for axes, arms in zip(figure.axes, [10, 20, 30] * 2, strict=True):
        p, ratio = curve(axes, figures.PRICE)
        np.testing.assert_allclose(curve(axes, figures.SPARE)[1], 1 / (1 - arms * p), rtol=1e-9)
        assert np.all((p > 0) & (p < 1 / arms))
        assert np.all(ratio <= curve(axes, figures.BOUND)[1] * (1 + 1e-12))
        assert np.all(curve(axes, figures.BOUND)[1] <= 1 / (1 - arms * p) * (1 + 1e-12))
        assert f"K={arms}" in axes.get_title()
    models = {0: (linear_means(10, 1.0), linear), 3: (equal_gap_means(10, 0.1), equal)}
    for panel, (means, pattern) in models.items():
        p, ratio = curve(figure.axes[panel], figures.PRICE)
        bound = curve(figure.axes[panel], figures.BOUND)[1]
        for index in (5, 59):
            price = exact(means, 10 * p[index] * pattern)
            assert (ratio[index], bound[index]) == pytest.approx((price.ratio, price.upper_bound), rel=1e-9)


def test_scaling_with_equal_floors() -> None:
    figure = figures.scaling_equal_floors()
    check_scaling(figure, np.full(10, 0.1), np.full(10, 0.1))
    for axes in figure.axes:  # the printed bound fails in every panel
        assert np.any(curve(axes, figures.PRICE)[1] > curve(axes, figures.PRINTED)[1])


def test_scaling_with_gap_floors() -> None:
    figure = figures.scaling_gap_floors()
    linear = np.append(1 + 9 / np.arange(9, 0, -1), 1.0)
    equal = np.array([11.0] * 9 + [1.0])
    check_scaling(figure, linear / linear.sum(), equal / equal.sum())
    for row, fails in ((figure.axes[:3], True), (figure.axes[3:], False)):
        for axes in row:
            above = curve(axes, figures.PRICE)[1] > curve(axes, figures.PRINTED)[1] * (1 + 1e-12)
            assert np.any(above) == fails


def test_the_pattern_leaves_the_best_arm_the_least() -> None:
    np.testing.assert_allclose(figures.inverse_gap_pattern(np.array([0.0, 0.5, 1.0])), [2.0, 3.0, 1.0])
