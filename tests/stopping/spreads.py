"""The mixtures for unknown variances of docs/stopping.md in plain NumPy, and their least product over a dense grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

STEPS = np.arange(-24, 9)
WEIGHTS = 1.0 / (2.0**STEPS + 2.0 ** (-STEPS / 2.0))
WEIGHTS /= WEIGHTS.sum()
SHRINK_STEPS = np.arange(-24, 11, 2)
SHRINK_WEIGHTS = 1.0 / (2.0**SHRINK_STEPS + 2.0 ** (-SHRINK_STEPS / 5.0))
SHRINK_WEIGHTS = np.append(0.8, 0.2 * SHRINK_WEIGHTS / SHRINK_WEIGHTS.sum())
CONSTANT = 0.04


@dataclass
class Arm:
    """What is known of an arm: its rewards, their mean and their mean squared deviation."""

    count: float
    mean: float
    variance: float = 1.0

    def log_u(self, kappa: float, side: int, theta: np.ndarray, sigma: np.ndarray, two_sided: bool) -> np.ndarray:
        """log U for side 1 and log D for side -1, of broadcast means and sigmas."""
        p = side * (self.mean - theta) / sigma
        if two_sided:
            return 0.5 * self.count**2 / (self.count + kappa) * p**2 - 0.5 * math.log1p(self.count / kappa)
        tilts = np.minimum(2.0 ** (STEPS / 2.0) / math.sqrt(kappa), 30.0).reshape(-1, *[1] * p.ndim)
        weights = WEIGHTS.reshape(tilts.shape)
        return logsumexp(self.count * (tilts * p - tilts**2 / 2.0), b=weights, axis=0)

    def log_v(self, kappa: float, sigma: np.ndarray) -> np.ndarray:
        """log V."""
        t = np.append(0.0, np.minimum(1.5 * 2.0**SHRINK_STEPS / kappa, 64.0)).reshape(-1, *[1] * sigma.ndim)
        gain = (self.count - 1.0) * np.log1p(t) - t / (1.0 + t) * math.log(self.count)
        values = 0.5 * (gain - t * self.count * self.variance / sigma**2)
        return logsumexp(values, b=SHRINK_WEIGHTS.reshape(t.shape), axis=0)


@dataclass
class Pair:
    """Two arms, of which ``best`` looks better, and the parameters of the rule."""

    best: Arm
    other: Arm
    kappa: float = 5.0
    alpha: float = 0.0
    arms: int = 2
    two_sided: bool = False

    def numbers(self, side: int) -> tuple[float, float]:
        """What U V is multiplied with, and what is added: for ``best`` if side is 1, for the other if it is -1."""
        constant = 0.0 if self.two_sided else CONSTANT
        if side == -1:
            return 1.0 - constant, constant
        return (1.0 - self.alpha) * (1.0 - constant), (1.0 - self.alpha) * constant + self.alpha * (self.arms - 1)

    def part(self, side: int, ties: np.ndarray) -> np.ndarray:
        """What an arm contributes at least at each of these ties, over 600 sigmas."""
        arm, (share, rest) = self.best if side == 1 else self.other, self.numbers(side)
        sigmas = math.sqrt(arm.variance) * np.exp(np.linspace(-6.0, 3.0, 600))
        value = arm.log_u(self.kappa, side, ties[:, None], sigmas, self.two_sided) + arm.log_v(self.kappa, sigmas)
        return np.logaddexp(math.log(share) + value.min(axis=1), math.log(rest) if rest > 0.0 else -math.inf)

    def least(self) -> float:
        """Over 121 ties, from a gap below the means to a gap above them."""
        gap = self.best.mean - self.other.mean
        ties = np.linspace(self.other.mean - gap, self.best.mean + gap, 121)
        return float((self.part(1, ties) + self.part(-1, ties)).min())

    def at_the_ends(self) -> float:
        """If nothing but the constant is counted of an arm for ties beyond its own mean."""
        if self.two_sided:
            return math.inf
        above = math.log(self.numbers(1)[1]) + self.part(-1, np.array([self.best.mean]))[0]
        return float(min(above, math.log(self.numbers(-1)[1]) + self.part(1, np.array([self.other.mean]))[0]))
