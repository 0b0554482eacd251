"""What an experiment promised, and what was kept of it."""

from typing import Any

from fairbai import __version__
from fairbai.identifier.snapshot import changing
from fairbai.service.book import Book
from fairbai.service.listing import state_of
from fairbai.service.summary import percentage, quoted, short_of_floor, span

Answer = dict[str, Any]


def audited(status: Answer, book: Book, kept: bool | None, replay: Answer | None) -> Answer:
    """The audit of an experiment.

    Args:
        status: What ``reading.described`` says.
        book: The experiment.
        kept: Whether its promises are kept, as its row says.
        replay: The last replay of its log, if there was one.
    """
    decision = changing(book.identifier)["decision"]
    config = status["config"]
    return {
        "id": status["id"],
        "name": status["name"],
        "state": state_of(status["decided"], status["closed"]),
        "created_at": status["created_at"],
        "version": status["version"],
        "library": __version__,
        "trials": status["trials"],
        "observed": status["observed"],
        "decided_after": None if decision is None else decision["round"],
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
        "findings": _findings(status, book, kept),
        "replay": replay,
    }


def _arms(status: Answer, book: Book) -> list[Answer]:
    promises, trials = book.promises, status["trials"]
    none: list[float | None] = [None] * len(book.labels)
    watched, proved = promises.floors is not None, promises.on_every_path
    allowed = promises.allowed
    behind = promises.behind() if watched else none
    above = promises.above() or none
    return [
        {
            **{name: arm[name] for name in ("arm", "assigned", "observed", "mean", "share", "floor", "ceiling")},
            "missing": max(0.0, arm["floor"] * trials - arm["assigned"]),
            "behind": behind[number],
            "behind_allowed": allowed.behind[number] if proved else None,
            "above": above[number],
            "above_allowed": allowed.above[number] if proved and promises.ceilings else None,
        }
        for number, arm in enumerate(status["arms"])
    ]


def _groups(status: Answer, book: Book) -> list[Answer]:
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


def _promised(status: Answer, book: Book) -> list[str]:
    delta, identifier = status["config"]["delta"], book.identifier
    error = f"The recommendation is wrong with probability at most {percentage(delta)}"
    sentences = [f"{error}; this is proved." if status["proved"] else f"{error}: a heuristic aim, not proved."]
    floors = [arm["floor"] for arm in status["arms"]]
    if book.promises.floors is None:
        sentences.append("Every arm has its floor when the experiment stops; the floors were learned with the means.")
    elif not book.promises.watched:
        sentences.append("No shares were promised.")
    elif book.promises.on_every_path:
        bound = max(book.promises.allowed.behind)
        sentences.append(
            f"Until the decision no arm is ever more than {bound:.2f} trials behind its floor "
            f"({span(floors)} of the trials)."
        )
    if book.promises.ceilings:
        sentences.append("No arm has more than its ceiling, in the same sense.")
    if identifier.settle and (book.promises.watched or book.promises.floors is None):
        sentences.append("At the stop every floor is met.")
    return sentences


def _findings(status: Answer, book: Book, kept: bool | None) -> list[str]:
    promises, findings = book.promises, []
    if promises.watched and not promises.batched:
        behind = promises.behind()
        arm = behind.index(max(behind))
        findings.append(
            f"{quoted(book.labels[arm])} was {behind[arm]:.2f} trials behind its floor before the decision, "
            "and no arm ever more."
        )
    if promises.batched:
        findings.append("A part of the trials was assigned by others, so the shares are judged at the stop.")
    missing = short_of_floor(status)
    if status["stopped"] and (promises.watched or promises.floors is None):
        findings.append(
            f"At the end {len(missing)} of {len(status['arms'])} arms lack trials for their floor."
            if missing
            else "At the end every arm has its floor, to less than one trial."
        )
    if kept is None:
        findings.append("The shares are promised for the stop, which has not come yet.")
    return findings
