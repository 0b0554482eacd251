"""A wireless cell as a bandit: the base station serves one UE a slot, and the reward is its throughput."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from fairbai.environments.channel import Channel
from fairbai.environments.fading import Fading
from fairbai.problems.checks import Array, Numbers, frozen, number, whole
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.instance import Instance
from fairbai.problems.rates import Rate

# Where the ten UEs of the paper's scheduling experiments stand, in metres.
PAPER = (
    (159.008234, 103.072736),
    (154.702792, 136.750751),
    (118.905393, 153.138596),
    (92.776499, 154.713843),
    (73.186076, 134.877618),
    (51.997542, 112.568770),
    (67.400339, 82.140450),
    (95.805298, 57.157094),
    (125.486048, 61.036554),
    (147.467143, 74.751473),
)
NEAREST = 10.0  # metres from the station to the UEs of a random cell: path loss models do not hold closer than that
TRIES = 10_000  # places that are tried for a UE of a random cell


@dataclass(frozen=True, eq=False)
class WirelessCell:
    """One base station in the middle of a map, and UEs around it, of which one is served a slot.

    The reward of a slot is the throughput of the UE that is served, bandwidth times log2(1 + SNR), with the SNR of
    mobile-env's channel. Without fading it comes with Gaussian noise of variance 1, as in the paper's experiments.
    With fading it comes as it is: the SNR is then another one in every slot, and rewards are not Gaussian.

    Args:
        positions: Where the UEs are, in metres from a corner of the map: one row of x and y each.
        velocity: How far every UE walks in a slot, in metres; 0 by default. Moving UEs have no fixed means: what is
            said here of ``snrs``, ``means`` and ``variances`` is said of the start.
        fading: ``Rayleigh()`` or ``Rician(factor)``; none by default.

    Example:
        >>> from fairbai.environments import Rayleigh, WirelessCell
        >>> WirelessCell.paper().means.round(3)
        array([0.437, 0.318, 0.524, 0.571, 1.237, 0.745, 2.012, 1.249, 0.994,
               0.603])
        >>> WirelessCell([(120, 100), (100, 140)], fading=Rayleigh()).variances.round(3)
        array([287.286,   2.661])
    """

    positions: Array
    velocity: float = 0.0
    fading: Fading | None = None

    def __init__(self, positions: Numbers, velocity: float = 0.0, fading: Fading | None = None) -> None:
        if fading is not None and not isinstance(fading, Fading):
            raise ValueError(f"fading must be Rayleigh(), Rician(factor) or None, got {fading!r}")
        values = {
            "positions": _places(positions, self.channel.width, self.channel.height),
            "velocity": number("velocity", velocity, 0.0, 1e6, "metres a slot, from 0 to 1e6"),
            "fading": fading,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def paper(cls, velocity: float = 0.0, fading: Fading | None = None) -> Self:
        """The cell of the paper's scheduling experiments, with ten UEs."""
        return cls(np.array(PAPER), velocity, fading)

    @classmethod
    def random(cls, ues: int, seed: int = 0, velocity: float = 0.0, fading: Fading | None = None) -> Self:
        """A cell with UEs at random places, uniform where the station covers them and not closer than 10 m to it."""
        count, channel, rng = whole("ues", ues, 2), Channel(), np.random.default_rng(seed)
        return cls(np.array([_random_place(channel, rng) for _ in range(count)]), velocity, fading)

    @cached_property
    def channel(self) -> Channel:
        """The channel between the station and a place on the map."""
        return Channel()

    @property
    def ues(self) -> int:
        """How many UEs there are."""
        return len(self.positions)

    @cached_property
    def snrs(self) -> Array:
        """The SNR of every UE, averaged over fading."""
        return frozen(np.array([self.channel.snr(x, y) for x, y in self.positions]))

    @cached_property
    def means(self) -> Array:
        """The mean reward of every UE; with fading, its ergodic rate E[W log2(1 + SNR)], by quadrature."""
        if self.fading is None:
            return frozen(np.array([self.channel.rate(snr) for snr in self.snrs]))
        gains, weights = self.fading.quadrature()
        return frozen(np.array([self.faded_rate(snr, gains) @ weights for snr in self.snrs]))

    @cached_property
    def variances(self) -> Array:
        """The variance of every UE's reward: 1 without fading, else that of its rate, by quadrature."""
        if self.fading is None:
            return frozen(np.ones(self.ues))
        gains, weights = self.fading.quadrature()
        pairs = zip(self.snrs, self.means, strict=True)
        return frozen(np.array([(self.faded_rate(snr, gains) - mean) ** 2 @ weights for snr, mean in pairs]))

    def faded_rate(self, snr: float, gain: Any) -> Any:
        """The rate at gains of a UE with this mean SNR; 0 if the mean is too low for a connection."""
        if self.channel.rate(snr) == 0.0:
            return 0.0 * gain
        # SNRs may be as low as 1e-8, where log2(1 + x) would lose half of its digits
        return self.channel.bandwidth * np.log1p(snr * gain) / np.log(2.0)

    def reward(self, snr: float, rng: np.random.Generator) -> float:
        """What a UE with this mean SNR earns in a slot."""
        if self.fading is None:
            return self.channel.rate(snr) + rng.standard_normal()
        return float(self.faded_rate(snr, self.fading.sample(rng)))

    def instance(self, rates: Rate | None = None, family: Family | None = None) -> Instance:
        """The bandit problem of this cell, to solve or to simulate.

        Args:
            rates: The share of the slots that every UE is guaranteed; none by default.
            family: The reward family. Gaussian with the variances of the rewards by default, which is exact without
                fading and an approximation with it.

        Example:
            >>> import fairbai as fb
            >>> from fairbai.environments import WirelessCell
            >>> instance = WirelessCell.paper().instance(rates=fb.rates.Constant(0.05))
            >>> instance.best_arm, round(fb.solve(instance).characteristic_time, 3)
            (6, 31.743)
        """
        if family is None:
            family = Gaussian() if self.fading is None else Gaussian(self.variances)
        return Instance(self.means, family=family, rates=rates)


def _places(positions: Any, width: float, height: float) -> Array:
    """Positions that are on the map, checked."""
    try:
        places = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"positions must be numbers, got {positions!r}") from None
    if places.ndim != 2 or places.shape[0] < 2 or places.shape[1] != 2:
        raise ValueError(f"positions must be x and y of at least two UEs, got shape {places.shape}")
    inside = ((places >= 0.0) & (places <= (width, height))).all(axis=1)  # nan is not
    if not inside.all():
        ue = int(np.argmin(inside))
        where = tuple(places[ue].tolist())
        raise ValueError(f"positions must be on the map of {width:g} m x {height:g} m, got {where} for UE {ue}")
    return frozen(places)


def _random_place(channel: Channel, rng: np.random.Generator) -> Array:
    for _ in range(TRIES):
        place = rng.uniform(0.0, (channel.width, channel.height))
        far = np.hypot(*(place - channel.station)) >= NEAREST
        if far and channel.rate(channel.snr(*place)) > 0.0:
            return place
    raise RuntimeError(f"no place on the map is covered: {TRIES} were tried")
