"""What an experiment guaranteed, and whether it was kept."""

from fairbai import __version__
from fairbai.identifier.sentences import percent
from fairbai.service.domain.answers import Status
from fairbai.service.domain.audit_answers import Audit, AuditedArm, AuditedGroup, Replayed
from fairbai.service.domain.book import Book
from fairbai.service.domain.cycles import cycle_name
from fairbai.service.domain.promises import Promises
from fairbai.service.reading.reader import Reading
from fairbai.service.reading.standing import CONTRADICTIONS, size_of
from fairbai.service.reading.summary import doubts_at_decision, short_of_floor, voided_sentence
from fairbai.service.reading.words import SURE_AT_ALL, count, moment, percentage, quoted, span

FINISHED = {
    "closed": "was closed by hand",
    "deadline": "stopped at its deadline",
    "max_trials": "stopped at the end of its budget",
}
SEEN = 0.005  # trials behind a floor that round to 0.01
PRIVATE = {"webhook"}  # its address often holds a secret, and an audit is passed on
ENDED = {"closed": "was closed", "deadline": "met its deadline", "max_trials": "had all trials of its budget"}


def audited(reading: Reading, replay: Replayed | None) -> Audit:
    """The audit of an experiment, with the last replay of its log if there was one."""
    status, book, kept = reading.status, reading.book, reading.row.floors_kept
    config = status["config"]
    decision = book.identifier.decision
    return {
        "id": status["id"],
        "name": status["name"],
        "state": status["state"],
        "created_at": status["created_at"],
        "version": status["version"],
        "library": __version__,
        "trials": status["trials"],
        "observed": status["observed"],
        "decided_after": None if decision is None or not book.decided else decision.round,
        "recommendation": status["recommendation"],
        "ended_by": status["ended_by"],
        "paused": status["paused"],
        "confidence": status["confidence"],
        "candidates": status["candidates"],
        "question": status["question"],
        "promise": {
            "delta": config["delta"],
            "proved": status["proved"],
            "shares": "every trial" if book.promises.on_every_path else "the stop",
            "sentences": _promised(status, book),
        },
        "settings": {name: value for name, value in config.items() if name not in PRIVATE},
        "arms": _arms(status, book),
        "groups": _groups(status, book),
        "kept": kept,
        "verdict": _verdict(status, book, kept),
        "findings": _findings(status, book),
        "doubts": status["doubts"],
        "replay": replay,
    }


def _arms(status: Status, book: Book) -> list[AuditedArm]:
    promises, trials = book.promises, status["trials"]
    none: list[float | None] = [None] * len(book.labels)
    watched, proved = promises.floors is not None, promises.on_every_path
    allowed = promises.allowed
    behind = promises.behind() if watched else none
    above = promises.above() or none
    return [
        {
            "arm": arm["arm"],
            "assigned": arm["assigned"],
            "observed": arm["observed"],
            "mean": arm["mean"],
            "share": arm["share"],
            "floor": arm["floor"],
            "ceiling": arm["ceiling"],
            "missing": max(0.0, arm["floor"] * trials - arm["assigned"]),
            "behind": behind[number],
            "behind_allowed": allowed.behind[number] if proved else None,
            "above": above[number],
            "above_allowed": allowed.above[number] if proved and promises.ceilings else None,
        }
        for number, arm in enumerate(status["arms"])
    ]


def _groups(status: Status, book: Book) -> list[AuditedGroup]:
    promises, trials = book.promises, max(1, status["trials"])
    none: list[float | None] = [None] * len(promises.group_floors)
    allowed, behind, above = promises.allowed, promises.groups_behind(), promises.groups_above() or none
    ceilings = promises.group_ceilings or [1.0] * len(none)
    tops = allowed.groups_above if promises.on_every_path and promises.group_ceilings else none
    members = [
        [arm for arm, label in zip(status["arms"], promises.group, strict=True) if label == group]
        for group in range(len(promises.group_floors))
    ]
    return [
        {
            "arms": [arm["arm"] for arm in members[group]],
            "floor": floor,
            "ceiling": ceilings[group],
            "share": sum(arm["assigned"] for arm in members[group]) / trials,
            "behind": behind[group],
            "behind_allowed": allowed.groups[group] if promises.on_every_path else None,
            "above": above[group],
            "above_allowed": tops[group],
        }
        for group, floor in enumerate(promises.group_floors)
    ]


def _verdict(status: Status, book: Book, kept: bool | None) -> str:
    if book.promises.none:
        return "No shares were guaranteed."
    if kept is None:
        if status["stopped"]:
            return f"Its shares were guaranteed at the stop, and it {ENDED[book.cut_short or 'closed']} before."
        return "Its shares are guaranteed at the stop, which has not come yet."
    if not kept:
        return "A guaranteed share was not given."
    return f"Every guaranteed share was given{'' if status['stopped'] else ' so far'}."


