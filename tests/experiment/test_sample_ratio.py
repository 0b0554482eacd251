"""The sample ratio: e-values by definition, means of exactly 1, false alarms, and how soon a mismatch shows."""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.sample_ratio import DeclaredShares, DrawnShares
from fairbai.identifier.snapshot import with_digests
from fairbai.kernels.sample_ratio import BETS, CONCENTRATIONS, EDGE


def dirichlet_multinomial(counts: list[int], shares: list[float]) -> float:
    """The e-value against declared shares, by its closed form."""
    total = sum(counts)
    logs = []
    for c in CONCENTRATIONS.tolist():
        value = math.lgamma(c) - math.lgamma(c + total)
        for n, p in zip(counts, shares, strict=True):
            value += math.lgamma(c * p + n) - math.lgamma(c * p) - n * math.log(p)
        logs.append(value)
    return sum(math.exp(value) for value in logs) / len(logs)


def products(arms: list[int], chances: list[float], least: list[float]) -> float:
    """The e-value against logged probabilities: the products of all factors, averaged."""
    values = []
    for arm, floor in enumerate(least):
        for bet in (np.concatenate([BETS * floor, floor ** (np.arange(1, 8) / 8)]) * EDGE).tolist():
            factors = (1 + bet * ((drawn == arm) / p - 1) for drawn, p in zip(arms, chances, strict=True))
            values.append(math.prod(factors))
    return sum(values) / len(values)


def test_declared_shares_by_definition() -> None:
    rng = np.random.default_rng(0)
    shares = [0.2, 0.3, 0.5]
    arms = rng.choice(3, 200, p=[0.3, 0.3, 0.4])
    test = DeclaredShares(shares)
    for number, arm in enumerate(arms, 1):
        test.count(int(arm))
        if number % 20 == 0:
            counts = np.bincount(arms[:number], minlength=3).tolist()
            assert test.e_value == pytest.approx(dirichlet_multinomial(counts, shares), rel=1e-9)


def test_totals_are_the_same_as_trials() -> None:
    counts = np.array([40.0, 70.0, 90.0])
    one, other = DeclaredShares([0.2, 0.3, 0.5], 0.01), DeclaredShares([0.2, 0.3, 0.5], 0.01)
    one.count_rows(np.repeat([0, 1, 2], counts.astype(int)))
    other.count_totals(counts)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-9)
    assert other.trials == one.trials == 200
    with pytest.raises(ValueError, match="totals must come before any other trials, got 200 trials already"):
        other.count_totals(counts)
    far = DeclaredShares([0.5, 0.5])
    far.count_totals(np.array([900.0, 1100.0]))
    assert (far.mismatch, far.found) == (True, 2000)


def test_logged_probabilities_by_definition() -> None:
    rng = np.random.default_rng(1)
    least = [0.2, 0.3]
    chances = rng.uniform(0.2, 0.7, 60)
    arms = (rng.random(60) >= chances).astype(int)
    drawn = np.where(arms == 0, chances, 1 - chances)
    test = DrawnShares(least)
    for number, (arm, p) in enumerate(zip(arms, drawn, strict=True), 1):
        test.count(int(arm), float(p))
        expected = products(arms[:number].tolist(), drawn[:number].tolist(), least)
        assert test.e_value == pytest.approx(expected, rel=1e-9)
    assert test.ratios.tolist() == pytest.approx([(1 / drawn[arms == arm]).sum() / 60 for arm in (0, 1)])


def test_the_mean_of_the_e_value_is_one() -> None:
    """Over all sequences of eight trials, weighted by their probabilities, which may depend on the past."""

    def chance(past: tuple[int, ...]) -> float:
        return 0.2 + 0.6 * (sum(past) % 3) / 2  # of arm 0

    mean_declared = mean_drawn = 0.0
    for sequence in itertools.product((0, 1), repeat=8):
        declared, drawn = DeclaredShares([0.3, 0.7]), DrawnShares([0.2, 0.2])
        fixed = adaptive = 1.0
        for place, arm in enumerate(sequence):
            p = chance(sequence[:place])
            p = p if arm == 0 else 1 - p
            declared.count(arm)
            drawn.count(arm, p)
            fixed *= 0.3 if arm == 0 else 0.7
            adaptive *= p
        mean_declared += fixed * declared.e_value
        mean_drawn += adaptive * drawn.e_value
    assert mean_declared == pytest.approx(1.0, rel=1e-12)
    assert mean_drawn == pytest.approx(1.0, rel=1e-12)


