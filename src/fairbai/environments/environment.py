"""The wireless cell as a gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np

from fairbai.environments.cell import WirelessCell
from fairbai.environments.channel import Walk
from fairbai.problems.checks import Array

NAME = "fairbai/WirelessCell-v0"


class WirelessCellEnv(gymnasium.Env[Array, np.int64]):
    """A base station that serves one UE per slot: the action is the UE, the reward its throughput in the slot.

    The observation is the positions of the UEs in metres, one row per UE; ``info["mean"]`` is the rate of the served UE
    without noise and fading. Episodes do not end by themselves; ``gymnasium.make`` can limit them with
    ``max_episode_steps``. A reset returns moving UEs to their initial positions.

    Args:
        cell: The cell; the paper's by default.

    Example:
        >>> import gymnasium, fairbai.environments
        >>> env = gymnasium.make("fairbai/WirelessCell-v0")
        >>> positions, info = env.reset(seed=1)
        >>> positions, reward, terminated, truncated, info = env.step(6)
        >>> round(reward, 3), round(info["mean"], 3)
        (2.358, 2.012)
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as gymnasium declares it

    def __init__(self, cell: WirelessCell | None = None) -> None:
        if cell is not None and not isinstance(cell, WirelessCell):
            raise ValueError(f"cell must be a WirelessCell, got {cell!r}")
        self.cell = WirelessCell.paper() if cell is None else cell
        self.action_space = gymnasium.spaces.Discrete(self.cell.ues)
        far_corner = np.tile([self.cell.channel.width, self.cell.channel.height], (self.cell.ues, 1))
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(far_corner), far_corner, dtype=np.float64)
        self._positions = self.cell.positions
        self._walk: Walk | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start again; with a seed, the following slots are reproducible."""
        super().reset(seed=seed, options=options)
        self._positions = self.cell.positions
        if self.cell.velocity > 0.0:
            walk_seed = int(self.np_random.integers(2**32))
            self._walk = Walk(self._positions, self.cell.velocity, walk_seed)
        return self._positions.copy(), {}

    def step(self, action: np.int64) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Serve a UE for one slot; then all UEs move on."""
        if not self.action_space.contains(action):
            raise ValueError(f"action must be a UE from 0 to {self.cell.ues - 1}, got {action!r}")
        snr = self.cell.snrs[action] if self._walk is None else self.cell.channel.snr(*self._positions[action])
        reward = self.cell.reward(snr, self.np_random)
        if self._walk is not None:
            self._positions = self._walk.step()
        return self._positions.copy(), reward, False, False, {"mean": self.cell.channel.rate(snr)}
