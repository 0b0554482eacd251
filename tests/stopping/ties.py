"""The one-sided mixtures of docs/stopping.md in plain NumPy, and their least product over all ties of two arms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp

STEPS = np.arange(-14, 9)
WEIGHTS = 1.0 / (2.0**STEPS + 2.0 ** (-STEPS / 2.0))
WEIGHTS /= WEIGHTS.sum()


@dataclass
class Arm:
    """What is known of an arm."""

    count: float
    mean: float
    variance: float = 1.0


@dataclass
class Ties:
    """Two arms, of which ``best`` looks better, and the parameters of the rule."""

    kind: str
    best: Arm
    other: Arm
    kappa: float
    prior_mean: float
    alpha: float = 0.0
    arms: int = 2

    def log_mixture(self, side: int, arm: Arm, theta: np.ndarray) -> np.ndarray:
        """log U (side 1) or log D (side -1) at means ``theta``; for exponential arms these are 1 / mean."""
        typical = {
            "gaussian": arm.variance,
            "bernoulli": 0.25,
            "bounded": 0.25,
            "poisson": self.prior_mean,
            "exponential": 1.0,
        }
        largest = 30.0 / math.sqrt(arm.variance) if self.kind == "gaussian" else 30.0
        tilt = side * np.minimum(2.0 ** (STEPS / 2.0) / math.sqrt(self.kappa * typical[self.kind]), largest)[:, None]
        count, total, theta = arm.count, arm.count * arm.mean, np.atleast_1d(theta)[None, :]
        if self.kind == "gaussian":
            values = tilt * (total - count * theta) - count * tilt**2 * arm.variance / 2.0
        elif self.kind in ("bernoulli", "bounded"):
            values = tilt * total - count * np.log1p(theta * np.expm1(tilt))
        elif self.kind == "poisson":
            values = tilt * total - count * theta * np.expm1(tilt)
        else:
            values = -count * tilt - np.expm1(-tilt) * total * theta
        return logsumexp(values, b=WEIGHTS[:, None], axis=0)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """log D_a + log((1 - α) U_b + α (K - 1)) at a tie."""
        up = self.log_mixture(1, self.best, theta)
        if self.alpha > 0.0:
            up = np.logaddexp(math.log1p(-self.alpha) + up, math.log(self.alpha * (self.arms - 1)))
        return up + self.log_mixture(-1, self.other, theta)

    def place(self, u: np.ndarray) -> np.ndarray:
        """The whole domain, from u = -100 to 100, dense where the two means are."""
        if self.kind == "gaussian":
            middle, gap = (self.best.mean + self.other.mean) / 2.0, self.best.mean - self.other.mean
            return middle + gap * np.sinh(0.35 * np.asarray(u))
        return expit(u) if self.kind in ("bernoulli", "bounded") else np.exp(u)

    def least(self) -> float:
        """By a grid over the whole domain, with its closed ends, and a search between the neighbours of the best."""
        grid = np.linspace(-100.0, 100.0, 2001)
        values = self.value(self.place(grid))
        at = int(np.argmin(values))
        ends = {"bernoulli": [0.0, 1.0], "bounded": [0.0, 1.0], "poisson": [0.0], "exponential": [0.0], "gaussian": []}[
            self.kind
        ]
        if (at == 0 and not ends) or (at == grid.size - 1 and len(ends) < 2):
            return -math.inf  # it falls for ever
        found = minimize_scalar(
            lambda u: float(self.value(self.place(u))[0]),
            bounds=(grid[max(at - 1, 0)], grid[min(at + 1, grid.size - 1)]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return min([float(found.fun), float(values[at]), *(float(self.value(np.array([end]))[0]) for end in ends)])
