"""From the configuration of an experiment to its Identifier. Members that older versions lack are absent by default."""

from typing import Any

from fairbai.experiment.open_trials import checked_silence
from fairbai.identifier import Identifier
from fairbai.identifier.snapshot import FIRST_VERSION
from fairbai.problems.labels import some
from fairbai.problems.short_forms import rates_of
from fairbai.service.domain.cycles import Cycles
from fairbai.stopping import DesignBased

Config = dict[str, Any]


def identifier_of(config: Config) -> Identifier:
    """A new Identifier, whose arms are numbers; a ValueError says what is wrong with a configuration."""
    return Identifier(
        arms=len(config["arms"]),
        delta=config["delta"],
        family=config["family"],
        floors=rates_of(config["floors"], config["arms"]),
        sampling=config["sampling"],
        stopping=config["stopping"],
        settle=config["settle"],
        seed=config["seed"],
        hold_trials=not is_drawn(config),
        look_every=1 if Cycles.of(config) is None else 0,
        tolerance=config.get("tolerance"),
        goal=config.get("goal", "max"),
        control=_control(config),
        max_trials=config.get("max_trials"),
    )


def completed(config: Config, identifier: Identifier) -> Config:
    """The configuration with all short forms and defaults written out."""
    silence = checked_silence(config.get("silence"), identifier.family)
    if identifier.stopping.drift_proof and (config.get("report_after") is None or silence is None):
        raise ValueError(
            f"stopping rule {identifier.stopping.kind} counts every ticket: give report_after, the age in seconds at "
            f"which a ticket without a reward counts as silent, and silence, the reward that it then counts as"
        )
    form = identifier.to_dict()
    form["floors"] = form["rates"]
    for name in ("floors", "sampling"):
        if form[name] is None:
            raise ValueError(f"{name} must not be Python code over HTTP, got kind {config[name]!r}")
    filled = {name: form[name] for name in ("family", "floors", "sampling", "stopping")}
    return {**config, **filled, **identifier.question.to_dict(config["arms"])}


def fixed(config: Config) -> Config:
    """The parts of a snapshot that never change; of the first version, without a digest: the log vouches for them."""
    names = ("delta", "family", "sampling", "stopping", "settle", "seed")
    form = {"version": FIRST_VERSION, "arms": len(config["arms"]), "rates": config["floors"]}
    form |= {name: config[name] for name in names}
    form |= {name: config[name] for name in ("tolerance", "goal", "max_trials") if name in config}
    form |= {} if "control" not in config else {"control": _control(config)}
    form |= {} if Cycles.of(config) is None else {"look_every": 0}
    return form | {"hold_trials": False} if is_drawn(config) else form


def is_drawn(config: Config) -> bool:
    """Whether the stopping rule of a configuration needs the probability of every ticket."""
    stopping = config["stopping"]
    return DesignBased.kind == (stopping.get("kind") if isinstance(stopping, dict) else stopping)


def _control(config: Config) -> int | None:
    """The number of the control, which a configuration has by its label."""
    label, arms = config.get("control"), config["arms"]
    if label is None:
        return None
    if label not in arms:
        raise ValueError(f"control must be one of the arms {some(arms)}, got {label!r}")
    found: int = arms.index(label)
    return found
