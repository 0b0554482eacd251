"""What would make the answer of a log better, or safer."""

from fairbai.analysis.drift_proof import DriftProof
from fairbai.analysis.family import Choice
from fairbai.analysis.log import Log, Totals
from fairbai.problems import Gaussian


def hints_for(log: Log | Totals, choice: Choice, drift_proof: DriftProof | None) -> tuple[str, ...]:
    """The hints for a log."""
    hints = []
    drawn = isinstance(log, Log) and log.probabilities is not None
    if isinstance(choice.family, Gaussian):
        more = " and, with the logged probabilities, holds whatever the drift" if drawn else ""
        hints.append(
            "If no reward can be below some number or above another, declare them (low and high): the proof then "
            f"needs nothing else of the law of the rewards{more}."
        )
    if isinstance(log, Totals):
        hints.append("Totals hide what happened on the way: with one row per trial, drift and family are tested, too.")
    elif not drawn:
        hints.append(
            "Log the probability with which every arm was drawn (probability): then arms are also compared whatever "
            "the drift."
        )
    if drawn and not isinstance(choice.family, Gaussian) and drift_proof is None:
        hints.append("A comparison that holds whatever the drift needs bounded rewards: declare low and high.")
    return tuple(hints)
