"""What the proof of an answer assumes of the rewards, for the sentences that say "proved"."""

from fairbai.problems.families.bounded import Bounded
from fairbai.problems.families.family import Family
from fairbai.problems.families.gaussian import Gaussian
from fairbai.problems.sentences import listed

NORMAL = "rewards vary no more than normal ones of the declared variance"
LAWS = {
    "poisson": "rewards are Poisson counts",
    "exponential": "rewards are exponential waiting times",
    "linear": NORMAL,
    "factorial": NORMAL,
}
KEEP = "every arm keeps its mean"
DRAWN = "arms are shown as drawn", "what a trial counts as does not depend on arms drawn after it"


def assumption(family: Family) -> str:
    """What must be true of every reward; empty where nothing else can be told.

    Example:
        >>> assumption(Bounded(0.0, 400.0))
        'every reward is from 0 to 400'
    """
    if isinstance(family, Bounded):
        return f"every reward is from {family.low:,g} to {family.high:,g}"
    if isinstance(family, Gaussian):
        return "rewards are normal, which revenue is not" if family.unknown_variance else NORMAL
    return LAWS.get(family.kind, "")


def proved_if(family: Family, drift_proof: bool, *more: str) -> str:
    """The conditions of a proof: of the rewards, of the draws where it survives drift, of the model, and others.

    Example:
        >>> proved_if(Gaussian(1.0), drift_proof=False)
        'every arm keeps its mean and rewards vary no more than normal ones of the declared variance'
    """
    found = [*(DRAWN if drift_proof else (KEEP,)), assumption(family), family.condition, *more]
    return listed([one for one in found if one])
