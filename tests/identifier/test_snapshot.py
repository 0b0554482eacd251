"""Snapshots: resuming at any point gives the very same arms, and a snapshot that cannot be read says why."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.identifier.snapshot import with_digests
from tests.identifier.site import ANSWERING, FAMILIES, RULES, Site, name
from tests.processes import run_python
from tests.testing.test_sampling_rules import Lottery

RATES = [fb.rates.Constant([0.1, 0.0, 0.5]), fb.rates.InverseGap(0.8), fb.rates.Softmax(0.5, temperature=2.0)]


def through_json(ident: fb.Identifier, **python_code: Any) -> fb.Identifier:
    text = json.dumps(ident.to_dict(), allow_nan=False)
    return fb.Identifier.from_dict(json.loads(text), same_draws=True, **python_code)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rates", RATES, ids=name)
@pytest.mark.parametrize("family", FAMILIES, ids=name)
@pytest.mark.parametrize("rule", RULES, ids=name)
def test_resumed_experiment_takes_the_very_same_arms(rates: Any, family: Any, rule: Any) -> None:
    """Interrupted at random, with up to ten rewards in flight and some lost, before and after the decision."""
    settings = {"family": family, "rates": rates, "sampling": rule, "seed": 8}
    most = 5000 if rule in ANSWERING else 200
    whole = Site(fb.Identifier(["a", "b", "c"], delta=0.05, **settings), seed=9, late=10, lost=0.1)
    while not whole.ident.stopped and len(whole.arms) < most:
        whole.visit()
    assert whole.ident.stopped or rule not in ANSWERING
    parts = Site(fb.Identifier(["a", "b", "c"], delta=0.05, **settings), seed=9, late=10, lost=0.1)
    rng = np.random.default_rng(0)
    while len(parts.arms) < len(whole.arms):
        parts.visit()
        if rng.random() < 0.1:
            parts.ident = through_json(parts.ident)
    assert parts.arms == whole.arms
    assert parts.ident.to_dict() == whole.ident.to_dict()


@pytest.mark.parametrize("trials", [0, 1, 2, 3, 10, 60])
def test_snapshot_of_a_resumed_experiment_is_the_same(trials: int) -> None:
    ident = fb.Identifier(3, delta=1e-9, family=fb.Gaussian(), rates=RATES[0], seed=3)
    site = Site(ident, late=2)
    for _ in range(trials):
        site.visit()
    form = ident.to_dict()
    assert form["version"] == 2
    assert through_json(ident).to_dict() == form == json.loads(json.dumps(form))
    after, before = through_json(ident).status(), ident.status()
    for field in ("assigned", "observed", "means", "shares", "floors"):
        assert np.array_equal(getattr(after, field), getattr(before, field), equal_nan=True)
    for field in ("glr", "threshold", "proved", "decided", "stopped", "recommendation", "expected_remaining"):
        assert getattr(after, field) == getattr(before, field)


def test_snapshot_is_a_copy() -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian())
    form = ident.to_dict()
    kept = copy.deepcopy(form)
    ident.tell(ident.ask(3), [1.0, 2.0, 3.0])
    assert form == kept
    restored = fb.Identifier.from_dict(form)
    restored.ask(5)
    assert form == kept


OTHER_PROCESS = """
import json, sys
import fairbai as fb
given = json.load(sys.stdin)
ident = fb.Identifier.from_dict(given["snapshot"], same_draws=True)
arms = []
for arm, reward in given["pending"]:
    ident.tell(arm, reward)
for reward in given["rewards"]:
    arms.append(ident.ask())
    ident.tell(arms[-1], reward[arms[-1]])
