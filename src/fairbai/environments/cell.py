"""A wireless cell as a bandit: the base station serves one UE per slot, and the reward is its throughput."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from fairbai.environments.channel import Channel
from fairbai.environments.fading import Fading
from fairbai.problems.checks import Array, Numbers, frozen, number, whole
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.instance import Instance
from fairbai.problems.short_forms import RateForm, shares_given

# Positions of the ten UEs of the paper's scheduling experiments, in metres.
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
NEAREST = 10.0  # minimum distance from the station in a random cell, in metres: path loss models do not hold below
MAX_TRIES = 10_000  # positions tried for each UE of a random cell


@dataclass(frozen=True, eq=False)
class WirelessCell:
    """One base station in the middle of a map and UEs around it, one of which is served per slot.

    The reward of a slot is the throughput of the UE that is served, bandwidth times log2(1 + SNR), with the SNR of
    mobile-env's channel. Without fading, Gaussian noise of variance 1 is added, as in the paper's experiments. With
    fading, nothing is added: the SNR varies from slot to slot, and rewards are not Gaussian.

    Args:
        positions: The positions of the UEs, in metres from a corner of the map: one row of x and y per UE.
        velocity: How far each UE moves per slot, in metres; 0 by default. Moving UEs have no fixed means: ``snrs``,
            ``means`` and ``variances`` are then those at the start.
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
            "velocity": number("velocity", velocity, 0.0, 1e6, "metres per slot, from 0 to 1e6"),
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
        """A cell with UEs at random positions, uniform over the covered area but at least 10 m from the station."""
        count, channel, rng = whole("ues", ues, 2), Channel(), np.random.default_rng(seed)
        return cls(np.array([_random_place(channel, rng) for _ in range(count)]), velocity, fading)

    @cached_property
    def channel(self) -> Channel:
        """The channel between the station and a position on the map."""
        return Channel()

    @property
    def ues(self) -> int:
        """The number of UEs."""
        return len(self.positions)

    @cached_property
    def snrs(self) -> Array:
        """The SNR of each UE, averaged over fading."""
        return frozen(np.array([self.channel.snr(x, y) for x, y in self.positions]))

    @cached_property
    def means(self) -> Array:
        """The mean reward of each UE; with fading, its ergodic rate E[W log2(1 + SNR)], by quadrature."""
        if self.fading is None:
            return frozen(np.array([self.channel.rate(snr) for snr in self.snrs]))
        gains, weights = self.fading.quadrature()
        return frozen(np.array([self.faded_rate(snr, gains) @ weights for snr in self.snrs]))

    @cached_property
    def variances(self) -> Array:
        """The variance of each UE's reward: 1 without fading, otherwise that of its rate, by quadrature."""
        if self.fading is None:
            return frozen(np.ones(self.ues))
        gains, weights = self.fading.quadrature()
        pairs = zip(self.snrs, self.means, strict=True)
        return frozen(np.array([(self.faded_rate(snr, gains) - mean) ** 2 @ weights for snr, mean in pairs]))

    def faded_rate(self, snr: float, gain: Any) -> Any:
        """The rate of a UE with this mean SNR at the given gains; 0 if the mean is too low for a connection."""
        if self.channel.rate(snr) == 0.0:
            return 0.0 * gain
        # SNRs can be as low as 1e-8, where log2(1 + x) would lose half of its digits
        return self.channel.bandwidth * np.log1p(snr * gain) / np.log(2.0)

    def reward(self, snr: float, rng: np.random.Generator) -> float:
        """The reward of one slot for a UE with this mean SNR."""
        if self.fading is None:
            return self.channel.rate(snr) + rng.standard_normal()
        return float(self.faded_rate(snr, self.fading.sample(rng)))

    def instance(self, floors: RateForm = None, family: Family | None = None, rates: RateForm = None) -> Instance:
        """The bandit problem of this cell, to solve or to simulate.

        Args:
            floors: The share of the slots that each UE is guaranteed; none by default.
            family: The reward family. Gaussian with the variances of the rewards by default, which is exact without
                fading and an approximation with it.
            rates: Another name of ``floors``, for floors that are learned.

        Example:
            >>> import fairbai as fb
            >>> from fairbai.environments import WirelessCell
            >>> instance = WirelessCell.paper().instance(floors=0.05)
            >>> instance.best_arm, round(fb.solve(instance).characteristic_time, 3)
            (6, 31.743)
        """
        if family is None:
            family = Gaussian() if self.fading is None else Gaussian(self.variances)
        return Instance(self.means, family=family, floors=shares_given(floors, rates))


def _places(positions: Any, width: float, height: float) -> Array:
    """The positions, checked to be on the map."""
    try:
        places = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"positions must be numbers, got {positions!r}") from None
    if places.ndim != 2 or places.shape[0] < 2 or places.shape[1] != 2:
        raise ValueError(f"positions must be rows of x and y for at least two UEs, got shape {places.shape}")
    inside = ((places >= 0.0) & (places <= (width, height))).all(axis=1)  # False for nan
    if not inside.all():
        ue = int(np.argmin(inside))
        where = tuple(places[ue].tolist())
        raise ValueError(f"positions must be on the map of {width:g} m x {height:g} m, got {where} for UE {ue}")
    return frozen(places)


def _random_place(channel: Channel, rng: np.random.Generator) -> Array:
    for _ in range(MAX_TRIES):
        place = rng.uniform(0.0, (channel.width, channel.height))
        far = np.hypot(*(place - channel.station)) >= NEAREST
        if far and channel.rate(channel.snr(*place)) > 0.0:
            return place
    raise RuntimeError(f"found no covered position on the map in {MAX_TRIES:,} tries")
