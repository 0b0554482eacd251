"""Small environments, to play with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

MEANS = [0.0, 2.0, 0.5]


class Bandit(gymnasium.Env[np.int64, np.int64]):
    """Normal rewards; episodes last ``length`` steps, and actions are counted from ``start``."""

    def __init__(self, start: int = 0, length: int = 10**9, truncates: bool = False) -> None:
        self.action_space = gymnasium.spaces.Discrete(len(MEANS), start=start)
        self.observation_space = gymnasium.spaces.Discrete(1)
        self.start, self.length, self.truncates = start, length, truncates
        self.seeds: list[int | None] = []
        self.actions: list[int] = []
        self._left = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.int64, dict]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self._left = self.length
        return np.int64(0), {}

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, dict]:
        assert self._left > 0, "the episode is over"
        assert self.action_space.contains(action)
        self._left -= 1
        self.actions.append(int(action))
        over = self._left == 0
        reward = MEANS[action - self.start] + self.np_random.standard_normal()
        return np.int64(0), reward, over and not self.truncates, over and self.truncates, {}


class Continuous(Bandit):
    """An environment whose actions are not discrete."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gymnasium.spaces.Box(0.0, 1.0)
