"""mobile-env's channel and movement, with its default settings: the only module that imports it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from mobile_env.core.base import MComCore
from mobile_env.core.entities import BaseStation, UserEquipment

from fairbai.problems.checks import Array


class Channel:
    """The channel from a base station in the middle of the map to a UE at some position.

    mobile-env rounds positions down to whole metres. Its path loss model is Okumura-Hata.
    """

    def __init__(self) -> None:
        config: dict[str, Any] = MComCore.default_config()
        self.width, self.height = float(config["width"]), float(config["height"])
        self.station = self.width / 2, self.height / 2
        self._station = BaseStation(0, self.station, **config["bs"])
        self._settings = config["ue"]
        self._model = config["channel"](**config["channel_params"])
        self.bandwidth = float(self._station.bw)

    def snr(self, x: float, y: float) -> float:
        """The signal-to-noise ratio of a UE at this position, averaged over fading."""
        user = UserEquipment(0, **self._settings)  # a new one, because threads may share a channel
        user.x, user.y = x, y
        return float(self._model.snr(self._station, user))

    def rate(self, snr: float) -> float:
        """Bandwidth times log2(1 + SNR); 0 if the SNR is too low for a connection."""
        return float(self._model.datarate(self._station, UserEquipment(0, **self._settings), snr))

    def radius(self) -> int:
        """The largest distance in whole metres at which a UE is connected."""
        x, y = self.station
        distances = np.arange(1, int(np.hypot(self.width, self.height)))
        covered = [self.rate(self.snr(x + distance, y)) > 0.0 for distance in distances]
        return int(distances[covered].max(initial=0))


class Walk:
    """UEs that move as in mobile-env: each straight to a random position on the map, then to the next.

    Args:
        positions: The positions of the UEs, one row of x and y per UE.
        velocity: Metres per step.
        seed: The seed of the positions that the UEs move to.
    """

    def __init__(self, positions: Array, velocity: float, seed: int) -> None:
        config: dict[str, Any] = MComCore.default_config()
        user = config["ue"] | {"velocity": velocity}
        self._users = [UserEquipment(number, **user) for number in range(len(positions))]
        self._place(positions)
        self._movement = config["movement"](**config["movement_params"], seed=seed)
        self._movement.reset()

    def step(self) -> Array:
        """Move every UE and return the new positions."""
        self._place(self._movement.move(user) for user in self._users)
        return np.array([(user.x, user.y) for user in self._users])

    def _place(self, positions: Iterable[Any]) -> None:
        for user, (x, y) in zip(self._users, positions, strict=True):
            user.x, user.y = float(x), float(y)
