"""Bad input: a clear error, and nothing has changed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fairbai as fb

GAUSSIAN = fb.Gaussian(1.0)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delta": 0.0}, r"delta must be in \(0, 1/2\), got 0.0"),
        ({"delta": 0.5}, r"delta must be in \(0, 1/2\), got 0.5"),
        ({"delta": -0.1}, r"delta must be in \(0, 1/2\), got -0.1"),
        ({"delta": NAN}, r"delta must be in \(0, 1/2\), got nan"),
        ({"delta": "small"}, r"delta must be in \(0, 1/2\), got 'small'"),
        ({"delta": None}, r"delta must be in \(0, 1/2\), got None"),
        ({"arms": 1}, "arms must be at least two, got 1"),
        ({"arms": 0}, "arms must be at least two, got 0"),
        ({"arms": -3}, "arms must be at least two, got"),
        ({"arms": ["a"]}, "arms must be at least two, got 1"),
        ({"arms": []}, "arms must be at least two, got 0"),
        ({"arms": 2.5}, "arms must be .*, got 2.5"),
        ({"arms": None}, "arms must be .*, got None"),
        ({"arms": ["a", "b", "a"]}, "arms must have different labels, got 'a' twice"),
        ({"arms": ["a", None]}, "arms must have labels that are strings or whole numbers, got None"),
        ({"arms": ["a", ["b"]]}, r"arms must have labels that are strings or whole numbers, got \['b'\]"),
        ({"family": "gaussian"}, 'gaussian rewards need their variance, .* "variance": 4.0}, or "unknown" in place of'),
        (
            {"family": {"kind": "gaussian"}},
            "gaussian rewards need their variance, .* for rewards that have limits",
        ),
        ({"family": {"kind": "linear", "features": [[1.0], [2.0], [3.0]]}}, "linear rewards need their variance"),
        ({"rates": 0.1, "floors": 0.1}, "floors and rates are two names for the same shares: give one of them"),
        ({"report_after": "1d"}, "report_after must be a number of trials, got '1d': only the service has a clock"),
        ({"look_every": "7d"}, "look_every must be a number of trials, got '7d': only the service has a clock"),
        ({"family": None}, 'family must be given: "bernoulli" for clicks, .* "gaussian", with its variance, for'),
        (
            {"family": "normal"},
            "family must be one of bernoulli, bounded, .*, gaussian, .*, got 'normal'",
        ),
        ({"family": fb.Bernoulli}, "family must be a Family, its kind or its JSON form, got <class"),
        ({"family": fb.Gaussian([1.0, 2.0])}, r"variance must have one entry per arm \(3\), got 2"),
        ({"rates": "even"}, "floors must be one of .*, got 'even'"),
        ({"rates": True}, "floors must be shares such as .*, got True"),
        ({"rates": 0.4}, "3 floors of 40 % add up to 120 %"),
        ({"rates": {"a": 0.1}}, "a floor must be for an arm of 0, 1, 2, got 'a'"),
        ({"rates": fb.rates.Constant([0.1, 0.2])}, r"floors must have one entry per arm \(3\), got 2"),
        ({"rates": fb.rates.Constant(0.4)}, "3 floors of 40 % add up to 120 %"),
        ({"rates": {"kind": "bounded", "groups": [{"arms": ["a"], "floor": 0.1}]}}, "hold arms of 0, 1, 2, got 'a'"),
        ({"sampling": "fair"}, "sampling must be one of .*fair_top_two, .*, got 'fair'"),
        ({"stopping": 3.0}, "stopping must be a StoppingRule, its kind or its JSON form, got 3.0"),
        (
            {"stopping": fb.stopping.PairwiseGaussian(), "family": fb.Poisson()},
            "is proved for gaussian arms, got poisson",
        ),
        ({"seed": -1}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got -1"),
        ({"seed": 2**63}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got 9223372036854775808"),
        ({"seed": 1.5}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got 1.5"),
    ],
    ids=str,
)
def test_configuration(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.Identifier(**{"arms": 3, "delta": 0.1, "family": fb.Gaussian(1.0), **wrong})


@pytest.mark.parametrize("seed", [0, 2**63 - 1, np.int64(5)])
def test_seeds_at_the_ends(seed: int) -> None:
    assert fb.Identifier(3, delta=0.1, family=fb.Gaussian(), sampling=fb.sampling.UniformFair(), seed=seed).ask(9)[
        :3
    ] == [0, 1, 2]


def running(family: Any = GAUSSIAN) -> fb.Identifier:
    """Three arms; a and b have one trial that waits for its reward, c was never assigned."""
    rates, rule = fb.rates.Constant([0.5, 0.5, 0.0]), fb.sampling.FairTrackAndStop("cumulative", "policy")
    ident = fb.Identifier(["a", "b", "c"], delta=0.1, family=family, rates=rates, sampling=rule)
    assert ident.ask(4) == ["a", "b", "a", "b"]
    ident.tell(["a", "b"], [1.0, 1.0])
    return ident


class Unchanged:
    """Checks that an experiment is as it was, and that it still works."""

    def __init__(self, ident: fb.Identifier) -> None:
        self.ident = ident
        self.before = json.dumps(ident.to_dict())

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        assert json.dumps(self.ident.to_dict()) == self.before


@pytest.mark.parametrize(
    ("arm", "reward", "message"),
    [
        ("d", 1.0, "arm must be one of 'a', 'b', 'c', got 'd'"),
        (0, 1.0, "arm must be one of 'a', 'b', 'c', got 0"),
        (None, 1.0, "arm must be one of 'a', 'b', 'c', got None"),
        ({}, 1.0, "arm must be one of 'a', 'b', 'c', got {}"),
        ("a", NAN, "reward must be finite, got nan"),
        ("a", INF, "reward must be finite, got inf"),
        ("a", -INF, "reward must be finite, got -inf"),
        ("a", "much", "reward must be a number, got 'much'"),
        ("a", "1", "reward must be a number, got '1'"),
        ("a", None, "reward must be a number, got None"),
        ("a", [1.0], r"reward must be a number, got \[1.0\]"),
        ("c", 1.0, "arm 'c' has no pending trials, got 1 reward"),
        (["a", "a"], [1.0, 1.0], "arm 'a' has 1 pending trial, got 2 rewards"),
        (["a", "b", "d"], [1.0, 1.0, 1.0], "arm must be one of 'a', 'b', 'c', got 'd'"),
        (["a", "b"], [1.0, NAN], "reward must be finite, got nan"),
        (["a", "b"], [1.0], r"rewards must be as many as arms \(2\), got 1"),
        (["a"], [1.0, 2.0], r"rewards must be as many as arms \(1\), got 2"),
        (["a", "b"], 1.0, "reward.* must be"),
        (["b", "c"], [1.0, 1.0], "arm 'c' has no pending trials, got 1 reward"),
        (["a", "b", "b"], [1.0, 1.0, 1.0], "arm 'b' has 1 pending trial, got 2 rewards"),
    ],
    ids=str,
)
def test_tell(arm: Any, reward: Any, message: str) -> None:
    ident = running()
    with Unchanged(ident), pytest.raises(ValueError, match=message):
        ident.tell(arm, reward)
    ident.tell(["a", "b"], [1.0, 0.5])
    assert ident.status().observed.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("family", "reward", "message"),
    [
        (fb.Bernoulli(), 0.5, "reward of a bernoulli arm must be 0 or 1, got 0.5"),
        (fb.Bernoulli(), -1, "reward of a bernoulli arm must be 0 or 1, got -1"),
        (fb.Poisson(), 1.5, "reward of a poisson arm must be a whole number from 0, got 1.5"),
        (fb.Poisson(), -2, "reward of a poisson arm must be a whole number from 0, got -2"),
        (fb.Exponential(), -0.1, "reward of an exponential arm must be positive, got -0.1"),
        (fb.Exponential(), 0.0, "reward of an exponential arm must be positive, got 0.0"),
    ],
)
def test_reward_that_the_family_cannot_produce(family: Any, reward: float, message: str) -> None:
    ident = running(family)
    with Unchanged(ident), pytest.raises(ValueError, match=message):
        ident.tell("a", reward)
    with Unchanged(ident), pytest.raises(ValueError, match=message):
        ident.tell(["b", "a"], [1.0, reward])


def test_rewards_whose_sum_is_not_finite() -> None:
    ident = running()
    with Unchanged(ident), pytest.raises(ValueError, match=r"reward must be less than 1e\+150 in size, got 1.7e\+308"):
        ident.tell("a", 1.7e308)
    assert not ident.decided


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", [1], NAN, True])
def test_ask(n: Any) -> None:
    ident = running()
    with Unchanged(ident), pytest.raises(ValueError, match="n must be a whole number from 1, got "):
        ident.ask(n)


def test_ask_after_the_stop() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian())
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, {"a": 2.0, "b": 0.0}[arm])
    with Unchanged(ident):
        for n in (None, 1, 5):
            with pytest.raises(RuntimeError, match="the experiment has stopped: 'a' is the answer"):
                ident.ask(n)
    with Unchanged(ident), pytest.raises(ValueError, match="arm 'a' has no pending trials"):
        ident.tell("a", 1.0)


NONSENSE = {
    "negative": (lambda means: means - 10.0, ValueError, "rates returned by the custom function must not be negative"),
    "past one": (
        lambda means: 0.6,
        ValueError,
        "custom function must sum to at most 1: 3 floors of 60 % add up to 180 %",
    ),
    "nan": (lambda means: means * NAN, ValueError, "rates returned by the custom function must be finite, got nan"),
    "length": (lambda means: [0.1, 0.1], ValueError, "rates returned by .* must have one entry per arm \\(3\\), got 2"),
    "text": (lambda means: "a lot", ValueError, "rates returned by the custom function must be numbers"),
    "nothing": (lambda means: None, ValueError, "rates returned by the custom function must be"),
    "error": (lambda means: 1 / 0, ZeroDivisionError, "division by zero"),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_custom_rates_that_return_nonsense_in_the_middle(kind: str) -> None:
    """The reward that they fail at was not told; once they are well again, it can be."""
    function, error, message = NONSENSE[kind]
    ill = False

    def rates(means: np.ndarray) -> Any:
        return function(means) if ill else 0.1

    ident = fb.Identifier(3, delta=1e-9, family=fb.Gaussian(), rates=fb.rates.Custom(rates))
    for _ in range(20):
        arm = ident.ask()
        ident.tell(arm, float(arm))
    arms = ident.ask(2)
    ill = True
    for arm, reward in ((arms[0], 1.0), (arms, [1.0, 2.0])):
        with Unchanged(ident), pytest.raises(error, match=message):
            ident.tell(arm, reward)
    ill = False
    ident.tell(arms, [1.0, 2.0])
    assert ident.status().observed.sum() == 22


@dataclass(frozen=True, eq=False)
class Weak(fb.sampling.SamplingRule):
    """Chooses well for a while."""

    fairness = "none"
    converges_to = "none"
    answer: Any = 3
    after: int = 5

    def choose(self, situation: fb.sampling.Situation) -> Any:
        if situation.assigned.sum() < self.after:
            return int(situation.assigned.argmin())
        if self.answer == "error":
            raise ZeroDivisionError("weak")
        return self.answer


@pytest.mark.parametrize("answer", [3, -1, 0.0, True, None, "a", "error"])
@pytest.mark.parametrize("n", [None, 3])
def test_custom_rule_that_chooses_nonsense_in_the_middle(answer: Any, n: int | None) -> None:
    """In a batch too: arms that were chosen before the error reach nobody, and so must not count."""
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), sampling=Weak(answer, after=5 if n is None else 7))
    ident.ask(5)
    error, message = (
        (ZeroDivisionError, "weak") if answer == "error" else (ValueError, "weak must choose an arm from 0 to 2")
    )
    with Unchanged(ident), pytest.raises(error, match=message):
        ident.ask(n)
