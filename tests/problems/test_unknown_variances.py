"""``Gaussian(variance=None)``: its forms, its guess, and what it checks."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN
from fairbai.problems import Family


@pytest.mark.parametrize(
    ("family", "form"),
    [
        (fb.Gaussian(None), {"kind": "gaussian", "variance": None}),
        (fb.Gaussian(None, guess=4.0), {"kind": "gaussian", "variance": None, "guess": 4.0}),
        (fb.Gaussian(None, guess=[1.0, 4.0]), {"kind": "gaussian", "variance": None, "guess": [1.0, 4.0]}),
        (fb.Gaussian(), {"kind": "gaussian", "variance": 1.0}),
    ],
    ids=repr,
)
def test_json_form(family: fb.Gaussian, form: dict[str, Any]) -> None:
    assert family.to_dict() == form
    assert Family.from_dict(json.loads(json.dumps(form))) == family
    assert hash(Family.from_dict(form)) == hash(family)
    assert family.code == (GAUSSIAN if family.variance is not None else GAUSSIAN_UNKNOWN)
    assert family.unknown_variance == (family.variance is None)


def test_toml_has_no_null() -> None:
    assert Family.from_dict({"kind": "gaussian", "variance": "unknown"}) == fb.Gaussian(None)


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (fb.Gaussian(2.0), "Gaussian(variance=2.0)"),
        (fb.Gaussian(None), "Gaussian(variance=None)"),
        (fb.Gaussian(None, guess=3.0), "Gaussian(variance=None, guess=3.0)"),
    ],
)
def test_repr(family: fb.Gaussian, text: str) -> None:
    assert repr(family) == text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variance": 1.0, "guess": 1.0}, r"guess is for unknown variances \(variance=None\), got variance 1.0"),
        ({"variance": None, "guess": 0.0}, "guess must be positive, got 0.0"),
        ({"variance": None, "guess": [1.0, -2.0]}, "guess must be positive, got -2.0 for arm 1"),
        ({"variance": None, "guess": "much"}, "guess must be "),
        ({"variance": "none"}, "variance must be "),
        ({"variance": math.nan}, "variance must be "),
    ],
)
def test_bad_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.Gaussian(**settings)


def test_one_guess_per_arm_must_fit_the_arms() -> None:
    with pytest.raises(ValueError, match=r"^guess must "):
        fb.Instance([1.0, 0.5, 0.0], fb.Gaussian(None, guess=[1.0, 2.0]))


def test_divergence_is_that_of_the_closest_variance() -> None:
    family, variances = fb.Gaussian(None, guess=[1.0, 4.0]), np.exp(np.linspace(-3.0, 5.0, 20_001))
    for arm, own in enumerate((1.0, 4.0)):
        to_each = 0.5 * (np.log(variances / own) + (own + 3.0**2) / variances - 1.0)
        assert family.divergence(1.0, 4.0, arm) == pytest.approx(float(to_each.min()), rel=1e-6)


def test_an_experiment_needs_no_guess_and_does_not_read_it() -> None:
    rng, answers = np.random.default_rng(0), []
    rewards = rng.normal([1.0, 0.0], 0.5, size=(100, 2))
    for family in (fb.Gaussian(None), fb.Gaussian(None, guess=[1e6, 1e-6])):
        ident, arms = fb.Identifier(2, 0.05, family), []
        for row in rewards:
            if ident.stopped:
                break
            arms.append(ident.ask())
            ident.tell(arms[-1], row[arms[-1]])
        status = ident.status()
        answers.append((arms, status.glr, status.threshold, status.proved, ident.variances.tolist()))
    assert answers[0] == answers[1]
    assert answers[0][3]


def test_variances_are_those_of_the_rewards() -> None:
    ident, rewards = fb.Identifier(["a", "b"], 0.1, fb.Gaussian(None)), np.array([1e4, 1e4 + 1.0, 1e4 + 3.0])
    assert ident.variances.tolist() == [0.0, 0.0]
    ident.ask(2)
    ident.tell("a", rewards[0])
    ident.tell_batch([2, 0], [rewards[1:].sum(), 0.0], [(rewards[1:] ** 2).sum(), 0.0])
    assert ident.variances[0] == pytest.approx(rewards.var(), rel=1e-6)  # of a batch the squares have few digits left
    assert fb.Identifier(2, 0.1, fb.Gaussian([1.0, 4.0])).variances.tolist() == [1.0, 4.0]
    assert fb.Identifier(2, 0.1, "bernoulli").variances.tolist() == [1.0, 1.0]