json.dump(arms, sys.stdout)
"""


@pytest.mark.parametrize("rule", [RULES[5]], ids=name)
def test_another_process_goes_on_with_the_same_arms(rule: Any) -> None:
    ident = fb.Identifier(3, delta=1e-9, family=fb.Bernoulli(), rates=RATES[1], sampling=rule, seed=5)
    site = Site(ident, late=8)
    for _ in range(60):
        site.visit()
    rewards = fb.Bernoulli().sample([0.9, 0.4, 0.2], np.random.default_rng(1), 40).tolist()
    given = {"snapshot": ident.to_dict(), "pending": site.pending, "rewards": rewards}
    printed = run_python("-c", OTHER_PROCESS, given=json.dumps(given))
    for arm, reward in site.pending:
        ident.tell(arm, reward)
    arms = []
    for reward in rewards:
        arms.append(ident.ask())
        ident.tell(arms[-1], reward[arms[-1]])
    assert json.loads(printed) == arms
    assert len(set(arms)) == 3


def test_python_code_is_given_again() -> None:
    custom = {"rates": fb.rates.Custom(lambda means: 0.1 + 0.1 * (means == means.max())), "sampling": Lottery()}
    whole = Site(fb.Identifier(3, delta=0.01, family=fb.Gaussian(), seed=2, **custom), seed=1, late=4).run()
    parts = Site(fb.Identifier(3, delta=0.01, family=fb.Gaussian(), seed=2, **custom), seed=1, late=4)
    while not parts.ident.stopped:
        parts.visit()
        if len(parts.arms) % 7 == 3:
            form = parts.ident.to_dict()
            assert form["rates"] is None
            assert form["sampling"] is None
            parts.ident = through_json(parts.ident, **custom)
    assert parts.arms == whole.arms


@pytest.mark.parametrize(
    ("given", "missing"),
    [({}, "rates"), ({"sampling": Lottery()}, "rates"), ({"rates": fb.rates.Custom(lambda means: 0.1)}, "sampling")],
    ids=["both", "rates", "sampling"],
)
def test_missing_python_code_is_asked_for(given: dict[str, Any], missing: str) -> None:
    form = fb.Identifier(
        3, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Custom(lambda means: 0.1), sampling=Lottery()
    ).to_dict()
    with pytest.raises(ValueError, match=f"{missing}.* Python code: give .* to from_dict"):
        fb.Identifier.from_dict(form, **given)


def good() -> dict[str, Any]:
    """A snapshot of an experiment that is decided and not yet stopped, with rewards in flight."""
    ident = fb.Identifier(
        ["a", "b"], delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant([0.1, 0.8]), sampling=fb.sampling.TopTwo()
    )
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, {"a": 2.0, "b": 0.0}[arm])
    ident.ask(2)
    assert not ident.stopped
    return json.loads(json.dumps(ident.to_dict()))


def test_good_snapshot_is_read() -> None:
    assert fb.Identifier.from_dict(good(), same_draws=True).to_dict() == good()


@pytest.mark.parametrize("version", [0, 3, "1", None, 1.5])
def test_unknown_version(version: Any) -> None:
    with pytest.raises(ValueError, match=f"snapshot must have version 1 or 2, got {version!r}"):
        fb.Identifier.from_dict({**good(), "version": version})


@pytest.mark.parametrize("form", [None, [], "text", 7, {}, {"arms": 2}])
def test_something_else_is_no_snapshot(form: Any) -> None:
    with pytest.raises(ValueError, match="snapshot must be a dictionary with a version"):
        fb.Identifier.from_dict(form)


@pytest.mark.parametrize("key", sorted(set(good()) - {"version", "doubts", "standing"}))
def test_missing_key(key: str) -> None:
    form = good()
    del form[key]
    with pytest.raises(ValueError, match=f"snapshot is damaged: .*{key}"):
        fb.Identifier.from_dict(form)


@pytest.mark.parametrize("key", sorted(good()["state"]))
def test_missing_row_or_wrong_length(key: str) -> None:
    for damage in ("missing", "short", "long", "text"):
        form = good()
        row = form["state"].pop(key)
        if damage != "missing":
            form["state"][key] = {"short": row[:-1], "long": [*row, 0.0], "text": "abc"}[damage]
        with pytest.raises(ValueError, match=f"snapshot is damaged: .*{key}"):
            fb.Identifier.from_dict(form)


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """A damage: the last entry of ``path`` takes the place of what the others lead to."""
    *where, last, value = path

    def damage(form: dict[str, Any]) -> None:
        for key in where:
            form = form[key]
        form[last] = value

    return damage


DAMAGES = {
    "observed above assigned": put("state", "observed", 0, 1e6),
    "negative count": put("state", "assigned", 0, -1.0),
    "half a trial": put("state", "observed", 0, 2.5),
    "nan sum": put("state", "sums", 0, float("nan")),
    "infinite sum": put("state", "sums", 0, float("inf")),
    "null sum": put("state", "sums", 0, None),
    "weights past one": put("state", "weights", [7.0, -3.0]),
    "settle is text": put("settle", "no"),
    "present floors past one": put("state", "floors", [0.9, 0.9]),
    "nan start": put("start", float("nan")),
    "start is text": put("start", "here"),
    "state is a list": put("state", []),
    "state is null": put("state", None),
    "decision is a list": put("decision", [1]),
    "decision without answer": put("decision", {"round": 3, "final_round": 4, "floors": [0.1, 0.8]}),
    "answer is no arm": put("decision", "recommendation", 7),
    "answer is negative": put("decision", "recommendation", -1),
    "end is text": put("decision", "final_round", "soon"),
    "end is infinite": put("decision", "final_round", float("inf")),
    "end before the decision": put("decision", "final_round", 0),
    "floors past one": put("decision", "floors", [0.9, 0.8]),
    "floors negative": put("decision", "floors", [-0.9, 0.8]),
    "delta": put("delta", 0.7),
    "delta is null": put("delta", None),
    "one arm": put("arms", ["a"]),
    "arms of the same name": put("arms", ["a", "a"]),
    "arms are null": put("arms", None),
    "more arms": put("arms", ["a", "b", "c"]),
    "unknown family": put("family", {"kind": "cauchy"}),
    "family is a number": put("family", 3),
    "family with a strange parameter": put("family", {"kind": "bernoulli", "variance": 3.0}),
    "rates past one": put("rates", {"kind": "constant", "floor": [0.9, 0.9]}),
    "unknown rule": put("sampling", {"kind": "oracle"}),
    "unknown stopping rule": put("stopping", {"kind": "never"}),
    "seed": put("seed", -1),
    "seed is text": put("seed", "7"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_snapshot(damage: Callable[[dict[str, Any]], None]) -> None:
    form = good()
    damage(form)
    with pytest.raises(ValueError, match=r"snapshot is damaged: ."):
        fb.Identifier.from_dict(form)


def test_message_says_what_is_wrong() -> None:
    form = good()
    form["state"]["observed"][0] = 1e6
    with pytest.raises(
        ValueError, match="snapshot is damaged: observed and lost must be whole numbers that together do not exceed"
    ):
        fb.Identifier.from_dict(form)


def in_first_version() -> dict[str, Any]:
    """What the first version wrote."""
    form = good()
    form["version"] = 1
    del form["digest"], form["state"]["lost"], form["stopping"]["alpha"]
    return form


def test_first_version_is_read_with_the_stopping_rule_that_it_had() -> None:
    ident = fb.Identifier.from_dict(in_first_version(), same_draws=True)
    assert ident.stopping == fb.stopping.Mixture(alpha=0.0)
    assert ident.to_dict() == with_digests({**good(), "stopping": ident.stopping.to_dict()})
    many = fb.Identifier(12, delta=0.1, family=fb.Gaussian()).to_dict()
    assert many["stopping"]["alpha"] == 0.1
    many["version"] = 1
    del many["stopping"]["alpha"]
    assert fb.Identifier.from_dict(many).stopping == fb.stopping.Mixture(alpha=0.0)


@pytest.mark.parametrize(
    "edit",
    [put("stopping", "kappa", 50.0), put("stopping", "alpha", 0.1), put("delta", 0.2), put("seed", 5)],
    ids=["kappa", "alpha", "delta", "seed"],
)
def test_an_edited_configuration_is_refused(edit: Callable[[dict[str, Any]], None]) -> None:
    """The proof needs a configuration that was fixed before the first reward."""
    form = good()
    edit(form)
    with pytest.raises(ValueError, match=r"configuration was edited: .* must be fixed before the experiment"):
        fb.Identifier.from_dict(form)


@pytest.mark.parametrize(
    "edit",
    [
        put("state", "sums", 0, 50.0),
        put("state", "assigned", 0, 99.0),
        put("decision", "recommendation", 1),
        put("decision", "confidence", 0.999),
        put("decision", None),
        put("doubts", "tests", 0, 0, 5.0),
        put("ended", "deadline"),
        put("start", 7.0),
    ],
    ids=["sums", "assigned", "answer", "confidence", "no decision", "doubts", "ended", "start"],
)
def test_an_edited_state_is_refused(edit: Callable[[dict[str, Any]], None]) -> None:
    """An edit that is possible, so that nothing else would notice it: the evidence would be another."""
    form = good()
    edit(form)
    with pytest.raises(ValueError, match="snapshot is damaged: its counts, sums or decision are not those that were"):
        fb.Identifier.from_dict(form)


def test_other_programs_may_write_whole_numbers_without_a_point() -> None:
    form = good()
    text = json.dumps(form).replace(".0,", ",").replace(".0]", "]").replace(".0}", "}")
    assert text != json.dumps(form)
    assert fb.Identifier.from_dict(json.loads(text)).to_dict() == form


def test_trials_that_were_given_up_are_kept() -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian())
    ident.ask(6)
    ident.give_up(0, 2)
    again = through_json(ident)
    assert again.to_dict() == ident.to_dict()
    with pytest.raises(ValueError, match="arm 0 has no pending trials, got 1 to give up"):
        again.give_up(0)
