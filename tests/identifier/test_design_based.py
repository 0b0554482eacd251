"""Live experiments with the design-based stop: trials in order of assignment, late rewards, batches, whole cycles."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.stopping import design as kernels

ARMS = ["a", "b", "c"]
MEANS = {"a": 0.6, "b": 0.3, "c": 0.2}


def identifier(**settings: Any) -> fb.Identifier:
    given = {"family": "bernoulli", "rates": 0.2, "stopping": fb.stopping.DesignBased(0.1), "seed": 3, **settings}
    return fb.Identifier(ARMS, 0.05, **given)


def evidence(ident: fb.Identifier) -> tuple[Any, ...]:
    """All that the stop knows."""
    one = ident.procedure.experiment
    return one.state[kernels.COUNT :].tolist(), one.scalars.tolist()


def rewards(seed: int, count: int = 2000) -> np.ndarray:
    """What every arm would earn in every trial, in the order of ``ARMS``."""
    return (np.random.default_rng(seed).random((count, 3)) < list(MEANS.values())).astype(float)


def test_an_experiment_from_start_to_end() -> None:
    ident, earned = identifier(settle=False), rewards(0)
    while not ident.stopped:
        trial = ident.ask_trial()
        assert trial.probability is not None
        assert trial.probability >= 0.2 - 1e-12
        ident.tell(trial, earned[trial.number, ARMS.index(trial.arm)])
    status, found = ident.status(), ident.averages()
    assert ident.recommendation == "a"
    assert status.proved
    assert found.trials == ident.trials == status.observed.sum()
    assert found.confidence >= 0.95
    assert status.glr >= status.threshold
    assert found.leader == 0
    assert np.all(found.differences[1:, 0] > 0.0)


def test_rewards_in_any_order_give_the_same_evidence() -> None:
    """They are summed in the order of assignment, up to the first that is missing."""
    rng, earned = np.random.default_rng(1), rewards(1)
    one, other = identifier(), identifier()
    trials, again = one.ask_trial(40), other.ask_trial(40)
    assert trials == again
    for trial in trials:
        one.tell(trial, earned[trial.number, ARMS.index(trial.arm)])
    order = rng.permutation(40)
    told: set[int] = set()
    for place in order:
        trial = again[place]
        other.tell(trial, earned[trial.number, ARMS.index(trial.arm)])
        told.add(trial.number)
        counted = next(number for number in range(41) if number not in told)
        assert other.averages().trials == counted
        assert other.open_trials == 40 - counted
    assert evidence(one) == evidence(other)
    assert one.ask_trial(5) == other.ask_trial(5)


def test_lists_and_labels() -> None:
    ident = identifier()
    arms = ident.ask(3)
    ident.tell(ident.ask_trial(), 1)  # waits for those before it
    assert ident.averages().trials == 0
    if len(set(arms)) == 3:
        ident.tell(arms, [1, 0, 1])
        assert ident.averages().trials == 4
    ident = identifier()
    for _ in range(5):
        ident.tell(ident.ask(), 1)
    assert ident.averages().trials == 5


def test_rewards_that_cannot_be() -> None:
    ident = identifier()
    first, second = ident.ask_trial(2)
    ident.tell(first, 1)
    with pytest.raises(ValueError, match=r"^trial 0 already has a reward$"):
        ident.tell(first, 1)
    ident.tell(second, 0)
    third, fourth = ident.ask_trial(2)
    ident.tell(fourth, 1)
    with pytest.raises(ValueError, match=r"^trial 3 already has reward 1.0$"):
        ident.tell(fourth, 1)
    with pytest.raises(ValueError, match=r"^trial 9 has not been assigned: there are 4 trials so far$"):
        ident.tell(fb.Trial(9, "a"), 1)
    wrong = next(arm for arm in ARMS if arm != third.arm)
    with pytest.raises(ValueError, match=f"^trial 2 must be of arm '{third.arm}', got '{wrong}'$"):
        ident.tell(fb.Trial(2, wrong), 1)
    with pytest.raises(ValueError, match=r"^design_based counts every trial: give report_after"):
        ident.give_up(third.arm)
    with pytest.raises(ValueError, match=r"^averages need the stopping rule design_based, got mixture$"):
        fb.Identifier(2, 0.1, "bernoulli").averages()


def test_silence_counts_after_a_while() -> None:
    """A trial that is silent at the age of three trials counts as 0, one that was told counts at once."""
    ident = identifier(report_after=3, silence=0)
    trials = [ident.ask_trial() for _ in range(3)]
    ident.tell(trials[1], 1)
    assert ident.averages().trials == 0
    ident.ask_trial()
    assert ident.averages().trials == 2  # the first, which is of age, and the second, which had been told
    assert ident.status().observed.sum() == 2
    ident.tell(trials[0], 1)
    assert ident.status().late == 1
    ident.ask_trial()
    assert ident.averages().trials == 2  # the third becomes of age with the next
    ident.ask_trial()
    assert ident.averages().trials == 3
    with pytest.raises(ValueError, match=r"n must be at most report_after \(3\)"):
        ident.ask(4)


@pytest.mark.parametrize("late", [{}, {"report_after": 7, "silence": 0.0}])
def test_snapshots_go_on_exactly(late: dict[str, Any]) -> None:
    earned, waits = rewards(5), np.random.default_rng(4).integers(0, 6, 2000)
    one = other = identifier(settle=True, **late)
    calendar: dict[int, list[fb.Trial]] = {}
    for now in range(150):
        if other is not one or now == 60:
            other = fb.Identifier.from_dict(json.loads(json.dumps(other.to_dict())), same_draws=True)
        trial, again = one.ask_trial(), trial_of(other, one)
        assert again is None or trial == again
        calendar.setdefault(now + int(waits[now]), []).append(trial)
        for told in calendar.pop(now, []):
            for ident in {id(one): one, id(other): other}.values():
                ident.tell(told, earned[told.number, ARMS.index(told.arm)])
        if other is not one:
            assert evidence(one) == evidence(other)
            assert one.to_dict() == other.to_dict()


def trial_of(other: fb.Identifier, one: fb.Identifier) -> fb.Trial | None:
    return None if other is one else other.ask_trial()


def test_damaged_snapshots() -> None:
    ident = identifier()
    for _ in range(10):
        ident.tell(ident.ask(), 1)
    ident.ask_trial(3)
    form = json.loads(json.dumps(ident.to_dict()))
    for change in (
        {"design": {**form["design"], "rows": form["design"]["rows"][1:]}},
        {"design": {**form["design"], "counted": -1}},
        {"trials": {**form["trials"], "probabilities": [0.2]}},
        {"trials": {**form["trials"], "probabilities": [0.2, 0.5, 1.5]}},
        {"look_every": 7},
    ):
        with pytest.raises(ValueError, match=r"^snapshot is damaged: "):
            fb.Identifier.from_dict({**form, **change})
    with pytest.raises(ValueError, match=r"^snapshot is damaged: "):
        fb.Identifier.from_dict({name: value for name, value in form.items() if name != "design"})


def test_snapshots_do_not_grow_with_the_trials() -> None:
    ident, earned = identifier(look_every=0), rewards(7)
    sizes = []
    for number in range(120):
        trial = ident.ask_trial()
        ident.tell(trial, earned[number, ARMS.index(trial.arm)])
        if number % 40 == 39:
            sizes.append(len(ident.to_dict()["design"]["rows"]))
    assert len(set(sizes)) == 1


def test_trials_that_the_caller_keeps() -> None:
    """The same evidence as with trials that are held; only the next ones are taken."""
    one, other, earned = identifier(settle=True), identifier(settle=True, hold_trials=False), rewards(3)
    while not one.stopped:
        n = min(4, 1 + one.trials % 5)
        trials, kept = one.ask_trial(n), other.ask_trial(n)
        assert trials == kept
        assert other.open_trials == len(kept)
        values = [earned[trial.number, ARMS.index(trial.arm)] for trial in trials]
        one.tell(trials, values)
        if len(kept) > 1:
            with pytest.raises(ValueError, match=f"^trial {kept[0].number} is the next to be told, .* got trial"):
                other.tell(kept[1], values[1])
            with pytest.raises(ValueError, match=r"is the next to be told, in the order of assignment, got an arm$"):
                other.tell(kept[0].arm, values[0])
            other = fb.Identifier.from_dict(json.loads(json.dumps(other.to_dict())), same_draws=True)
        other.tell(kept, values)
        assert evidence(one) == evidence(other)
        assert one.status().assigned.tolist() == other.status().assigned.tolist()
    assert one.recommendation == other.recommendation == "a"
    assert other.to_dict()["trials"] == {"first": other.trials}


def test_trials_that_a_restore_has_lost_are_refused() -> None:
    """The caller keeps two trials; the second was drawn after the snapshot, and its place is drawn anew."""
    ident = identifier(hold_trials=False)
    kept = ident.ask_trial()
    form = json.loads(json.dumps(ident.to_dict()))
    lost = ident.ask_trial()
    again = fb.Identifier.from_dict(form)
    again.procedure.restart_stream(5)
    drawn = again.ask_trial()
    again = fb.Identifier.from_dict(json.loads(json.dumps(again.to_dict())), same_draws=True)
    again.tell(kept, 1.0)
    with pytest.raises(ValueError, match="trial 1 must be what ask_trial returned, with its tag"):
        again.tell(lost, 1.0)
    again.tell(drawn, 1.0)


def test_trials_that_the_caller_keeps_badly() -> None:
    ident = identifier(hold_trials=False)
    trial = ident.ask_trial()
    with pytest.raises(ValueError, match=r"^probability of arm .* must be from 0.2 to 1, got 0.1$"):
        ident.tell(fb.Trial(0, trial.arm, 0.1), 1)
    with pytest.raises(ValueError, match=r"^trial 0 must have the probability with which it was drawn, got None$"):
        ident.tell(dataclasses.replace(trial, probability=None), 1)
    other = next(arm for arm in ARMS if arm != trial.arm)
    for changed in ({"arm": other}, {"probability": 0.5}, {"tag": None}):
        with pytest.raises(ValueError, match=r"^trial 0 must be what ask_trial returned, with its tag, got arm"):
            ident.tell(dataclasses.replace(trial, **changed), 1)
    ident.tell(fb.Trial(**json.loads(json.dumps(dataclasses.asdict(trial)))), 1)  # as it was kept
    with pytest.raises(ValueError, match="trial 1 is the next to be told"):
        ident.tell(fb.Trial(1, "a", 0.5), 1)
    with pytest.raises(ValueError, match=r"^report_after and silence need hold_trials"):
        identifier(hold_trials=False, report_after=5, silence=0)
    with pytest.raises(ValueError, match=r"^hold_trials=False is for the stopping rule design_based"):
        fb.Identifier(2, 0.1, "bernoulli", hold_trials=False)


# --- batches --------------------------------------------------------------------------------------------------------


def test_batches_drawn_from_the_policy() -> None:
    rng, ident = np.random.default_rng(2), identifier(settle=False)
    while not ident.stopped:
        policy = ident.policy(100)
        assert np.all(policy >= 0.2 - 1e-9)
        pulls = rng.multinomial(100, policy / policy.sum())
        ident.tell_batch(pulls, rng.binomial(pulls, list(MEANS.values())), probabilities=policy)
    assert ident.recommendation == "a"
    assert ident.averages().trials == ident.trials
    trials = ident.trials
    ident.tell_batch([1, 1, 1], [1, 0, 0], probabilities=[0.4, 0.3, 0.3])  # after the decision: no evidence
    assert ident.averages().trials == trials
    assert ident.decided


def test_batches_and_trials_in_turn() -> None:
    ident = identifier()
    for _ in range(3):
        ident.tell(ident.ask_trial(), 1)
        ident.tell_batch([10, 5, 5], [5, 2, 1], probabilities=[0.5, 0.25, 0.25])
    assert ident.averages().trials == 63
    trial = ident.ask_trial()
    assert trial.number == 63
    with pytest.raises(
        ValueError, match=r"^a batch can be told only when all trials before it have their rewards: 1 are"
    ):
        ident.tell_batch([10, 5, 5], [5, 2, 1], probabilities=[0.5, 0.25, 0.25])
    ident.tell(trial, 0)
    assert ident.averages().trials == 64


def test_batches_of_bounded_rewards_need_squares() -> None:
    ident = identifier(family=fb.Bounded(0.0, 10.0))
    batch: dict[str, Any] = {"pulls": [10, 5, 5], "sums": [60, 20, 10], "probabilities": [0.5, 0.25, 0.25]}
    with pytest.raises(ValueError, match=r"^squares must be given for bounded rewards with design_based"):
        ident.tell_batch(**batch)
    with pytest.raises(ValueError, match=r"^squares must be possible for these pulls and sums, got 20.0 for arm 0$"):
        ident.tell_batch(**batch, squares=[20.0, 90.0, 30.0])
    ident.tell_batch(**batch, squares=[400.0, 90.0, 30.0])
    assert ident.status().means.tolist() == pytest.approx([6.0, 4.0, 2.0])
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.to_dict() == ident.to_dict()
    assert again.ask_trial() == ident.ask_trial()


BATCH: dict[str, Any] = {"pulls": [10, 5, 5], "sums": [6, 2, 1]}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "probabilities must be given with design_based"),
        (
            {"probabilities": [0.5, 0.4, 0.1]},
            "probabilities must be at least what the rule guarantees, got 0.1 for arm 2",
        ),
        ({"probabilities": [0.5, 0.4, 0.4]}, r"probabilities must sum to 1, got 1.3"),
        ({"probabilities": [0.5, 0.5]}, r"probabilities must have one entry per arm \(3\), got 2"),
        (
            {"probabilities": [0.5, 0.25, 0.25], "squares": [6, 2, 2]},
            "squares must be the sums for bernoulli arms, got 2",
        ),
    ],
)
def test_batches_that_are_refused(more: dict[str, Any], message: str) -> None:
    ident = identifier()
    before = ident.to_dict()
    with pytest.raises(ValueError, match=f"^{message}"):
        ident.tell_batch(**BATCH, **more)
    assert ident.to_dict() == before
    with pytest.raises(
        ValueError, match=r"^probabilities are for the stopping rule design_based, got them for mixture$"
    ):
        fb.Identifier(3, 0.1, "bernoulli").tell_batch(**BATCH, probabilities=[0.5, 0.25, 0.25])


# --- whole cycles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopping", [fb.stopping.DesignBased(0.1), fb.stopping.Mixture()])
def test_decisions_at_the_end_of_whole_cycles(stopping: Any) -> None:
    earned, ends = rewards(9), []
    for every in (1, 50):
        ident = identifier(stopping=stopping, look_every=every, settle=False)
        while not ident.decided:
            trial = ident.ask_trial()
            ident.tell(trial, earned[trial.number, ARMS.index(trial.arm)])
        ends.append(ident.trials)
    assert ends[1] % 50 == 0
    assert ends[0] <= ends[1]


def test_decisions_when_they_are_asked_for() -> None:
    ident, earned = identifier(look_every=0, settle=False), rewards(9)
    for number in range(600):
        trial = ident.ask_trial()
        ident.tell(trial, earned[number, ARMS.index(trial.arm)])
        assert not ident.decided
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.look()
    assert ident.look()
    assert ident.to_dict() == again.to_dict()
    assert again.recommendation == "a"
    with pytest.raises(ValueError, match="look_every must be a whole number from 0, got -1"):
        identifier(look_every=-1)


def test_a_list_of_rewards_is_looked_at_where_a_cycle_ends() -> None:
    ident = identifier(stopping=fb.stopping.Mixture(), look_every=30, settle=False, rates=None)
    arms = ident.ask(45)
    ident.tell(arms, [1.0 if arm == "a" else 0.0 for arm in arms])
    assert ident.decided
    assert ident.decision is not None
    assert ident.decision.glr >= ident.decision.threshold


# --- delays that depend on the outcome -------------------------------------------------------------------------------


@pytest.mark.slow_without_jit
def test_delays_that_depend_on_the_outcome_keep_the_errors_below_delta() -> None:
    """Successes of the worse arm come at once, those of the better one late, and failures are never told.

    At delta = 0.05, 4 or more wrong answers of 25 would happen with probability 0.035 at most.
    """
    means, age, wrong = {"better": 0.4, "worse": 0.3}, 300, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        stopping = fb.stopping.DesignBased.for_instance(fb.Instance([0.4, 0.3], "bernoulli", rates=0.3))
        late: dict[str, Any] = {"report_after": age, "silence": 0, "settle": False, "seed": seed}
        ident = fb.Identifier(list(means), 0.05, "bernoulli", rates=0.3, stopping=stopping, **late)
        calendar: dict[int, list[fb.Trial]] = {}
        while not ident.decided:
            trial = ident.ask_trial()
            if rng.random() < means[str(trial.arm)]:
                wait = int(rng.integers(age // 2, age)) if trial.arm == "better" else 0
                calendar.setdefault(trial.number + wait, []).append(trial)
            for known in calendar.pop(trial.number, []):
                ident.tell(known, 1)
        wrong += ident.recommendation == "worse"
    assert wrong <= 3


def test_order_of_assignment_undoes_delays_by_outcome() -> None:
    """All outcomes of four coin flips, told late if they are 1: the mean of the evidence is at most 1 at every look."""
    for trials in (2, 4):
        mean = 0.0
        for outcomes in range(2**trials):
            values = [float(outcomes >> place & 1) for place in range(trials)]
            for arms in range(2**trials):
                ident = fb.Identifier(2, 0.05, "bernoulli", rates=0.5, stopping=fb.stopping.DesignBased(0.3))
                drawn = [arms >> place & 1 for place in range(trials)]
                opened = ident.procedure.open_trials
                for arm in drawn:
                    ident.procedure.experiment.count_assigned(arm)
                    opened.add(arm, 0.5)  # type: ignore[call-arg, union-attr]
                order = sorted(range(trials), key=lambda place: (values[place], place))
                peak = stopped = None
                for place in order:
                    ident.tell(fb.Trial(place, drawn[place]), values[place])
                    one = ident.procedure.experiment
                    peak = math.exp(kernels.pair_score(one.state, one.scalars, 0, 1))
                    if stopped is None and peak >= 1.05:
                        stopped = peak  # a stop at the first good moment
                mean += (stopped if stopped is not None else peak or 1.0) / 4**trials
        assert mean <= 1.0 + 1e-12