def many(make: Any, true: list[float], runs: int, rows: int, declared: list[float]) -> list[float]:
    """After how many trials each of many logs shows a mismatch; infinite if it never does."""
    rng, found = np.random.default_rng(2), []
    for _ in range(runs):
        test, arms = make(), rng.choice(len(true), rows, p=true)
        test.count_rows(arms, np.array(declared)[arms])
        found.append(math.inf if test.found is None else float(test.found))
    return found


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", [DeclaredShares, DrawnShares])
@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.2, 0.3, 0.5]])
def test_false_alarms_are_as_rare_as_declared(kind: Any, shares: list[float]) -> None:
    found = many(lambda: kind(shares, 0.1), shares, 400, 3000, shares)
    alarms = np.isfinite(found).mean()
    assert 0.01 < alarms <= 0.1


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", [DeclaredShares, DrawnShares])
def test_45_to_55_is_found_in_about_two_thousand_trials(kind: Any) -> None:
    found = many(lambda: kind([0.5, 0.5]), [0.45, 0.55], 100, 10_000, [0.5, 0.5])
    assert max(found) < 10_000
    assert 1200 < np.median(found) < 2400  # at best log(1000) / KL = 1,380 on average


@pytest.mark.parametrize("test", [DeclaredShares([0.4, 0.6]), DrawnShares([0.3, 0.3])])
def test_goes_on_from_what_was_kept(test: Any) -> None:
    arms, chances = [0, 1, 1, 0, 1], [0.4, 0.6, 0.6, 0.4, 0.6]
    test.count_rows(arms, chances)
    kept = json.loads(json.dumps(test.to_dict()))
    copied = test.copied()
    test.count_rows([0] * 60, [0.4] * 60)
    assert test.mismatch
    copied.count_rows([0] * 60, [0.4] * 60)
    assert copied.to_dict() == test.to_dict()
    copied.restore(kept)
    assert copied.to_dict() == kept
    assert not copied.mismatch
    assert copied.p_value <= 1.0


def test_rows_at_once_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(4)
    arms, chances = rng.integers(0, 2, 300), rng.uniform(0.4, 0.6, 300)
    arms[150:] = 1
    for make in (lambda: DeclaredShares([0.5, 0.5]), lambda: DrawnShares([0.4, 0.4])):
        at_once, single = make(), make()
        at_once.count_rows(arms, chances)
        for arm, p in zip(arms, chances, strict=True):
            single.count(int(arm), float(p))
        assert at_once.found == single.found is not None
        np.testing.assert_allclose(at_once.logs, single.logs, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeclaredShares([0.5, 0.4]), "shares must add up to 1, got 0.9"),
        (lambda: DeclaredShares([1.0, 0.0]), "shares must be positive, got 0.0 for arm 1"),
        (lambda: DrawnShares([0.5, 1.5]), r"least must be in \(0, 1\], got 1.5 for arm 1"),
        (lambda: DeclaredShares([0.5, 0.5], 0.0), r"level must be in \(0, 1\], got 0.0"),
        (
            lambda: DrawnShares([0.5, 0.5]).count(1, 0.2),
            "probability must be at least 0.5 for arm 1, got 0.2",
        ),
        (
            lambda: DrawnShares([0.5, 0.5]).count_rows([0, 1], [0.5, 0.2]),
            "probabilities must be at least 0.5 for arm 1, got 0.2 in row 1",
        ),
    ],
)
def test_wrong_input(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_batch_counts_as_its_trials_do() -> None:
    chances, pulls = np.array([0.5, 0.3, 0.2]), np.array([420, 310, 270])
    single, batched = DrawnShares([0.1, 0.1, 0.1]), DrawnShares([0.1, 0.1, 0.1])
    arms = np.repeat(np.arange(3), pulls)
    single.count_rows(arms, chances[arms])
    batched.count_batch(pulls, chances)
    np.testing.assert_allclose(batched.logs, single.logs, rtol=1e-9)
    np.testing.assert_allclose(batched.weights, single.weights, rtol=1e-9)
    assert batched.log_evidence == pytest.approx(single.log_evidence, rel=1e-9)
    assert (batched.found, batched.most_at_odds, single.most_at_odds) == (1000, 2, 2)
    assert batched.p_value < batched.level


def drawn(**changes: Any) -> fb.Identifier:
    given = {"family": "bernoulli", "rates": 0.2, "stopping": "design_based", "seed": 3, **changes}
    return fb.Identifier(["a", "b"], 1e-300, **given)


def through_json(ident: fb.Identifier) -> fb.Identifier:
    return fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict(), allow_nan=False)), same_draws=True)


def test_batches_that_are_not_as_drawn_are_doubted(caplog: pytest.LogCaptureFixture) -> None:
    ident, draws = drawn(), [0.5, 0.5]
    with caplog.at_level(logging.WARNING, "fairbai"):
        ident.tell_batch([50, 50], [25, 10], probabilities=draws)
        assert (ident.status().doubts, ident.status().sample_ratio) == ((), 1.0)
        for _ in range(10):
            ident = through_json(ident)
            ident.tell_batch([450, 550], [225, 110], probabilities=draws)
    status = ident.status()
    (doubt,) = status.doubts
    assert (doubt.kind, doubt.arm, doubt.after_decision) == ("sample_ratio", "b", False)
    assert doubt.reason == "Arm 'b' has 1.10 times the trials that it should have by its probabilities"
    assert 1000 < doubt.trial < 4000
    assert status.proved is False
    assert status.confidence is status.candidates is status.intervals is None
    assert status.sample_ratio < ident.procedure.doubts.ratio.level == 0.0005
    assert [record.getMessage() for record in caplog.records] == [
        f"Doubt after {doubt.trial} trials: {doubt.reason}. The answer is not proved."
    ]


