"""The checker finds what is lost, doubled or wrong: each history here differs from a good one in one point."""

from dataclasses import replace

import pytest

from tests.faults.history import Asked, Event, Log, Paused, Seen, Strange, Told, Voided, check

GOOD: list[Event] = [
    Asked("x", "k1", 2, (("0", "a"), ("1", "b"))),
    Asked("x", "k1", 2, (("0", "a"), ("1", "b"))),  # repeated
    Asked("x", "k2", 2, None),  # it may have happened: it has
    Asked("x", "user-1", 1, (("4", "a"),)),
    Asked("x", "user-1", 1, (("4", "a"),)),  # it comes again
    Asked("x", "user-1", 1, None),
    Told("x", "a", 0.25, True),
    Told("x", "a", 0.25, True),  # repeated
    Told("x", "b", 0.5, False),  # it may have happened: it has not
    Voided("x", "a", 0.25, True),
    Voided("x", "a", 0.25, True),  # repeated
    Paused("x", 5.0, 6.0),
    Asked("x", "k4", 1, None, 4.0, 4.5),  # it may have got its ticket before the pause
    Asked("x", "k4", 1, (("5", "b"),), 5.2, 5.4),
    Seen("x", 0.0, 1.0, None),
    Seen("x", 2.0, 3.0, "a"),
    Seen("x", 2.5, 4.0, None),  # at the same time: perhaps before the decision
    Seen("x", 3.5, 4.5, "a"),
]
LOG = Log(["a", "b", "a", "b", "a", "b"], [("a", 0.25)], ("a", "b"), floor=0.4, voided=[("a", 0.25)])


def test_a_good_history() -> None:
    verdict = check(GOOD, {"x": LOG})
    assert verdict.good, verdict
    assert (verdict.acknowledged, verdict.unanswered, verdict.visits, verdict.units) == (1, 4, 2, 1)
    assert (verdict.voided, verdict.pauses) == (1, 1)


BAD: list[tuple[str, str, list[Event], Log]] = [
    ("a lost reward", "lost", [], replace(LOG, told=[])),
    ("a doubled reward", "doubled", [], replace(LOG, told=[("a", 0.25), ("a", 0.25)])),
    ("a reward that nobody sent", "wrong", [], replace(LOG, told=[("a", 0.25), ("b", 0.75)])),
    ("a reward of another arm", "wrong", [], replace(LOG, told=[("b", 0.25)])),
    ("a lost void", "lost", [], replace(LOG, voided=[])),
    ("a doubled void", "doubled", [], replace(LOG, voided=[("a", 0.25), ("a", 0.25)])),
    ("a void that nobody sent", "wrong", [], replace(LOG, voided=[("a", 0.25), ("b", 0.5)])),
    (
        "a ticket in a pause",
        "wrong",
        [Asked("x", "k5", 1, (("6", "a"),), 5.2, 5.4)],
        replace(LOG, asked=[*LOG.asked, "a"]),
    ),
    ("a lost ticket", "lost", [], replace(LOG, asked=["a", "b", "b", "b"], floor=0.0)),
    ("an ask done twice", "doubled", [], replace(LOG, asked=["a", "b", "a", "b", "a", "b", "a"])),
    ("a unit with two tickets", "wrong", [Asked("x", "user-1", 1, (("3", "b"),))], LOG),
    ("a ticket of two units", "doubled", [Asked("x", "user-2", 1, (("4", "a"),))], replace(LOG, floor=0.0)),
    ("a ticket given twice", "doubled", [Asked("x", "k3", 1, (("1", "b"),))], LOG),
    ("another answer to the same ask", "wrong", [Asked("x", "k1", 2, (("0", "a"), ("2", "b")))], LOG),
    ("floors that are not kept", "wrong", [], replace(LOG, asked=["a", "a", "a", "a", "b", "b"])),
    ("an arm that is never assigned", "wrong", [], replace(LOG, arms=("a", "b", "c"), asked=["a", "b", "a", "b"])),
    ("another decision", "wrong", [Seen("x", 5.0, 6.0, "b")], LOG),
    ("a decision that is taken back", "wrong", [Seen("x", 5.0, 6.0, None)], LOG),
    ("an answer that should not be", "wrong", [Strange("500 to a tell")], LOG),
]


@pytest.mark.parametrize(("kind", "more", "log"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_history(kind: str, more: list[Event], log: Log) -> None:
    verdict = check([*GOOD, *more], {"x": log})
    found = {name for name in ("lost", "doubled", "wrong") if getattr(verdict, name)}
    assert found == {kind}, verdict
