"""An experiment in one sentence that anybody can read."""

import math

from fairbai.allocation import price_of_fairness
from fairbai.problems import Instance
from fairbai.service.domain.answers import Arm, Doubt, Status, Summary
from fairbai.service.domain.cycles import cycle_name
from fairbai.service.domain.promises import ROUNDING
from fairbai.service.reading.listing import state_of
from fairbai.service.reading.reader import Reading


def summarised(reading: Reading) -> Summary:
    """The sentence, and the numbers in it."""
    status = reading.status
    price = fairness_trials(reading) if reading.book.decided else None
    return {
        "sentence": _sentence(status, price) + _doubted(status),
        "state": state_of(status["decided"], status["closed"]),
        "decided": status["decided"],
        "best": status["recommendation"],
        "target_confidence": 1.0 - status["config"]["delta"],
        "proved": status["proved"],
        "trials": status["trials"],
        "floors_met": not short_of_floor(status),
        "fairness_trials": price,
    }


def fairness_trials(reading: Reading) -> float | None:
    """Estimate how many trials the floors cost: those that were run, less those of the same answer without floors.

    The ratio T*_p / T* at the estimated means says how much longer the decision took; what came after it settled the
    floors. A rule that ignores floors pays only at the end. None if nothing says how many trials it would have taken
    without floors: the means tie, or the rule does not aim at the fewest trials.
    """
    identifier = reading.book.identifier
    decision, limit = identifier.decision, identifier.sampling.converges_to
    if decision is None or limit == "none" or not reading.now.observed.all():
        return None
    try:
        price = price_of_fairness(Instance(identifier.interior_means, identifier.family, identifier.rates))
    except ValueError:
        return None
    cost = identifier.trials - decision.round / (price.ratio if limit == "fair" else 1.0)
    return max(0.0, cost) if math.isfinite(cost) else None


# --- the sentence -----------------------------------------------------------------------------------------------


def _sentence(status: Status, price: float | None) -> str:
    trials = count(status["trials"], "trial")
    if status["decided"]:
        return _decided(status, price)
    if status["trials"] == 0:
        return "Closed by hand before the first trial." if status["closed"] else "No trials yet."
    if status["closed"]:
        return closed_undecided(status)
    waits = waiting(status)
    return f"No decision yet after {trials}: {_leader(status)}.{waits or _ahead(status)}"


def closed_undecided(status: Status) -> str:
    """The sentence of an experiment that was closed without a decision; late rewards do not change it."""
    arm = status["recommendation"]
    ahead = "not every arm had a reward" if arm is None else f"{quoted(arm)} was ahead, but need not be best"
    return f"Closed by hand after {count(status['trials'], 'trial')}, without a decision: {ahead}."


def waiting(status: Status) -> str:
    """When an experiment decides whose evidence is enough before the end of its cycle; empty if it is not."""
    at = status.get("decides_at")
    if at is None or not status.get("enough"):
        return ""
    cycle = status["config"].get("cycle")
    when = "after its minimum duration" if cycle is None else f"at the end of the {cycle_name(cycle)}"
    return f" It decides {when}, on {at[:10]} at {at[11:16]} UTC, if the evidence holds."


def _leader(status: Status) -> str:
    if status["recommendation"] is None:
        return "not every arm has a reward"
    if len(tied := _best(status)) > 1:
        return f"{listed(tied)} look equally good"
    confidence = f"{percentage(1.0 - status['config']['delta'])} confidence requires"
    needed = confidence if status["proved"] else "its stopping rule requires"
    reached = "part" if status["progress"] is None else percentage(status["progress"], 0)
    return f"{quoted(status['recommendation'])} looks best, with {reached} of the evidence that {needed}"


def _best(status: Status) -> list[str]:
    """The arms with the largest mean, once every arm has one."""
    top = max(arm["mean"] for arm in status["arms"] if arm["mean"] is not None)
    return [arm["arm"] for arm in status["arms"] if arm["mean"] == top]


def _ahead(status: Status) -> str:
    if status["recommendation"] is None or len(_best(status)) > 1:
        return ""
    ahead = status["expected_trials_to_go"]
    if ahead is None:
        return " It is too early to say how many more trials are needed."
    return f" About {count(_rounded(ahead), 'more trial')} needed." if ahead else ""


