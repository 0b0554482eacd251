"""The conformance suite for families: ours pass it, and broken ones are caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from fairbai.testing import check_family
from tests.cases import families


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("family", [*families(0.5, [1.0, 2.0, 0.5, 1.0]), fb.Gaussian(None, guess=0.5)], ids=repr)
def test_our_families_keep_their_promises(family: Family) -> None:
    check_family(family)


def test_a_short_check_will_do_where_noise_is_small() -> None:
    check_family(fb.Gaussian(0.05), draws=2000)


@dataclass(frozen=True, eq=False)
class Squared(fb.Exponential):
    """Rewards whose squares are exponential: a Rayleigh law, as a family of somebody else."""

    def statistic(self, reward):
        return super().statistic(reward) ** 2

    def sample(self, means, rng, size=None):
        return np.sqrt(super().sample(means, rng, size))


@pytest.mark.slow_without_jit
def test_a_users_own_family_passes_and_is_covered_by_the_proofs() -> None:
    check_family(Squared())
    ident = fb.Identifier(2, delta=0.05, family=Squared())
    assert ident.status().proved
    again = fb.Identifier.from_dict(ident.to_dict())
    assert again.family == Squared()


@dataclass(frozen=True, eq=False)
class Shifted(fb.Gaussian):
    """Samples that are too large."""

    def sample(self, means, rng, size=None):
        return super().sample(means, rng, size) + 0.1


@dataclass(frozen=True, eq=False)
class Wide(fb.Gaussian):
    """Samples that vary more than the divergence says."""

    def sample(self, means, rng, size=None):
        return np.asarray(means) + 2.0 * (super().sample(means, rng, size) - np.asarray(means))


@dataclass(frozen=True, eq=False)
class Flat(fb.Gaussian):
    """A divergence that is the same everywhere."""

    def divergence(self, mean, other, arm=0):
        return 0.0


@dataclass(frozen=True, eq=False)
class Shrinking(fb.Gaussian):
    """A divergence that falls."""

    def divergence(self, mean, other, arm=0):
        return -super().divergence(mean, other, arm)


@pytest.mark.parametrize(
    ("family", "message"),
    [(Shifted(), "have the means"), (Wide(), "curvature"), (Flat(), "curvature"), (Shrinking(), "must grow")],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_broken_families_are_caught(family: Family, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_family(family, draws=4000)
