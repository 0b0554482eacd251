"""An experiment in a few sentences that anybody can read."""

import math

from fairbai.allocation import price_of_fairness
from fairbai.charts.live import share_of
from fairbai.problems import Instance
from fairbai.service.domain.cycles import cycle_name
from fairbai.service.domain.promises import ROUNDING
from fairbai.service.domain.status_answers import Arm, Doubt, Status, Summary, VoidedThen
from fairbai.service.reading.learning_cost import learning_cost
from fairbai.service.reading.reader import Reading
from fairbai.service.reading.standing import answer_words
from fairbai.service.reading.words import count, listed, moment, percentage, quoted, rounded, span

EMPTY = {
    None: "No trials yet.",
    "closed": "Closed by hand before the first trial.",
    "deadline": "The deadline came before the first trial.",
    "max_trials": "No trials.",
    "decision": "No trials.",
}


def summarised(reading: Reading) -> Summary:
    """The sentence, and the numbers in it."""
    status = reading.status
    price = fairness_trials(reading) if reading.book.decided else None
    headline, more = _decided(reading, price) if status["decided"] else status["sentence"], ""
    if status["trials"] == 0:
        headline = EMPTY[status["ended_by"]]
    elif not status["decided"]:
        more = _more(status)
    elif status["proved"] and "estimand" in status:
        more = f" Proved if {reading.now.proved_if}."
    late = [one for one in status["voids"] if one["after_decision"] and one["told_before"]]
    more += "".join(f" {voided_sentence(one, status['decided'])}" for one in late)
    more += _doubted(status) if status["stopped"] or status["decided"] else ""  # else the headline says why
    return {
        "sentence": f"{headline}{more}" + ("" if status["waits"] is None else f" {status['waits']['sentence']}"),
        "headline": headline,
        "more": more.strip(),
        "state": status["state"],
        "decided": status["decided"],
        "ended_by": status["ended_by"],
        "best": status["recommendation"],
        "confidence": status["confidence"],
        "target_confidence": status["target_confidence"],
        "candidates": status["candidates"],
        "proved": status["proved"],
        "trials": status["trials"],
        "floors_met": not short_of_floor(status),
        "fairness_trials": price,
        "learning_cost": learning_cost(status),
    }


def fairness_trials(reading: Reading) -> float | None:
    """Estimate how many trials the floors cost: those that were run, less those of the same answer without floors.

    The ratio T*_p / T* at the estimated means says how much longer the decision took; what came after it settled the
    floors. A rule that ignores floors pays only at the end. None if nothing says how many trials it would have taken
    without floors: the means tie, the rule does not aim at the fewest trials, or arms were switched off.
    """
    identifier = reading.book.identifier
    decision, limit = identifier.decision, identifier.sampling.converges_to
    if decision is None or limit == "none" or not reading.now.observed.all() or reading.book.off:
        return None
    try:
        asked = identifier.question
        given = (identifier.family, identifier.rates, asked.tolerance, asked.goal, asked.control)
        price = price_of_fairness(Instance(identifier.interior_means, *given))
    except ValueError:
        return None
    cost = identifier.trials - decision.round / (price.ratio if limit == "fair" else 1.0)
    return max(0.0, cost) if math.isfinite(cost) else None


# --- what is beside the headline, each sentence with a space before it ------------------------------------------


def _more(status: Status) -> str:
    """Of an experiment without a decision: how far it got, or how far it has to go."""
    trials = count(status["trials"], "trial")
    if status["stopped"]:
        return f" It had {trials}.{_given(status)}"
    if status["ended_by"] is not None:
        return f" {count(status['pending'], 'reward')} may still come.{waiting(status)}"
    return f" No decision yet after {trials}{_reached(status)}.{waiting(status) or _ahead(status)}"


def _given(status: Status) -> str:
    """Whether the shares were given, in a sentence."""
    shares = _shares(status)
    return f" {shares[0].upper()}{shares[1:]}." if shares else ""


def waiting(status: Status) -> str:
    """When an experiment decides whose evidence is enough before the end of its cycle; empty if it is not."""
    at = status.get("decides_at")
    if at is None or not status.get("enough"):
        return ""
    cycle = status["config"].get("cycle")
    when = "after its minimum duration" if cycle is None else f"at the end of the {cycle_name(cycle)}"
    return f" It decides {when}, on {moment(at)}, if the evidence holds."