def _decided(status: Status, price: float | None) -> str:
    confidence = f"{percentage(1.0 - status['config']['delta'])} confidence"
    sure = f"with {confidence}" if status["proved"] else f"by a rule that aims at {confidence} and is not proved"
    seems = "is"
    if doubts_at_decision(status):
        seems, sure = "looks", f"but without the {confidence} that was the aim"
    best = f"{quoted(str(status['recommendation']))} {seems} best"
    if "estimand" in status:
        best += " on average over the experiment"
        sure += ", however rewards changed over time" if status["proved"] else ""
    parts = [f"{best}, {sure}, after {count(status['trials'], 'trial')}"]
    if not status["stopped"]:
        rest = count(math.ceil(status["expected_trials_to_go"] or 0), "more trial")
        return f"{parts[0]}; {rest} until every arm has its guaranteed share."
    if shares := _shares(status):
        parts.append(shares)
        if price is not None:
            cost = f"about {count(_rounded(price), 'trial')}" if price >= 1.0 else "no trials"
            parts.append(f"fairness cost {cost}")
    return "; ".join(parts) + "."


def _doubted(status: Status) -> str:
    """What the rewards contradict the declared family by: one more sentence, or nothing."""
    if not status["doubts"]:
        return ""
    reason, others = status["doubts"][0]["reason"], len(status["doubts"]) - 1
    more = f" (and {count(others, 'more doubt')})" if others else ""
    since = "Not proved" if doubts_at_decision(status) else "In doubt since the decision"
    return f" {since}: {reason[0].lower()}{reason[1:]}{more}."


def doubts_at_decision(status: Status) -> list[Doubt]:
    """The doubts up to the decision, because of which nothing is proved."""
    return [doubt for doubt in status["doubts"] if not doubt["after_decision"]]


def _shares(status: Status) -> str:
    """Whether the floors and ceilings were met; empty if there are none."""
    floors, trials = [arm["floor"] for arm in status["arms"]], status["trials"]
    for arm in status["arms"]:
        if arm["assigned"] - arm["ceiling"] * trials >= 1.0:
            had = f"{percentage(arm['share'])} of the trials but was limited to {percentage(arm['ceiling'])}"
            return f"{quoted(arm['arm'])} got {had}"
    if max(floors) <= 0.0:
        return ""
    short = short_of_floor(status)
    if short:
        one = short[0]
        more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
        had = f"{percentage(one['share'])} of the trials but was guaranteed {percentage(one['floor'])}"
        return f"{quoted(one['arm'])}{more} got {had}"
    if all(arm["floor"] * trials - arm["assigned"] <= ROUNDING for arm in status["arms"]):
        return f"every arm got at least its guaranteed {span(floors)}"
    return f"every arm got its guaranteed {span(floors)}, to less than one trial"


def short_of_floor(status: Status) -> list[Arm]:
    """The arms that are at least one trial short."""
    trials = status["trials"]
    return [arm for arm in status["arms"] if arm["floor"] * trials - arm["assigned"] >= 1.0]


# --- words ------------------------------------------------------------------------------------------------------


def quoted(label: str) -> str:
    """A label in a sentence."""
    return f"“{label}”"


def listed(labels: list[str]) -> str:
    """Labels in a sentence; only the first few if there are many."""
    shown = [quoted(label) for label in labels[:3]]
    if len(labels) > 3:
        return f"{', '.join(shown)} and {len(labels) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]])


def count(number: float, thing: str) -> str:
    """A count with its noun."""
    return f"{number:,.0f} {thing}{'' if round(number) == 1 else 's'}"


def percentage(share: float, digits: int | None = None) -> str:
    """A share in percent, with the significant digits."""
    value = 100.0 * share
    if digits is not None:
        return f"{value:.{digits}f} %"
    return f"{value:.12g} %" if value > 99.0 else f"{value:.4g} %"


def span(shares: list[float]) -> str:
    """The range of some shares."""
    low, high = percentage(min(shares)), percentage(max(shares))
    return low if low == high else f"{low} to {high}"


def _rounded(number: float) -> float:
    """An estimate rounded to two significant digits, as it is no more precise."""
    return float(f"{number:.2g}")