def test_trials_that_the_caller_keeps_must_be_of_the_arm_that_was_drawn() -> None:
    ident = drawn(hold_trials=False)
    trial = ident.ask_trial()
    other = "b" if trial.arm == "a" else "a"
    with pytest.raises(ValueError, match=r"^trial 0 must be what ask_trial returned"):
        ident.tell(dataclasses.replace(trial, arm=other), 1.0)
    assert ident.procedure.doubts.ratio is not None
    assert ident.procedure.doubts.ratio.trials == 0


def test_the_test_ends_with_the_decision() -> None:
    ident = drawn(settle=False)
    ident.procedure.delta, ident.procedure._level = 0.4, 1.0
    ident.tell_batch([100, 100], [90, 5], probabilities=[0.5, 0.5])
    assert ident.decided
    ident.tell_batch([10_000, 0], [9000, 0], probabilities=[0.5, 0.5])
    assert ident.status().doubts == ()
    assert ident.procedure.doubts.ratio is not None
    assert ident.procedure.doubts.ratio.trials == 200


def test_a_batch_that_is_refused_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    ident = drawn()
    monkeypatch.setattr("fairbai.experiment.procedure.Procedure.reconsider", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ident.tell_batch([450, 550], [225, 110], probabilities=[0.5, 0.5])
    assert ident.procedure.doubts.ratio is not None
    assert ident.procedure.doubts.ratio.trials == ident.trials == 0


def test_snapshots_of_earlier_versions_start_the_test_afresh() -> None:
    ident = drawn()
    ident.tell_batch([450, 550], [225, 110], probabilities=[0.5, 0.5])
    form = ident.to_dict()
    del form["doubts"]["ratio"]
    assert fb.Identifier.from_dict(with_digests(form)).status().sample_ratio == 1.0
    assert drawn(stopping="mixture").status().sample_ratio is None


def too_many(floor: float, trials: int, level: float) -> Any:
    """For every number of trials, from how many of one arm on there is an alarm, if both are drawn 50 : 50."""
    bets, n = DrawnShares([floor, floor], level).bets[:, 0], np.arange(1, trials + 1)
    low, high = n // 2, n + 1  # the e-value grows with the distance from the middle
    while (high - low > 1).any():
        middle = (low + high) // 2
        own, other = middle[:, None], (n - middle)[:, None]
        logs = [a * np.log1p(bets) + b * np.log1p(-bets) for a, b in ((own, other), (other, own))]
        enough = np.logaddexp.reduce(np.hstack(logs), axis=1) - math.log(2 * bets.size) >= -math.log(level)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def first_alarms(share: float, floor: float, experiments: int, trials: int = 20_000) -> Any:
    """After how many trials every experiment has an alarm, if one looks after every trial; infinite: never."""
    rng, limit, n = np.random.default_rng(0), too_many(floor, trials, 0.0005), np.arange(1, trials + 1)
    found = []
    for _ in range(0, experiments, 100):
        own = (rng.random((100, trials), dtype=np.float32) < share).cumsum(axis=1, dtype=np.int32)
        alarm = (own >= limit) | (n - own >= limit)
        found.append(np.where(alarm.any(axis=1), n[alarm.argmax(axis=1)], math.inf))
    return np.concatenate(found)


def test_the_shortcut_of_the_long_test() -> None:
    arms = (np.random.default_rng(4).random(3000) < 0.45).astype(int)
    test = DrawnShares([0.1, 0.1], 0.0005)
    test.count_rows(arms, np.full(3000, 0.5))
    own, n = arms.cumsum(), np.arange(1, 3001)
    limit = too_many(0.1, 3000, 0.0005)
    assert test.found == int(np.argmax((own >= limit) | (n - own >= limit))) + 1


@pytest.mark.long
@pytest.mark.parametrize("floor", [0.5, 0.1, 0.02, 0.01])
def test_false_alarms_of_ten_thousand_experiments(floor: float) -> None:
    """At most 5 are expected, each with a look after every one of 20,000 trials; 15 would be four deviations more.

    With ``-s`` it prints the table of docs/doubts.md.
    """
    alarms = np.isfinite(first_alarms(0.5, floor, 10_000)).sum()
    late = np.quantile(first_alarms(0.45, floor, 500), [0.1, 0.5, 0.9], method="higher")
    print(f"\n| {floor:.2f} | {alarms} | {', '.join(f'{trials:,.0f}' for trials in late)} trials |")
    assert alarms <= 15
    assert 1_500 < late[1] < 2_500