def _reached(status: Status) -> str:
    """How far the evidence is, or why it is nowhere yet."""
    if status["recommendation"] is None:
        return ""
    if len(best := _best(status)) > 1 and status["tolerance"] is None:
        return f": {listed(best)} look equally good"
    if status["progress"] is None:
        return ""
    needed = f"{percentage(status['target_confidence'])} confidence requires"
    needed = needed if status["proved"] else "its stopping rule requires"
    return f": {percentage(status['progress'], 0)} of the evidence that {needed}"


def _best(status: Status) -> list[str]:
    """The arms with the best mean, once every arm has one."""
    best = max if status["goal"] == "max" else min
    top = best(arm["mean"] for arm in status["arms"] if arm["mean"] is not None)
    return [arm["arm"] for arm in status["arms"] if arm["mean"] == top]


def _ahead(status: Status) -> str:
    if status["recommendation"] is None or (len(_best(status)) > 1 and status["tolerance"] is None):
        return ""
    ahead = status["expected_trials_to_go"]
    if ahead is None:
        return " It is too early to say how many more trials are needed."
    if not ahead:
        return ""
    limit, left = status["max_trials"], (status["max_trials"] or 0) - status["trials"]
    beyond = f", of which the budget allows {left:,}" if limit is not None and ahead > left else ""
    return f" About {count(rounded(ahead), 'more trial')} needed{beyond}."


# --- decisions --------------------------------------------------------------------------------------------------


def _decided(reading: Reading, price: float | None) -> str:
    status, one = reading.status, reading.book.identifier
    confidence = f"{percentage(status['target_confidence'])} confidence"
    sure = f"with {confidence}" if status["proved"] else f"by a rule that aims at {confidence} and is not proved"
    seems, conditions = "is", reading.now.proved_if
    sure += f" if {conditions}" if status["proved"] and "estimand" not in status else ""
    if doubts_at_decision(status):
        seems, sure = "looks", f"but without the {confidence} that was the aim"
    assert one.decision is not None
    best = answer_words(one.question, one.decision.recommendation, reading.book.labels, seems)
    best += " (lower is better)" if one.question.goal == "min" else ""
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
            cost = f"about {count(rounded(price), 'trial')}" if price >= 1.0 else "no trials"
            parts.append(f"fairness cost {cost}")
    return "; ".join(parts) + "."


def _doubted(status: Status) -> str:
    """What is in doubt: one more sentence, or nothing."""
    if not status["doubts"]:
        return ""
    reason, others = status["doubts"][0]["reason"], len(status["doubts"]) - 1
    more = f" (and {count(others, 'more doubt')})" if others else ""
    since = "Not proved" if doubts_at_decision(status) else "In doubt since the decision"
    since = since if status["decided"] else "In doubt"
    return f" {since}: {reason[0].lower()}{reason[1:]}{more}."


def voided_sentence(void: VoidedThen, decided: bool) -> str:
    """Rewards that were voided, in a sentence; ``decided`` is whether there is a decision."""
    rewards, reason = count(void["tickets"], "reward"), void["reason"]
    was = "was" if void["tickets"] == 1 else "were"
    if not void["after_decision"]:
        return f"{rewards} {was} voided after {count(void['trial'], 'trial')}: {reason}."
    end, told = "decision" if decided else "end", void["told_before"]
    if told == 0:
        return f"{rewards} {was} voided that came after the {end}: {reason}."
    them = f"{rewards}, {told:,} of them told before the {end},"
    them = f"A reward that was told before the {end}" if void["tickets"] == 1 else them
    return f"{them} {was} voided after it: {reason}. The {'decision' if decided else 'best guess'} stands."


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
    of_these = " of the trials in which it was available" if "available" in status["arms"][0] else ""
    if short:
        one = short[0]
        more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
        had = f"{percentage(share_of(one))} of the trials but was guaranteed {percentage(one['floor'])}{of_these}"
        return f"{quoted(one['arm'])}{more} got {had}"
    if all(lacking(arm, trials) <= ROUNDING for arm in status["arms"]):
        return f"every arm got at least its guaranteed {span(floors)}{of_these}"
    return f"every arm got its guaranteed {span(floors)}{of_these}, to less than one trial"


def short_of_floor(status: Status) -> list[Arm]:
    """The arms that are at least one trial short."""
    return [arm for arm in status["arms"] if lacking(arm, status["trials"]) >= 1.0]


def lacking(arm: Arm, trials: int) -> float:
    """How many trials an arm lacks for its floor, a share of those in which it was available; negative if none."""
    return arm["floor"] * arm.get("available", trials) - arm["assigned"]
