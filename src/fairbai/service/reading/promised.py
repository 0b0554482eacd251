"""What an experiment guarantees, in sentences."""

from fairbai.identifier.sentences import SURE_AT_ALL, percent
from fairbai.problems.assumptions import proved_if
from fairbai.service.domain.book import Book
from fairbai.service.domain.cycles import cycle_name
from fairbai.service.domain.promises import Promises
from fairbai.service.domain.status_answers import Status
from fairbai.service.reading.standing import CONTRADICTIONS
from fairbai.service.reading.summary import doubts_at_decision
from fairbai.service.reading.words import count, moment, percentage, quoted, span

FINISHED = {
    "closed": "was closed by hand",
    "deadline": "stopped at its deadline",
    "max_trials": "stopped at the end of its budget",
}

BATCHES = "which units are in a batch, and which batch comes next, does not depend on rewards"


def promised(status: Status, book: Book) -> list[str]:
    """What was guaranteed of an experiment."""
    promises, floors = book.promises, [arm["floor"] for arm in status["arms"]]
    error = [_promised_error(status, book), *_chance(status, book)]
    sentences = [*error, *_restrictions(status), *_times(status), *_limits(status)]
    if promises.none:
        return [*sentences, "No shares were guaranteed."]
    if promises.on_every_path:
        allowed = promises.allowed
        bounds = [_promised_floors(book, span(floors))]
        bounds += [f"more than {max(allowed.above):.2f} trials above its ceiling"] if promises.ceilings else []
        sentences.append(f"Until the decision, no arm is ever {', or '.join(bounds)}.")
        if groups := _promised_groups(promises):
            sentences.append(f"Until then, no group is ever {', or '.join(groups)}.")
    learned = ", which are learned from the means," if promises.floors is None else ""
    limits = "the floors and ceilings" if promises.ceilings else "the floors"
    if book.identifier.settle:
        of_all = ", as shares of all trials" if any(book.skipped) else ""
        sentences.append(f"When the experiment stops by itself, {limits}{learned} are met{of_all}.")
    elif not promises.on_every_path:
        sentences.append(
            f"When the experiment stops by itself, {limits}{learned} should be met, but nothing enforces them."
        )
    return sentences


def _promised_floors(book: Book, shares: str) -> str:
    """By how much an arm is never behind its floor, until the decision."""
    promises, trials = book.promises, watched_trials(book)
    most = max(promises.most_behind(trials))
    if promises.skips:
        of_these = f"{shares} of the trials in which it was available"
        return f"more than {most:.2f} trials behind its floor ({of_these}) in {count(trials, 'trial')}"
    return f"more than {most:.2f} trials behind its floor ({shares} of the trials)"


def _restrictions(status: Status) -> list[str]:
    """What interventions have made of the guarantee of the answer."""
    sentences = []
    if status["switched_off"]:
        sentences.append("The answer is the best of the remaining arms: the others were switched off.")
        if status["proved"]:
            either = percentage(1.5 * status["config"]["delta"])
            sentences.append(
                f"Counting the decisions that could be made before and after that together, one of them is wrong with "
                f"probability at most {either}."
            )
    if any(not one["after_decision"] for one in status["voids"]):
        sentences.append(
            "Rewards were voided before the decision: this holds if which ones does not depend on their values."
        )
    return sentences


def _promised_groups(promises: Promises) -> list[str]:
    """What is guaranteed about groups at every trial."""
    allowed = promises.allowed
    bounds = [f"more than {max(allowed.groups):.2f} trials behind its floor"] if any(promises.group_floors) else []
    if promises.group_ceilings and allowed.groups_above:
        held = zip(promises.group_ceilings, allowed.groups_above, strict=True)
        most = max(bound for ceiling, bound in held if ceiling < 1.0)
        bounds.append(f"more than {most:.2f} trials above its ceiling")
    return bounds


def _times(status: Status) -> list[str]:
    """When decisions are made, if not at any time."""
    cycle, least = status["config"].get("cycle"), status["config"].get("min_duration")
    when = [] if cycle is None else [f"at the end of a whole {cycle_name(cycle)} since the creation of the experiment"]
    when += [] if least is None else [f"not before {least} have passed"]
    return [f"A decision is made only {' and '.join(when)}."] if cycle else [f"A decision is {w}." for w in when]


def _limits(status: Status) -> list[str]:
    """When it ends, decided or not."""
    when = [] if status["max_trials"] is None else [f"after {status['max_trials']:,} trials"]
    when += [] if status["deadline"] is None else [f"on {moment(status['deadline'])}"]
    return [f"It ends {' or '.join(when)} at the latest, with or without a decision."] if when else []


def _promised_error(status: Status, book: Book) -> str:
    if book.undecided_for_good:
        return _promised_guess(status)
    what = "The recommendation" if status["decided"] else "A decision"
    error = f"{what} is wrong with probability at most {percentage(status['config']['delta'])}{_wrong(book)}"
    if early := doubts_at_decision(status):
        return f"{error} (the target; not proved, as {CONTRADICTIONS[early[0]['kind']]})."
    if not status["proved"]:
        return f"{error} (a heuristic target, not proved)."
    experiment = book.identifier.procedure.experiment
    drawn, batches = experiment.stopping.drift_proof, ""
    if book.promises.batched:
        batches = "whether a batch comes in time does not depend on what it holds" if drawn else BATCHES
    conditions = proved_if(experiment.declared, drawn, experiment.sampling.condition, batches)
    if not drawn:
        return f"{error} (proved if {conditions})."
    best = "largest" if status["goal"] == "max" else "smallest"
    return (
        f"{error} (proved, however the rewards change over time, if {conditions}). It is about {status['estimand']}: "
        f"the arm with the {best} of these averages is best."
    )


def _chance(status: Status, book: Book) -> list[str]:
    """What else the proof needs: that nothing knows the draws, and that no reward decides when it is told."""
    if not status["proved"] or book.undecided_for_good or doubts_at_decision(status):
        return []
    told = "" if book.report_after is not None else ", and which reward is told next not on rewards that are not told"
    return [f"This needs, too, that who comes next does not depend on draws to come{told}."]


def _wrong(book: Book) -> str:
    """What a wrong answer is, if it is not any but the arm with the highest mean."""
    asked = book.identifier.question
    if asked.control is not None:
        control = quoted(book.labels[asked.control])
        return (
            f": not better than the control, {control}, or not within {asked.size} of the best; or the control, "
            f"though an arm is better by more than {asked.size}"
        )
    if asked.tolerance is not None:
        return f": not within {asked.size} of the best"
    return "" if asked.goal == "max" else ": not the arm with the lowest mean"


def _promised_guess(status: Status) -> str:
    """What is known about the best guess of an experiment that ended without a decision."""
    ended = f"The experiment {FINISHED[status['ended_by'] or 'closed']} without a decision"
    if status["confidence"] is None or status["recommendation"] is None:
        return f"{ended}: nothing is guaranteed about the arm that was ahead."
    how = f"a guess, with a confidence of {percent(status['confidence'])}"
    how = how if status["confidence"] >= SURE_AT_ALL else "no more than a guess"
    return (
        f"{ended}: the arm that was ahead is {how}. However often you look, the probability that a wrong arm is ever "
        f"named with a confidence above c is at most 1\u202f−\u202fc."
    )


def watched_trials(book: Book) -> int:
    """The trials up to the decision, or so far."""
    decision = book.identifier.decision
    return book.identifier.trials if decision is None else decision.round
