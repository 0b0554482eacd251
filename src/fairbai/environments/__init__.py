"""The wireless cell on mobile-env, and identifiers that play gymnasium environments.

Importing this package registers the environment ``fairbai/WirelessCell-v0``.
"""

try:
    import gymnasium

    from fairbai.environments.cell import WirelessCell
    from fairbai.environments.drawing import draw_cell
    from fairbai.environments.environment import NAME, WirelessCellEnv
    from fairbai.environments.fading import Fading, Rayleigh, Rician
    from fairbai.environments.playing import play
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("gymnasium", "mobile_env"):
        raise
    message = (
        "fairbai.environments needs mobile-env and gymnasium: pip install '.[wireless]' in a clone of the repository"
    )
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["Fading", "Rayleigh", "Rician", "WirelessCell", "WirelessCellEnv", "draw_cell", "play"]

if NAME not in gymnasium.registry:  # registering a second time, after a reload, would warn
    gymnasium.register(NAME, entry_point="fairbai.environments.environment:WirelessCellEnv")
