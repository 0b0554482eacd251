"""From the oracle's problems to fairbai's, and what an allocation costs in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairbai as fb
from tests.cases import FAMILIES as ALL_FAMILIES
from tests.oracle import extended
from tests.oracle.instances import OracleInstance

Floats = NDArray[np.float64]

FAMILIES = {kind: family for kind, family in ALL_FAMILIES.items() if kind != "bounded"}
"""Those with an allocation problem of their own: bounded arms have that of Bernoulli or Gaussian ones."""


def near(value: Any, rel: float) -> Any:
    """``pytest.approx`` without its absolute tolerance, which would accept anything as a time of 1e-12."""
    return pytest.approx(value, rel=rel, abs=0.0)


def family_of(question: OracleInstance) -> Any:
    return fb.Gaussian(question.variance) if question.family == "gaussian" else FAMILIES[question.family]()


def as_instance(question: OracleInstance) -> fb.Instance:
    return fb.Instance(question.means, family_of(question), fb.rates.Constant(question.floors))


def slopes(question: OracleInstance, weights: Floats) -> tuple[Floats, Floats]:
    """d(θ_b, m_a) and d(θ_a, m_a) of every arm but the best: by how much its cost grows with w_b and with w_a."""
    best = question.best
    pairs = extended.pairs_of(
        question.family,
        np.array([question.means], dtype=np.longdouble),
        question.variances.astype(np.longdouble)[None, :],
        np.array([best]),
    )
    ratios = np.delete(weights, best).astype(np.longdouble) / np.longdouble(weights[best])
    to_best, to_other = extended.divergences(pairs, ratios[None, :])
    return to_best[0].astype(float), to_other[0].astype(float)


def costs(question: OracleInstance, weights: Floats) -> Floats:
    """C_a(w) of every arm but the best; T(w) is 1 over the least of them."""
    to_best, to_other = slopes(question, weights)
    return weights[question.best] * to_best + np.delete(weights, question.best) * to_other
