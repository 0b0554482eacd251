"""What an experiment guaranteed, and whether it was kept."""

from fairbai import __version__
from fairbai.service.domain.answers import Audit, AuditedArm, AuditedGroup, Replayed, Status
from fairbai.service.domain.book import Book
from fairbai.service.domain.cycles import cycle_name
from fairbai.service.reading.listing import state_of
from fairbai.service.reading.reader import Reading
from fairbai.service.reading.summary import (
    closed_undecided,
    count,
    doubts_at_decision,
    percentage,
    quoted,
    short_of_floor,
    span,
)


def audited(reading: Reading, replay: Replayed | None) -> Audit:
    """The audit of an experiment, with the last replay of its log if there was one."""
    status, book, kept = reading.status, reading.book, reading.row.floors_kept
    config = status["config"]
    decision = book.identifier.decision
    return {
        "id": status["id"],
        "name": status["name"],
        "state": state_of(status["decided"], status["closed"]),
        "created_at": status["created_at"],
        "version": status["version"],
        "library": __version__,
        "trials": status["trials"],
        "observed": status["observed"],
        "decided_after": None if decision is None or not book.decided else decision.round,
        "recommendation": status["recommendation"],
        "promise": {
            "delta": config["delta"],
            "proved": status["proved"],
            "shares": "every trial" if book.promises.on_every_path else "the stop",
            "sentences": _promised(status, book),
        },
        "settings": config,
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
    allowed, behind = promises.allowed.groups, promises.groups_behind()
    members = [
        [arm for arm, label in zip(status["arms"], promises.group, strict=True) if label == group]
        for group in range(len(promises.group_floors))
    ]
    return [
        {
            "arms": [arm["arm"] for arm in members[group]],
            "floor": floor,
            "share": sum(arm["assigned"] for arm in members[group]) / trials,
            "behind": behind[group],
            "behind_allowed": allowed[group] if promises.on_every_path else None,
        }
        for group, floor in enumerate(promises.group_floors)
    ]


def _verdict(status: Status, book: Book, kept: bool | None) -> str:
    if book.promises.none:
        return "No shares were guaranteed."
    if kept is None:
        if status["stopped"]:
            return "Its shares were guaranteed at the stop, and it was closed before."
        return "Its shares are guaranteed at the stop, which has not come yet."
    if not kept:
        return "A guaranteed share was not given."
    return f"Every guaranteed share was given{'' if status['stopped'] else ' so far'}."


def _promised(status: Status, book: Book) -> list[str]:
    promises, floors = book.promises, [arm["floor"] for arm in status["arms"]]
    sentences = [_promised_error(status), *_times(status)]
    if promises.none:
        return [*sentences, "No shares were guaranteed."]
    if promises.on_every_path:
        allowed = promises.allowed
        bounds = [f"more than {max(allowed.behind):.2f} trials behind its floor ({span(floors)} of the trials)"]
        bounds += [f"more than {max(allowed.above):.2f} trials above its ceiling"] if promises.ceilings else []
        sentences.append(f"Until the decision, no arm is ever {', or '.join(bounds)}.")
        if promises.group_floors:
            sentences.append(
                f"Until then, no group is ever more than {max(allowed.groups):.2f} trials behind its floor."
            )
    learned = ", which are learned from the means," if promises.floors is None else ""
    limits = "the floors and ceilings" if promises.ceilings else "the floors"
    if book.identifier.settle:
        sentences.append(f"When the experiment stops by itself, {limits}{learned} are met.")
    elif not promises.on_every_path:
        sentences.append(
            f"When the experiment stops by itself, {limits}{learned} should be met, but nothing enforces them."
        )
    return sentences


def _times(status: Status) -> list[str]:
    """When decisions are made, if not at any time."""
    cycle, least = status["config"].get("cycle"), status["config"].get("min_duration")
    when = [] if cycle is None else [f"at the end of a whole {cycle_name(cycle)} since the creation of the experiment"]
    when += [] if least is None else [f"not before {least} have passed"]
    return [f"A decision is made only {' and '.join(when)}."] if cycle else [f"A decision is {w}." for w in when]


def _promised_error(status: Status) -> str:
    if status["closed"] and not status["decided"]:
        return (
            "The experiment was closed by hand, without a decision: nothing is guaranteed about the arm that was ahead."
        )
    what = "The recommendation" if status["decided"] else "A decision"
    error = f"{what} is wrong with probability at most {percentage(status['config']['delta'])}"
    if doubts_at_decision(status):
        return f"{error} (the target; not proved, as the rewards contradict the declared family)."
    if not status["proved"]:
        return f"{error} (a heuristic target, not proved)."
    if "estimand" not in status:
        return f"{error} (proved, if the rewards of each arm do not change over time)."
    return (
        f"{error} (proved, however the rewards change over time). It is about {status['estimand']}: the arm with the "
        "largest of these averages is best."
    )


def _findings(status: Status, book: Book) -> list[str]:
    promises = book.promises
    findings = [closed_undecided(status)] if book.closed_undecided else []
    if promises.watched and not promises.batched:
        behind = promises.behind()
        arm, until = behind.index(max(behind)), "close" if book.closed_undecided else "decision"
        findings.append(
            f"Before the {until}, {quoted(book.labels[arm])} was up to {behind[arm]:.2f} trials behind its floor; "
            "no arm was further behind."
        )
    if promises.batched:
        findings.append("Some trials were assigned outside the service, so the shares are judged at the stop.")
    if status["stopped"] and not promises.none:
        findings += _at_the_end(status, book)
    return findings + _doubts(status)


def _doubts(status: Status) -> list[str]:
    """What speaks against the declared family, and what could not be tested."""
    sentences = []
    for doubt in status["doubts"]:
        when = "after the decision" if doubt["after_decision"] else f"after {count(doubt['trial'], 'trial')}"
        sentences.append(f"{doubt['reason']} (found {when}).")
    if doubts_at_decision(status):
        sentences.append("For such rewards neither the error probability nor the intervals of the means are proved.")
    return sentences + [f"{hint}." for hint in status["hints"]]


def _at_the_end(status: Status, book: Book) -> list[str]:
    arms, missing, promises = status["arms"], short_of_floor(status), book.promises
    lacking = f"At the end, {len(missing)} of {len(arms)} arms are short of their floor."
    findings = [lacking if missing else "At the end, every arm has its floor, to less than one trial."]
    if promises.ceilings:
        kept = max(promises.beyond([arm["assigned"] for arm in arms])) < 1.0
        met = "every ceiling and group floor is" if kept else "not every ceiling and group floor is"
        findings.append(f"At the end, {met} met, to less than one trial.")
    return findings
