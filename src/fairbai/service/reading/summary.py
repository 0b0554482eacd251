"""An experiment in a sentence that anybody can read."""

import math
from typing import Any

import numpy as np

from fairbai.allocation import price_of_fairness
from fairbai.identifier.snapshot import changing
from fairbai.problems import Instance
from fairbai.problems.checks import Array
from fairbai.problems.families import Bernoulli, Poisson
from fairbai.service.domain.book import Book
from fairbai.service.domain.promises import ROUNDING
from fairbai.service.reading.listing import state_of

Answer = dict[str, Any]


def summarised(status: Answer, book: Book) -> Answer:
    """The sentence, and the numbers in it.

    Args:
        status: What ``reading.described`` says.
        book: The experiment.
    """
    price = fairness_trials(book) if book.decided else None
    return {
        "sentence": _sentence(status, price),
        "state": state_of(status["decided"], status["closed"]),
        "best": status["recommendation"],
        "confidence": 1.0 - status["config"]["delta"],
        "proved": status["proved"],
        "trials": status["trials"],
        "floors_met": not short_of_floor(status),
        "fairness_trials": price,
    }


def fairness_trials(book: Book) -> float | None:
    """About how many trials the floors cost: those that were made, less those of the same answer without floors.

    The ratio T*_p / T* at the means that were found says how much longer the decision took; what came after it settled
    the floors. A rule that does not know of floors pays in the end only. None where nothing says how many it would have
    been without floors: the means tie, or the rule does not aim at the fewest trials.
    """
    identifier, now = book.identifier, book.identifier.status()
    decision, limit = changing(identifier)["decision"], identifier.sampling.converges_to
    if decision is None or limit == "none" or not now.observed.all():
        return None
    try:
        price = price_of_fairness(Instance(inside(book), identifier.family, identifier.rates))
    except ValueError:
        return None
    cost = identifier.trials - decision["round"] / (price.ratio if limit == "fair" else 1.0)
    return max(0.0, cost) if math.isfinite(cost) else None


def inside(book: Book) -> Array:
    """The means, moved inside the domain of the family by half a pseudo-count where they are at its edge."""
    now, family = book.identifier.status(), book.identifier.family
    edges = 0.5 / (now.observed + 1.0)
    if isinstance(family, (Bernoulli, Poisson)):
        low: Array = np.maximum(now.means, edges)
        return np.minimum(low, 1.0 - edges) if isinstance(family, Bernoulli) else low
    return now.means


# --- the sentence -----------------------------------------------------------------------------------------------


def _sentence(status: Answer, price: float | None) -> str:
    trials = count(status["trials"], "trial")
    if status["decided"]:
        return _decided(status, price)
    if status["trials"] == 0:
        return "No trial was made before the close." if status["closed"] else "No trial has been made yet."
    if status["closed"]:
        return f"Closed by hand after {trials}, without a decision: {_leader(status)}."
    return f"After {trials} there is no decision yet: {_leader(status)}.{_ahead(status)}"


def _leader(status: Answer) -> str:
    if status["recommendation"] is None:
        return "not every arm has a reward"
    if status["closed"]:  # rewards that came later do not change the answer
        return f"{quoted(status['recommendation'])} was the best so far"
    if len(tied := _best(status)) > 1:
        return f"{listed(tied)} look equally good"
    confidence = f"{percentage(1.0 - status['config']['delta'])} confidence takes"
    needed = confidence if status["proved"] else "its rule asks for"
    reached = "a part" if status["progress"] is None else percentage(status["progress"], 0)
    return f"{quoted(status['recommendation'])} looks best, with {reached} of the evidence that {needed}"


def _best(status: Answer) -> list[str]:
    """The arms with the largest mean, once every arm has one."""
    top = max(arm["mean"] for arm in status["arms"])
    return [arm["arm"] for arm in status["arms"] if arm["mean"] == top]


def _ahead(status: Answer) -> str:
    if status["recommendation"] is None or len(_best(status)) > 1:
        return ""
    ahead = status["expected_trials_to_go"]
    if ahead is None:
        return " It is too early to say how many more trials it takes."
    return f" It takes about {count(_rounded(ahead), 'more trial')}." if ahead else ""


def _decided(status: Answer, price: float | None) -> str:
    confidence = f"{percentage(1.0 - status['config']['delta'])} confidence"
    sure = f"with {confidence}" if status["proved"] else f"by a rule that aims at {confidence} and is not proved"
    parts = [f"{quoted(status['recommendation'])} is best, {sure}, after {count(status['trials'], 'trial')}"]
    if not status["stopped"]:
        rest = count(math.ceil(status["expected_trials_to_go"] or 0), "more trial")
        return f"{parts[0]}; {rest} until every arm has had the share that it was promised."
    if shares := _shares(status):
        parts.append(shares)
        if price is not None:
            cost = f"about {count(_rounded(price), 'trial')}" if price >= 1.0 else "no trials"
            parts.append(f"fairness cost {cost}")
    return "; ".join(parts) + "."


def _shares(status: Answer) -> str:
    """What became of the floors and ceilings; empty where there are none."""
    floors, trials = [arm["floor"] for arm in status["arms"]], status["trials"]
    for arm in status["arms"]:
        if arm["assigned"] - arm["ceiling"] * trials >= 1.0:
            had = f"{percentage(arm['share'])} of the trials where at most {percentage(arm['ceiling'])} were promised"
            return f"{quoted(arm['arm'])} had {had}"
    if max(floors) <= 0.0:
        return ""
    short = short_of_floor(status)
    if short:
        one = short[0]
        more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
        had = f"{percentage(one['share'])} of the trials where {percentage(one['floor'])} were promised"
        return f"{quoted(one['arm'])}{more} had {had}"
    if all(arm["floor"] * trials - arm["assigned"] <= ROUNDING for arm in status["arms"]):
        return f"every arm had at least the {span(floors)} it was promised"
    return f"every arm had the {span(floors)} it was promised, to less than one trial"


def short_of_floor(status: Answer) -> list[Answer]:
    """The arms that have a trial or more too few."""
    trials = status["trials"]
    return [arm for arm in status["arms"] if arm["floor"] * trials - arm["assigned"] >= 1.0]


# --- words ------------------------------------------------------------------------------------------------------


def quoted(label: str) -> str:
    """A label in a sentence."""
    return f"“{label}”"


def listed(labels: list[str]) -> str:
    """Labels in a sentence; a few of them, where they are many."""
    shown = [quoted(label) for label in labels[:3]]
    if len(labels) > 3:
        return f"{', '.join(shown)} and {len(labels) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]])


def count(number: float, thing: str) -> str:
    """So many things."""
    return f"{number:,.0f} {thing}{'' if round(number) == 1 else 's'}"


def percentage(share: float, digits: int | None = None) -> str:
    """A share in percent, with the digits that matter."""
    value = 100.0 * share
    if digits is not None:
        return f"{value:.{digits}f} %"
    return f"{value:.12g} %" if value > 99.0 else f"{value:.4g} %"


def span(shares: list[float]) -> str:
    """Shares from the least to the largest."""
    low, high = percentage(min(shares)), percentage(max(shares))
    return low if low == high else f"{low} to {high}"


def _rounded(number: float) -> float:
    """An estimate with two digits, as it has no more."""
    return float(f"{number:.2g}")
