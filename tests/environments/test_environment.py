"""The cell as a gymnasium environment."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from fairbai.environments import Rayleigh, Rician, WirelessCell, WirelessCellEnv
from tests.processes import run_python

CELLS = {
    "paper": WirelessCell.paper(),
    "random": WirelessCell.random(25, seed=1),
    "moving": WirelessCell.paper(velocity=1.5),
    "fading": WirelessCell.paper(fading=Rayleigh()),
    "both": WirelessCell.random(3, velocity=20.0, fading=Rician(3.0)),
}
cells = pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)


def made(cell: WirelessCell) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("fairbai/WirelessCell-v0", cell=cell)


def slots(env: gymnasium.Env[Any, Any], seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and positions when the UEs are served in turns."""
    observation, _ = env.reset(seed=seed)
    rewards, positions = [], [observation]
    for slot in range(count):
        observation, reward, *_ = env.step(slot % env.action_space.n)
        rewards.append(reward)
        positions.append(observation)
    return np.array(rewards), np.array(positions)


@cells
def test_check_env_has_nothing_to_say(cell: WirelessCell) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(cell).unwrapped)


def test_default_is_the_cell_of_the_paper() -> None:
    env = gymnasium.make("fairbai/WirelessCell-v0").unwrapped
    assert isinstance(env, WirelessCellEnv)
    assert (env.cell.positions == WirelessCell.paper().positions).all()
    assert env.spec is not None
    assert env.spec.id == "fairbai/WirelessCell-v0"


@pytest.mark.system
def test_known_to_gymnasium_without_an_import() -> None:
    """The module before the colon is imported by gymnasium."""
    code = "import gymnasium; print(gymnasium.make('fairbai.environments:fairbai/WirelessCell-v0').action_space)"
    assert run_python("-c", code) == "Discrete(10)\n"


@cells
def test_same_seed_same_slots(cell: WirelessCell) -> None:
    env = made(cell)
    (rewards, positions), (again, places) = slots(env, seed=5), slots(env, seed=5)
    assert (rewards == again).all()
    assert (positions == places).all()
    assert (rewards != slots(env, seed=6)[0]).any()
    assert (positions[0] == cell.positions).all()


def test_ues_stand_still_by_default() -> None:
    _, positions = slots(made(CELLS["paper"]), seed=1)
    assert (positions == positions[0]).all()


def test_moving_ues_walk_at_their_velocity_and_their_rates_change() -> None:
    cell = CELLS["moving"]
    env = made(cell)
    _, positions = slots(env, seed=1, count=60)
    steps = np.hypot(*np.moveaxis(np.diff(positions, axis=0), -1, 0))
    assert steps.max() <= 1.5 + 1e-9
    assert np.median(steps) == pytest.approx(1.5)
    assert positions.min() >= 0.0
    assert positions.max() <= 200.0
    moved = WirelessCell(positions[-1])
    assert (moved.means != cell.means).all()
    assert env.step(0)[-1]["mean"] == moved.means[0]


def test_walks_differ_from_episode_to_episode() -> None:
    env = made(CELLS["moving"])
    env.reset(seed=1)
    first = env.step(0)[0]
    env.reset()
    assert (env.step(0)[0] != first).any()


def test_step_tells_the_mean_and_never_ends() -> None:
    env = made(CELLS["paper"])
    env.reset(seed=1)
    for ue, mean in enumerate(CELLS["paper"].means):
        _, _, terminated, truncated, info = env.step(ue)
        assert (terminated, truncated, info) == (False, False, {"mean": mean})


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="cell must be a WirelessCell, got 10"):
        WirelessCellEnv(10)  # type: ignore[arg-type]
    env = WirelessCellEnv()
    env.reset(seed=1)
    for action in (10, -1, 0.5, "UE"):
        with pytest.raises(ValueError, match=f"action must be a UE from 0 to 9, got {action!r}"):
            env.step(action)  # type: ignore[arg-type]