def _promised(status: Status, book: Book) -> list[str]:
    promises, floors = book.promises, [arm["floor"] for arm in status["arms"]]
    sentences = [_promised_error(status, book), *_restrictions(status), *_times(status), *_limits(status)]
    if promises.none:
        return [*sentences, "No shares were guaranteed."]
    if promises.on_every_path:
        allowed = promises.allowed
        bounds = [f"more than {max(allowed.behind):.2f} trials behind its floor ({span(floors)} of the trials)"]
        bounds += [f"more than {max(allowed.above):.2f} trials above its ceiling"] if promises.ceilings else []
        sentences.append(f"Until the decision, no arm is ever {', or '.join(bounds)}.")
        if groups := _promised_groups(promises):
            sentences.append(f"Until then, no group is ever {', or '.join(groups)}.")
    learned = ", which are learned from the means," if promises.floors is None else ""
    limits = "the floors and ceilings" if promises.ceilings else "the floors"
    if book.identifier.settle:
        sentences.append(f"When the experiment stops by itself, {limits}{learned} are met.")
    elif not promises.on_every_path:
        sentences.append(
            f"When the experiment stops by itself, {limits}{learned} should be met, but nothing enforces them."
        )
    return sentences


def _restrictions(status: Status) -> list[str]:
    """What interventions have made of the guarantee of the answer."""
    sentences = []
    if status["switched_off"]:
        sentences.append("The answer is the best of the remaining arms: the others were switched off.")
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
    if "estimand" not in status:
        return f"{error} (proved, if the rewards of each arm do not change over time)."
    best = "largest" if status["goal"] == "max" else "smallest"
    return (
        f"{error} (proved, however the rewards change over time). It is about {status['estimand']}: the arm with the "
        f"{best} of these averages is best."
    )


def _wrong(book: Book) -> str:
    """What a wrong answer is, if it is not any but the arm with the highest mean."""
    asked = book.identifier.question
    if asked.control is not None:
        control = quoted(book.labels[asked.control])
        return (
            f": not better than the control, {control}, or not within {size_of(asked)} of the best; or the control, "
            f"though an arm is better by more than {size_of(asked)}"
        )
    if asked.tolerance is not None:
        return f": not within {size_of(asked)} of the best"
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


def _findings(status: Status, book: Book) -> list[str]:
    promises = book.promises
    findings = [f"After {count(status['trials'], 'trial')}: {status['sentence']}"] if book.undecided_for_good else []
    if promises.watched and not promises.batched:
        findings.append(_furthest_behind(book))
    if promises.batched:
        findings.append("Some trials were assigned outside the service, so the shares are judged at the stop.")
    if status["stopped"] and not promises.none:
        findings += _at_the_end(status, book)
    return findings + _interventions(status) + _doubts(status)


def _interventions(status: Status) -> list[str]:
    """What people did to it: arms that were switched off, and rewards that were voided."""
    sentences = []
    for one in status["switched_off"]:
        when = count(one["trial"], "trial")
        sentences.append(
            f"{quoted(one['arm'])} was switched off after {when}: {one['reason']}. Its floor ended there; the other "
            "arms kept theirs, as shares of all trials."
        )
    return sentences + [voided_sentence(one, status["decided"]) for one in status["voids"]]


def _furthest_behind(book: Book) -> str:
    behind = book.promises.behind()
    arm = behind.index(max(behind))
    if book.undecided_for_good or book.decided:
        when = f"Before the {'end' if book.undecided_for_good else 'decision'}"
    else:
        when = "So far"
    if behind[arm] < SEEN:
        return f"{when}, no arm was behind its floor."
    named = f"{quoted(book.labels[arm])} was up to {behind[arm]:.2f} trials behind its floor"
    return f"{when}, {named}; no arm was further behind."


def _doubts(status: Status) -> list[str]:
    """What was tested and what speaks against it, and what could not be tested."""
    sentences = [] if status["sample_ratio"] is None else [status["sample_ratio"]["sentence"]]
    for doubt in status["doubts"]:
        when = "after the decision" if doubt["after_decision"] else f"after {count(doubt['trial'], 'trial')}"
        sentences.append(f"{doubt['reason']} (found {when}).")
    if early := doubts_at_decision(status):
        such = "rewards" if early[0]["kind"] == "family" else "trials"
        sentences.append(f"For such {such} neither the error probability nor the intervals of the means are proved.")
    return sentences + [f"{hint}." for hint in status["hints"]]


def _at_the_end(status: Status, book: Book) -> list[str]:
    arms, missing, promises = status["arms"], short_of_floor(status), book.promises
    lacking = f"At the end, {len(missing)} of {len(arms)} arms are short of their floor."
    findings = [lacking if missing else "At the end, every arm has its floor, to less than one trial."]
    if promises.ceilings:
        kept = max(promises.beyond([arm["assigned"] for arm in arms])) < 1.0
        groups = "group limit" if promises.group_ceilings else "group floor"
        met = f"every ceiling and {groups} is" if kept else f"not every ceiling and {groups} is"
        findings.append(f"At the end, {met} met, to less than one trial.")
    return findings
