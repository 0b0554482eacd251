"""What an experiment guaranteed, and whether it was kept."""

from fairbai import __version__
from fairbai.service.domain.audit_answers import Audit, AuditedArm, AuditedGroup, Replayed
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.status_answers import Status
from fairbai.service.reading.promised import promised, watched_trials
from fairbai.service.reading.reader import Reading
from fairbai.service.reading.summary import doubts_at_decision, lacking, short_of_floor, voided_sentence
from fairbai.service.reading.words import count, moment, quoted

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
            "sentences": promised(status, book),
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
    allowed, most_behind = promises.allowed, promises.most_behind(watched_trials(book))
    behind = promises.behind() if watched else none
    above = promises.above() or none
    found: list[AuditedArm] = [
        {
            "arm": arm["arm"],
            "assigned": arm["assigned"],
            "observed": arm["observed"],
            "mean": arm["mean"],
            "share": arm["share"],
            "floor": arm["floor"],
            "ceiling": arm["ceiling"],
            "missing": max(0.0, lacking(arm, trials)),
            "behind": behind[number],
            "behind_allowed": most_behind[number] if proved else None,
            "above": above[number],
            "above_allowed": allowed.above[number] if proved and promises.ceilings else None,
        }
        for number, arm in enumerate(status["arms"])
    ]
    for one, arm in zip(found, status["arms"], strict=True):
        one |= {"available": arm["available"]} if "available" in arm else {}
    return found


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


def _findings(status: Status, book: Book) -> list[str]:
    promises = book.promises
    findings = [f"After {count(status['trials'], 'trial')}: {status['sentence']}"] if book.undecided_for_good else []
    if status["waits"] is not None:
        findings.append(status["waits"]["sentence"])
    if promises.watched and not promises.batched:
        findings.append(_furthest_behind(book))
    if promises.batched:
        findings.append("Some trials were assigned outside the service, so the shares are judged at the stop.")
        findings += _batches(book)
    if status["stopped"] and not promises.none:
        findings += _at_the_end(status, book)
    return findings + _availability(status) + _interventions(status) + _doubts(status)


def _batches(book: Book) -> list[str]:
    """When batches are counted, where that is not when they come."""
    if not book.queue.last:
        return []
    sentences = ["The batches of a policy are counted as one, at a time that was fixed when it was published."]
    if (at := book.queue.next_at) is not None:
        sentences.append(f"{count(book.queue.trials, 'trial')} in batches wait, the first until {moment(iso(at))}.")
    if book.late and not book.tickets:
        sentences.append(f"{count(book.late, 'trial')} came in batches after that, and are no evidence.")
    return sentences


def _availability(status: Status) -> list[str]:
    """The arms that could not always be chosen."""
    trials = status["trials"]
    some = [(arm["arm"], arm.get("available", trials)) for arm in status["arms"]]
    return [f"{quoted(arm)} was available in {n:,} of {count(trials, 'trial')}." for arm, n in some if n < trials]


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
    short = f"At the end, {len(missing)} of {len(arms)} arms are short of their floor."
    findings = [short if missing else "At the end, every arm has its floor, to less than one trial."]
    if promises.ceilings:
        kept = max(promises.beyond([arm["assigned"] for arm in arms])) < 1.0
        groups = "group limit" if promises.group_ceilings else "group floor"
        met = f"every ceiling and {groups} is" if kept else f"not every ceiling and {groups} is"
        findings.append(f"At the end, {met} met, to less than one trial.")
    return findings
