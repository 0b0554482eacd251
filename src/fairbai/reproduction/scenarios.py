"""The instances of the paper's experiments, each declared once.

The paper is Russo and Vannella, "Fair Best Arm Identification with Fixed Confidence". All rewards are Gaussian with
variance 1. Floors are either known beforehand (*prespecified*) or depend on the means (*theta_dependent*), and they
require trials either where the search needs them anyway (*agonistic*) or where it does not (*antagonistic*).

Instances are built on first use because ``rates.blended`` has to solve them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from fairbai.problems import Instance, rates
from fairbai.problems.checks import Array

Table = Literal["synthetic", "scheduling"]
Constraints = Literal["prespecified", "theta_dependent"]
Side = Literal["agonistic", "antagonistic"]
Model = Literal["linear", "equal gaps", "scheduling"]

SIDES: tuple[Side, Side] = ("agonistic", "antagonistic")
CONSTRAINTS = {"prespecified": "pre-specified floors", "theta_dependent": "θ-dependent floors"}

# The data rate of each user of the wireless cell when served alone; see fairbai.environments.
CELL_MEANS = (
    0.4371131578979562,
    0.3181990531355569,
    0.5244807784740037,
    0.5707506829307624,
    1.2368434591166806,
    0.7450111181763259,
    2.012212469344499,
    1.2491273988996408,
    0.9936107181837053,
    0.6028449345238708,
)

_ALPHA = {"agonistic": 0.9, "antagonistic": 0.1}
_LEARNED = {"agonistic": rates.InverseGap, "antagonistic": rates.Gap}


@dataclass(frozen=True, eq=False)
class PaperScenario:
    """One of the paper's instances and where it appears.

    Attributes:
        table: The results table that contains it; None if only the appendix does.
        constraints: Whether the floors are known beforehand or depend on the means.
        side: Whether the floors help the search for the best arm or hinder it.
        model: The shape of the means.
        instance: The instance itself.
    """

    table: Table | None
    constraints: Constraints
    side: Side
    model: Model
    instance: Instance

    @property
    def name(self) -> str:
        """A name for files: model, constraints and side."""
        return f"{self.model}-{self.constraints}-{self.side}".replace(" ", "-").replace("_", "-")

    @property
    def title(self) -> str:
        """The same as a heading."""
        return f"{self.model.capitalize()}, {CONSTRAINTS[self.constraints]}, {self.side}"


def linear_means(arms: int, top: float) -> Array:
    """Evenly spaced means from 0 to ``top``; the last arm is the best."""
    return np.linspace(0.0, top, arms)


def equal_gap_means(arms: int, gap: float) -> Array:
    """All means are 0 except the last, which is ``gap``."""
    means = np.zeros(arms)
    means[-1] = gap
    return means


@cache
def table_scenarios() -> tuple[PaperScenario, ...]:
    """The eight scenarios of the paper's two results tables, in the order of their columns."""
    ten = linear_means(10, 10 / 2.5)
    fifteen = linear_means(15, 5.0)
    cell = np.array(CELL_MEANS)
    return (
        *(_prespecified("synthetic", "linear", ten, 0.9, side) for side in SIDES),
        *(_theta_dependent("synthetic", "linear", fifteen, 0.7, side) for side in SIDES),
        *(_prespecified("scheduling", "scheduling", cell, 0.9, side) for side in SIDES),
        *(_theta_dependent("scheduling", "scheduling", cell, 0.9, side) for side in SIDES),
    )


@cache
def equal_gap_scenarios() -> tuple[PaperScenario, ...]:
    """The two scenarios with equal gaps, which appear only in the appendix."""
    means = equal_gap_means(10, 10 / 5)
    return tuple(_prespecified(None, "equal gaps", means, 0.99, side) for side in SIDES)


def select(
    model: Model | None = None, constraints: Constraints | None = None, side: Side | None = None
) -> tuple[PaperScenario, ...]:
    """The paper's ten scenarios, or those that match every given argument."""
    asked = {"model": model, "constraints": constraints, "side": side}
    return tuple(
        one
        for one in (*table_scenarios(), *equal_gap_scenarios())
        if all(value is None or getattr(one, name) == value for name, value in asked.items())
    )


def _prespecified(table: Table | None, model: Model, means: Array, p0: float, side: Side) -> PaperScenario:
    rate = rates.blended(Instance(means), p0, _ALPHA[side])
    return PaperScenario(table, "prespecified", side, model, Instance(means, rates=rate))


def _theta_dependent(table: Table | None, model: Model, means: Array, p0: float, side: Side) -> PaperScenario:
    return PaperScenario(table, "theta_dependent", side, model, Instance(means, rates=_LEARNED[side](p0)))
