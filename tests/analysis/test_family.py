"""Which family the rewards of a log are taken for, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.analysis.family import chosen, guess, moments
from fairbai.analysis.log import Names, read


def found(rewards: Any) -> Any:
    arms = np.tile(["a", "b"], len(rewards) // 2)
    return moments(read({"arm": arms, "reward": rewards}, Names("arm", "reward")))


def totals(**columns: Any) -> Any:
    names = {"trials": "n", "sum": "s", **({"squares": "q"} if "q" in columns else {})}
    return moments(read({"arm": ["a", "b"], **columns}, Names("arm", **names)))


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("rewards", "family", "reason"),  # the proof needs that it is this family, which only 0/1 rewards show
    [
        (RNG.integers(0, 2, 100), fb.Bernoulli(), "because all rewards are 0 or 1"),
        (RNG.poisson(2.0, 2000), fb.Poisson(), "because all rewards are whole numbers from 0, with a variance of"),
        (RNG.negative_binomial(1, 0.2, 2000), None, "unlike Poisson counts; up to "),
        (RNG.integers(1, 6, 2000), None, "unlike Poisson counts"),
        (
            RNG.exponential(30.0, 2000),
            None,
            "because some rewards are neither 0 nor 1 nor counts; those of an arm are skewed",
        ),
        (
            RNG.normal(30.0, 4.0, 2000),
            None,
            "because some rewards are neither 0 nor 1 nor counts; that they are normal",
        ),
        (-RNG.integers(0, 3, 200), None, "because some rewards are neither"),
    ],
)
def test_guesses(rewards: Any, family: Any, reason: str) -> None:
    choice = guess(found(rewards))
    assert choice.guessed
    assert reason in choice.reason
    if family is None:
        assert isinstance(choice.family, fb.Gaussian)
        assert "observed, not proved" in choice.reason
    else:
        assert choice.family == family
    assert choice.proved == isinstance(choice.family, fb.Bernoulli)
    assert choice.proved or "observed, not proved" in choice.reason


def test_moments_are_those_of_numpy() -> None:
    rewards = np.random.default_rng(1).normal(1e6, 2.0, 1000)
    one = found(rewards)
    assert one.means.tolist() == pytest.approx([rewards[::2].mean(), rewards[1::2].mean()])
    assert one.variances.tolist() == pytest.approx([rewards[::2].var(ddof=1), rewards[1::2].var(ddof=1)])
    assert one.variance == pytest.approx((one.squares.sum()) / 998)
    sums = [rewards[::2].sum(), rewards[1::2].sum()]
    small = rewards - 1e6
    whole = totals(
        n=[500, 500], s=[small[::2].sum(), small[1::2].sum()], q=[(small[::2] ** 2).sum(), (small[1::2] ** 2).sum()]
    )
    assert whole.variances.tolist() == pytest.approx(one.variances.tolist())
    assert totals(n=[500, 500], s=sums).squares is None


def test_totals_of_clicks() -> None:
    """Sums alone do not show that rewards are 0 or 1; with the sums of squares they do."""
    with pytest.raises(ValueError, match="declare low and high, or a family, such as 'bernoulli' if every reward is 0"):
        guess(totals(n=[10, 20], s=[3, 4]))
    with pytest.raises(ValueError, match=r"declare low and high, or a family$"):
        guess(totals(n=[10, 20], s=[30, 40]))
    assert chosen(totals(n=[10, 20], s=[3, 4]), "bernoulli").proved
    assert guess(totals(n=[10, 20], s=[3, 4], q=[3, 4])).family == fb.Bernoulli()
    counts = np.random.default_rng(2).poisson(3.0, (2, 500))
    many = totals(n=[500, 500], s=counts.sum(axis=1), q=(counts**2).sum(axis=1))
    assert guess(many).family == fb.Poisson()


def test_what_is_declared_is_taken() -> None:
    one = found(np.random.default_rng(3).integers(0, 2, 100))
    assert chosen(one, "poisson").family == fb.Poisson()
    assert chosen(one, {"kind": "gaussian", "variance": 4.0}).family == fb.Gaussian(4.0)
    assert chosen(one, fb.Exponential()).reason == "as declared"
    assert chosen(one, None, 0, 5).family == fb.Bounded(0, 5)
    assert chosen(one, "bounded", 0, 5).family == fb.Bounded(0, 5)
    zeros = chosen(one, "gaussian")
    assert not zeros.proved
    assert not zeros.guessed
    assert "% in an arm are 0, unlike normal rewards" in zeros.reason
    normal = found(np.random.default_rng(4).normal(0.0, 1.0, 100))
    for family in ("gaussian", fb.Gaussian(variance=None), fb.Gaussian(variance=None, guess=2.0)):
        gaussian = chosen(normal, family)
        assert gaussian.proved
        assert gaussian.family == (fb.Gaussian(variance=None) if family == "gaussian" else family)


@pytest.mark.parametrize("law", ["lognormal", "exponential", "gumbel"])
def test_skewed_rewards_are_not_called_normal(law: str) -> None:
    """Declared or not, and on either side; normal rewards are, however often one looks."""
    rng = np.random.default_rng(5)
    for sign in (1.0, -1.0):
        skewed = chosen(found(sign * getattr(rng, law)(size=2000)), "gaussian")
        assert not skewed.proved
        assert "are skewed, unlike normal rewards, so what follows is observed, not proved" in skewed.reason
    assert all(chosen(found(rng.normal(3.0, 2.0, size)), "gaussian").proved for size in (4, 10, 30, 100) * 200)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: chosen(found([0, 1]), "weibull"),
            "family must be one of bernoulli, bounded, .*, gaussian, ",
        ),
        (lambda: chosen(found([0, 1]), "poisson", 0, 1), "low and high are for bounded rewards, got family 'poisson'"),
        (lambda: chosen(found([0, 1]), None, 0), "low and high must be given together"),
        (lambda: guess(found([2.5, 2.5])), "rewards must differ: all those of an arm are the same, such as 2.5"),
        (lambda: guess(totals(n=[10, 20], s=[3.5, 4])), "family must be given if only trials and sums are known"),
        (
            lambda: chosen(totals(n=[10, 20], s=[3.5, 4]), "gaussian"),
            "squares must be given if the variances are unknown",
        ),
        (lambda: totals(n=[10, 20], s=[10, 20], q=[1, 100]), r"squares must be at least sum\*\*2 / trials, 10 for 'a'"),
    ],
)
def test_wrong_input(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
