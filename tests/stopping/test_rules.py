"""Stopping rules: their levels, what they are proved for, and the families that they refuse."""

from __future__ import annotations

import math

import pytest

import fairbai as fb
from fairbai.stopping import Heuristic, KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule
from fairbai.stopping.constants import c_exp, c_g

FAMILIES = [fb.Gaussian(), fb.Gaussian([1.0, 2.0]), fb.Bernoulli(), fb.Poisson(), fb.Exponential()]
RULES = [Heuristic(), Mixture(), PairwiseGaussian(), KaufmannKoolen(), KaufmannKoolen(pairwise=False)]

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}{rule.code}")


@pytest.mark.parametrize("delta", [0.4999, 0.1, 0.05, 1e-10, 1e-300])
@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
def test_levels(delta: float, arms: int) -> None:
    union = math.log((arms - 1) / delta) if delta > 1e-299 else math.log(arms - 1) + 300 * math.log(10)
    alone = math.log(1 / delta) if delta > 1e-299 else 300 * math.log(10)
    assert Heuristic().level(delta, arms) == pytest.approx(alone, rel=1e-12)
    assert Mixture(3.0).level(delta, arms) == Mixture(7.0).level(delta, arms) == pytest.approx(union, rel=1e-12)
    assert PairwiseGaussian().level(delta, arms) == pytest.approx(2.0 * c_g(union / 2), rel=1e-12)
    assert KaufmannKoolen().level(delta, arms) == pytest.approx(2.0 * c_exp(union / 2), rel=1e-12)
    assert KaufmannKoolen(pairwise=False).level(delta, arms) == pytest.approx(arms * c_exp(alone / arms), rel=1e-12)


@rules
def test_levels_grow_as_delta_falls(rule: StoppingRule) -> None:
    levels = [rule.level(delta, 5) for delta in (0.4, 0.1, 0.01, 1e-6, 1e-30, 1e-300)]
    assert levels == sorted(levels)
    assert math.isfinite(levels[-1])


def test_popular_delta() -> None:
    """Ten arms, delta = 0.1."""
    assert KaufmannKoolen(pairwise=False).level(0.1, 10) == pytest.approx(10 * 7.25, abs=0.05)


@families
def test_what_is_proved(family: fb.Gaussian) -> None:
    assert not Heuristic().proved(family)
    assert PairwiseGaussian().proved(family) == (family.kind == "gaussian")
    assert Mixture().proved(family)
    assert KaufmannKoolen().proved(family)
    assert KaufmannKoolen(pairwise=False).proved(family)


@families
def test_default_of_an_identifier_is_proved(family: fb.Gaussian) -> None:
    ident = fb.Identifier(2, delta=0.1, family=family)
    assert ident.stopping == Mixture()
    assert ident.status().proved


@families
def test_heuristic_is_accepted_everywhere_and_says_what_it_is(family: fb.Gaussian) -> None:
    Heuristic().check(family)
    assert not fb.Identifier(2, delta=0.1, family=family, stopping=Heuristic()).status().proved
    assert "NOT proved" in (Heuristic.__doc__ or "")


@pytest.mark.parametrize("family", FAMILIES[2:], ids=lambda family: family.kind)
def test_unproved_family_is_refused(family: fb.Bernoulli) -> None:
    message = (
        f"stopping rule pairwise_gaussian is proved for gaussian arms, got {family.kind}: "
        r"use Mixture\(\), or Heuristic\(\) if no proof is needed"
    )
    with pytest.raises(ValueError, match=message):
        PairwiseGaussian().check(family)
    with pytest.raises(ValueError, match=message):
        fb.Identifier(2, delta=0.1, family=family, stopping=PairwiseGaussian())


@rules
def test_docstring_says_whether_it_is_proved(rule: StoppingRule) -> None:
    text = type(rule).__doc__ or ""
    assert "proved" in text
    assert all(kind in text.lower() for kind in rule.proved_for if len(rule.proved_for) == 1)


@rules
def test_json_form(rule: StoppingRule) -> None:
    assert StoppingRule.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize("name", ["kappa", "prior_mean"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "many", None])
def test_parameters_of_the_mixture_must_be_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, got"):
        Mixture(**{name: value})


@families
def test_mixture_takes_the_parameter_of_the_family(family: fb.Gaussian) -> None:
    assert Mixture(kappa=3.0, prior_mean=7.0).parameter(family) == (3.0 if family.kind == "gaussian" else 7.0)
