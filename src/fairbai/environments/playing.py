"""An Identifier at the controls of a gymnasium environment."""

from typing import Any

import gymnasium

from fairbai.identifier import Identifier, Status
from fairbai.problems.checks import whole

MOST_STEPS = 1_000_000


def play(
    env: gymnasium.Env[Any, Any], identifier: Identifier, seed: int | None = None, max_steps: int = MOST_STEPS
) -> Status:
    """Let an identifier choose the actions of an environment until it has stopped.

    Every arm is an action: the first arm is the first action, whatever their labels are. Rewards are told as they
    come. An episode that ends is followed by another one. Observations are not used.

    Args:
        env: Any environment with a discrete action space, of one action an arm.
        identifier: What chooses; it may have begun before, and goes on from there.
        seed: Of the first reset.
        max_steps: After that many steps ``play`` returns though the identifier has not stopped: ``status.stopped``
            tells. Another call goes on.

    Returns:
        The status of the identifier.

    Example:
        >>> import gymnasium
        >>> import fairbai as fb
        >>> from fairbai.environments import play
        >>> env = gymnasium.make("fairbai/WirelessCell-v0")
        >>> ident = fb.Identifier(10, delta=0.1, rates=fb.rates.Constant(0.05))
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
    """The action of arm 0, of an environment and an identifier that fit each other."""
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"env must be a gymnasium environment, got {env!r}")
    if not isinstance(identifier, Identifier):
        raise ValueError(f"identifier must be an Identifier, got {identifier!r}")
    space = env.action_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise ValueError(f"env must have a Discrete action space, got {space!r}")
    if space.n != len(identifier.arms):
        raise ValueError(f"identifier must have one arm an action of env ({space.n}), got {len(identifier.arms)} arms")
    return int(space.start)
