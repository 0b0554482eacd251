"""Playing a gymnasium environment with an Identifier."""

from typing import Any

import gymnasium

from fairbai.identifier import Identifier, Status
from fairbai.problems.checks import whole

MAX_STEPS = 1_000_000


def play(
    env: gymnasium.Env[Any, Any], identifier: Identifier, seed: int | None = None, max_steps: int = MAX_STEPS
) -> Status:
    """Let an identifier choose the actions of an environment until it stops.

    Each arm is an action: the first arm is the first action, whatever the labels. Rewards are told as they come. When
    an episode ends, another one begins. Observations are ignored.

    Args:
        env: Any environment with a discrete action space, with one action per arm.
        identifier: The identifier; if it has observed trials before, it continues from there.
        seed: The seed of the first reset.
        max_steps: The number of steps after which ``play`` returns even if the identifier has not stopped
            (``status.stopped`` is then False). Another call continues.

    Returns:
        The status of the identifier.

    Example:
        >>> import gymnasium
        >>> import fairbai as fb
        >>> from fairbai.environments import play
        >>> env = gymnasium.make("fairbai/WirelessCell-v0")
        >>> ident = fb.Identifier(10, delta=0.1, family=fb.Gaussian(1.0), floors=0.05)
        >>> status = play(env, ident, seed=3)
        >>> status.recommendation, bool((status.shares >= 0.05).all())
        (6, True)
    """
    first = _first_action(env, identifier)
    steps = whole("max_steps", max_steps, 1)
    actions = {label: first + arm for arm, label in enumerate(identifier.arms)}
    over = True
    for _ in range(steps):
        if identifier.stopped:
            break
        if over:
            env.reset(seed=seed)
            seed = None  # a second episode with the same seed would repeat the first
        label = identifier.ask()
        _, reward, terminated, truncated, _ = env.step(actions[label])
        identifier.tell(label, reward)
        over = terminated or truncated
    return identifier.status()


def _first_action(env: Any, identifier: Any) -> int:
    """The action of arm 0, after checking that the environment and the identifier fit each other."""
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"env must be a gymnasium environment, got {env!r}")
    if not isinstance(identifier, Identifier):
        raise ValueError(f"identifier must be an Identifier, got {identifier!r}")
    space = env.action_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise ValueError(f"env must have a Discrete action space, got {space!r}")
    if space.n != len(identifier.arms):
        raise ValueError(f"identifier must have one arm per action of env ({space.n}), got {len(identifier.arms)} arms")
    return int(space.start)
