"""What a log says: against a live experiment, against totals, against plain arithmetic, and with things gone wrong."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.analysis.drift import check_drift
from fairbai.analysis.evidence import KAPPAS, Replay, rules_for
from fairbai.stopping.intervals import intervals


def clicks(rows: int, rates: list[float], shares: list[float] | None = None, seed: int = 1) -> dict[str, Any]:
    """A log of clicks, with arms drawn in these shares."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(len(rates), rows, p=shares)
    rewards = (rng.random(rows) < np.array(rates)[arms]).astype(float)
    return {"arm": np.array(list("abcdefgh"))[arms], "reward": rewards}


def test_a_clear_winner() -> None:
    found = fb.analyze(clicks(3000, [0.3, 0.2, 0.1]))
    assert found.leader == "a"
    assert found.decided
    assert found.guarantee == "proved"
    assert found.candidates == ("a",)
    assert found.confidence is not None
    assert found.confidence > 0.999
    reached = found.standing.reached
    assert reached is not None
    assert (found.arms.labels[reached.arm], 100 < reached.trial < 2500) == ("a", True)
    assert found.standing.looks[-1].trial == found.trials == 3000
    assert found.doubts == ()
    assert found.drift_proof is None
    assert "a is the best arm" in repr(found)
    assert "FAMILY GUESSED: bernoulli, because all rewards are 0 or 1." in repr(found)


def test_it_first_sufficed_when_the_evidence_crossed_the_level() -> None:
    """Cut one row earlier, the log does not decide; with that row it does."""
    data = clicks(3000, [0.3, 0.2, 0.1])
    reached = fb.analyze(data).standing.reached
    assert reached is not None
    before, after = (
        fb.analyze({name: column[:rows] for name, column in data.items()})
        for rows in (reached.trial - 1, reached.trial)
    )
    assert not before.decided
    assert after.decided
    assert after.standing.reached == reached


def overtaken() -> dict[str, Any]:
    """A log in which the evidence suffices for a early on, and b leads at the end."""
    rng = np.random.default_rng(1)
    arms, row = rng.integers(0, 2, 6000), np.arange(6000)
    chances = np.where(arms == 0, np.where(row < 900, 0.62, 0.5), np.where(row < 900, 0.5, 0.53))
    return {"arm": np.array(["a", "b"])[arms], "reward": (rng.random(6000) < chances).astype(float)}


def test_the_arm_that_was_decided_for_is_the_answer_though_another_leads_at_the_end() -> None:
    found = fb.analyze(overtaken(), family="bernoulli")
    assert (found.answer, found.leader, found.decided, found.guarantee) == ("a", "b", True, "proved")
    assert found.decided_after == found.standing.reached.trial == 151  # type: ignore[union-attr]
    assert found.confidence is not None
    assert found.confidence >= 0.95
    form = found.to_dict()
    assert (form["answer"], form["leader"], form["decided_after"]) == ("a", "b", 151)
    assert form["answers"] == [
        "a is the best arm, 99.94 % sure. The evidence first sufficed after 151 trials; at the end of the log b leads, "
        "for which it does not suffice. Still in the race for the best: a and b."
    ]
    assert re.search(r"^a .* the answer$", repr(found), re.MULTILINE)
    none = fb.analyze(clicks(300, [0.2, 0.2]))
    assert (none.answer, none.decided_after, none.decided) == (None, None, False)


def test_evidence_that_sufficed_for_one_arm_and_then_for_another_is_doubted() -> None:
    rng = np.random.default_rng(3)
    arms, row = np.tile([0, 1], 4000), np.arange(8000)
    chances = np.where(arms == 0, 0.5, np.where(row < 600, 0.35, 0.56))
    data = {"arm": np.array(["a", "b"])[arms], "reward": (rng.random(8000) < chances).astype(float)}
    found = fb.analyze(data, family="bernoulli")
    assert found.standing.reached is not None
    assert found.arms.labels[found.standing.reached.arm] == "a"
    assert found.standing.last.score > found.standing.level
    assert (found.leader, found.answer, found.guarantee) == ("b", None, "doubted")
    assert "the evidence sufficed for a, and later against it" in repr(found).replace("\n", " ")
    tolerant = fb.analyze(data, family="bernoulli", tolerance=0.2)  # where both may be right
    assert tolerant.standing.turned
    assert not tolerant.turned


def test_a_tie_is_not_decided() -> None:
    found = fb.analyze(clicks(3000, [0.2, 0.2]))
    assert not found.decided
    assert found.candidates == ("a", "b")
    assert "No decision at 95 %" in repr(found)


def test_the_numbers_by_hand() -> None:
    data = clicks(2000, [0.3, 0.2, 0.1])
    found = fb.analyze(data)
    counts = np.array([(data["arm"] == label).sum() for label in "abc"])
    means = np.array([data["reward"][data["arm"] == label].mean() for label in "abc"])
    assert found.arms.trials.tolist() == counts.tolist()
    assert found.arms.means.tolist() == pytest.approx(means.tolist())
    expected = intervals(fb.Bernoulli(), counts.astype(float), means, 0.05)
    np.testing.assert_allclose(found.arms.intervals, expected)
    last = found.standing.last
    assert found.standing.confidence >= 1.0 - 2.0 * math.exp(-last.score)
    assert found.risk_at(last) == pytest.approx(min(1.0, 2.0 * math.exp(-last.score)))


def test_confidence_is_the_best_while_the_leader_led() -> None:
    found = fb.analyze(clicks(3000, [0.22, 0.2]))
    leader = found.standing.last.leader
    best = max(look.score for look in found.standing.looks if look.leader == leader)
    assert found.standing.confidence == pytest.approx(max(0.0, 1.0 - math.exp(-best)))


def test_totals_are_the_same_as_the_log() -> None:
    data = clicks(1500, [0.3, 0.24, 0.2])
    log = fb.analyze(data)
    arms = [data["reward"][data["arm"] == label] for label in "abc"]
    columns = {"arm": list("abc"), "n": [one.size for one in arms], "s": [one.sum() for one in arms]}
    totals = fb.analyze(columns, trials="n", sum="s", family="bernoulli")
    assert totals.standing.last == log.standing.last
    assert totals.standing.candidates == log.standing.candidates
    np.testing.assert_array_equal(totals.arms.intervals, log.arms.intervals)
    assert totals.sample_ratio is not None
    assert log.sample_ratio is not None
    assert totals.sample_ratio.log_e_value == pytest.approx(log.sample_ratio.log_e_value, rel=1e-9)
    assert totals.drift is None
    assert totals.standing.reached is None
    assert "Drift: totals cannot show it." in repr(totals)


def test_totals_with_squares() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal([[10.0], [11.0]], 3.0, (2, 500))
    form = {"arm": ["a", "b"], "n": [500, 500], "s": rewards.sum(axis=1), "q": (rewards**2).sum(axis=1)}
    totals = fb.analyze(form, trials="n", sum="s", squares="q")
    log = fb.analyze({"arm": np.repeat(["a", "b"], 500), "reward": rewards.ravel()}, shares="any")
    assert totals.guarantee == log.guarantee == "observed"
    assert totals.standing.last.score == pytest.approx(log.standing.last.score, rel=1e-6)
    assert "observed, not proved" in repr(totals)
    bounded = fb.analyze(form, trials="n", sum="s", squares="q", low=-50, high=70)
    assert bounded.guarantee == "proved"


@pytest.mark.slow_without_jit
def test_unknown_variances() -> None:
    """Declared as unknown they are proved; totals with squares say the same as the log."""
    rng = np.random.default_rng(4)
    arms = rng.integers(0, 2, 600)
    rewards = rng.normal(np.where(arms == 1, 5.8, 5.0), np.where(arms == 1, 2.0, 1.0))
    family = fb.Gaussian(variance=None)
    log = fb.analyze({"arm": arms, "reward": rewards}, family=family, shares="any")
    assert (log.guarantee, log.leader, log.decided) == ("proved", 1, True)
    assert (log.arms.intervals[:, 0] < [5.0, 5.8]).all()
    assert (log.arms.intervals[:, 1] > [5.0, 5.8]).all()
    assert np.isfinite(log.arms.intervals).all()
    both = [rewards[arms == arm] for arm in (0, 1)]
    columns = {"arm": [0, 1], "n": [one.size for one in both], "s": [one.sum() for one in both]}
    squares = {**columns, "q": [(one**2).sum() for one in both]}
    totals = fb.analyze(squares, trials="n", sum="s", squares="q", family=family)
    assert totals.standing.last.score == pytest.approx(log.standing.last.score, rel=1e-3)
    with pytest.raises(ValueError, match="squares must be given if the variances are unknown"):
        fb.analyze(columns, trials="n", sum="s", family=family)
    assert log.plan().range[0] > 2


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("share", [0.07, 0.5])
def test_nothing_is_said_about_lopsided_revenue(share: float) -> None:
    """Equal arms, of which one gets 7 %: the evidence for normal rewards often suffices, and is wrong."""
    sufficed = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        arms, bought = (rng.random(8000) >= share).astype(int), rng.random(8000) < 0.05
        rewards = np.where(bought, rng.lognormal(3.0, 1.0, 8000), 0.0)
        found = fb.analyze({"arm": arms, "reward": rewards}, shares=[share, 1.0 - share])
        sufficed += found.standing.reached is not None
        if share < 0.5:
            assert (found.guarantee, found.decided, found.confidence) == ("doubted", False, None)
            assert "rewards need not be normal, and some arms have few of them beside the others" in " ".join(
                repr(found).split()
            )
            assert "sure" not in repr(found).split("arm  ")[0]
        assert found.hints[0].startswith("If no reward can be below some number or above another, declare them")
    assert sufficed >= 3 if share < 0.5 else sufficed == 0
    assert fb.analyze({"arm": arms, "reward": rewards}, shares="any", low=0, high=1e6).guarantee == "proved"


def test_lopsided_rewards_that_are_normal() -> None:
    """Nothing is withdrawn if they are declared to be normal, and look like it."""
    rng = np.random.default_rng(2)
    arms = (rng.random(3000) >= 0.07).astype(int)
    data = {"arm": arms, "reward": rng.normal(5.0 + arms, 1.0)}
    assert fb.analyze(data, shares="any").guarantee == "doubted"
    assert fb.analyze(data, shares="any", family="gaussian").guarantee == "proved"
    assert fb.analyze(data, shares="any", family=fb.Gaussian(1.0)).guarantee == "proved"


def test_counts_that_are_guessed_are_observed_and_tested() -> None:
    rng = np.random.default_rng(1)
    arms = rng.integers(0, 2, 4000)
    found = fb.analyze({"arm": arms, "reward": rng.poisson(3.0 + arms)})
    assert (found.choice.family.kind, found.guarantee, found.decided) == ("poisson", "observed", True)
    assert "the proof needs poisson rewards, which these are only guessed to be" in " ".join(repr(found).split())
    assert fb.analyze({"arm": arms, "reward": rng.poisson(3.0 + arms)}, family="poisson").guarantee == "proved"


def test_totals_do_not_show_what_a_reward_is() -> None:
    """Equal arms and a reward of 50 in 1 % of the trials: as clicks, most of these logs would be decided."""
    with pytest.raises(ValueError, match="family must be given if only trials and sums are known"):
        fb.analyze({"arm": ["a", "b"], "n": [2000, 2000], "s": [1300, 750]}, trials="n", sum="s")


def test_like_a_live_experiment() -> None:
    """One rule, fixed beforehand: the log of an Identifier decides when the Identifier did, with the same answer."""
    rng, rates = np.random.default_rng(5), {"x": 0.5, "y": 0.3, "z": 0.2}
    rule = fb.stopping.Mixture.for_trials(500, 0.05, 3)
    ident = fb.Identifier(list(rates), 0.05, fb.Bernoulli(), rates=0.1, stopping=rule, settle=False)
    arms, rewards = [], []
    while not ident.decided:
        arms.append(ident.ask())
        rewards.append(float(rng.random() < rates[arms[-1]]))
        ident.tell(arms[-1], rewards[-1])
    found = fb.analyze({"arm": arms, "reward": rewards}, family="bernoulli", shares="any", planned=500)
    assert found.standing.rules == (rule,)
    reached = found.standing.reached
    assert reached is not None
    assert reached.trial == len(arms) == ident.trials
    assert found.leader == ident.recommendation
    assert found.decided
    assert "for the trials that were planned" in repr(found)


def test_drift_proof_is_that_of_a_live_experiment() -> None:
    rng = np.random.default_rng(6)
    stopping = fb.stopping.DesignBased().for_arms(2)
    ident = fb.Identifier(["a", "b"], 1e-9, fb.Bernoulli(), rates=0.25, stopping=stopping, settle=False)
    rows: dict[str, list[Any]] = {"arm": [], "reward": [], "p": []}
    for number in range(600):
        trial = ident.ask_trial()
        reward = float(rng.random() < (0.3 if trial.arm == "a" else 0.6) + 0.2 * math.sin(number / 50))
        ident.tell(trial, reward)
        for name, value in zip(rows, (trial.arm, reward, trial.probability), strict=True):
            rows[name].append(value)
    floor = dict(zip("ab", ident._experiment.guarantees.tolist(), strict=True))  # type: ignore[union-attr]
    found = fb.analyze(rows, probability="p", floor=floor, delta=1e-9)
    assert found.drift_proof is not None
    live = ident.averages()
    assert found.drift_proof.last.estimates.tolist() == live.estimates.tolist()
    np.testing.assert_array_equal(found.drift_proof.last.intervals, live.intervals)
    assert found.best_on_average == "b"
    assert found.drift_proof_confidence == live.confidence > 0.95
    assert "no decision; b is ahead by the averages over the log" in " ".join(repr(found).split())
    assert found.drift_proof.declared
    sure = fb.analyze(rows, probability="p", floor=floor)
    assert "Whatever the drift: b is the arm with the best average over the log, " in repr(sure)


def test_the_least_probability_of_the_log_is_said_to_be_assumed() -> None:
    data = clicks(500, [0.3, 0.6])
    found = fb.analyze({**data, "p": np.full(500, 0.5)}, probability="p")
    assert found.drift_proof is not None
    assert found.drift_proof.least.tolist() == [0.5, 0.5]
    text = " ".join(repr(found).split())
    assert text.count("None is declared (floor), so the least in the log, 0.5, is taken for it.") == 2
    assert "The test of the sample ratio needs a least probability that was fixed beforehand." in text
    revenue = {**data, "reward": data["reward"] * 2.5, "p": np.full(500, 0.5)}  # which has no comparison by draws
    assert " ".join(repr(fb.analyze(revenue, probability="p")).split()).count("None is declared (floor)") == 1
    assert "is declared (floor)" not in repr(fb.analyze({**data, "p": np.full(500, 0.5)}, probability="p", floor=0.5))


def test_a_mismatch_against_equal_shares() -> None:
    found = fb.analyze(clicks(6000, [0.2, 0.3], [0.45, 0.55]))
    ratio = found.sample_ratio
    assert ratio is not None
    assert ratio.mismatch
    assert ratio.source == "assumed"
    assert ratio.found is not None
    assert 500 < ratio.found < 6000
    assert ratio.p_value < 5e-4
    assert found.guarantee == "doubted"
    assert (found.confidence, found.candidates, found.decided) == (None, None, False)
    text = " ".join(repr(found).split())
    assert "b leads, but do not rely on it: arms were not assigned as they should have been." in text
    assert "SAMPLE-RATIO MISMATCH: a has 4" in text
    assert "declare them (shares)" in text


def test_declared_shares_and_none() -> None:
    data = clicks(6000, [0.2, 0.3], [0.45, 0.55])
    right = fb.analyze(data, shares={"a": 0.45, "b": 0.55})
    assert right.sample_ratio is not None
    assert (right.sample_ratio.source, right.mismatched, right.guarantee) == ("declared", False, "proved")
    assert fb.analyze(data, shares=[0.45, 0.55]).sample_ratio.path == right.sample_ratio.path  # type: ignore[union-attr]
    none = fb.analyze(data, shares="any")
    assert none.sample_ratio is None
    assert none.decided
    assert "Sample ratio: not tested." in repr(none)


def test_a_mismatch_against_logged_probabilities() -> None:
    data = clicks(6000, [0.2, 0.3], [0.45, 0.55])
    found = fb.analyze({**data, "p": np.full(6000, 0.5)}, probability="p")
    assert found.sample_ratio is not None
    assert (found.sample_ratio.source, found.mismatched) == ("logged", True)
    assert found.drift_proof is not None
    assert found.drift_proof_confidence is None
    text = " ".join(repr(found).split())
    assert "Whatever the drift: no statement, because arms were not drawn with the logged probabilities." in text
    assert "more often than its probabilities say" in text or "less often than its probabilities say" in text


def test_a_doubt_about_the_family() -> None:
    rng = np.random.default_rng(0)
    arms, rewards = rng.choice(["a", "b"], 2000), rng.negative_binomial(1, 0.2, 2000).astype(float)
    found = fb.analyze({"arm": arms, "reward": rewards}, family="poisson")
    assert found.guarantee == "doubted"
    assert found.doubts
    assert "DOUBT: Rewards of" in repr(found)
    assert "rewards contradict the family" in repr(found)


def test_drift_is_observed() -> None:
    rng = np.random.default_rng(2)
    arms = rng.choice(["a", "b"], 8000)
    rewards = rng.random(8000) < np.where(np.arange(8000) < 4000, 0.2, 0.3)
    found = fb.analyze({"arm": arms, "reward": rewards, "t": np.arange(8000)}, time="t")
    assert found.drifted
    assert found.guarantee == "doubted"
    assert found.drift is not None
    assert found.drift.level.second - found.drift.level.first == pytest.approx(0.1, abs=0.03)
    assert "DRIFT (observed): all arms together rose by" in repr(found)
    assert found.time_of(8000) == 7999.0


def test_drift_with_shares_that_change() -> None:
    rng, rows = np.random.default_rng(3), 8000
    late = np.arange(rows) >= rows // 2
    arms = (rng.random(rows) < np.where(late, 0.8, 0.2)).astype(int)
    rewards = (rng.random(rows) < np.where(late, 0.3, 0.2)).astype(float)
    check = check_drift(arms, rewards, 2)
    assert check.drifted
    assert check.shares_changed
    text = " ".join(repr(fb.analyze({"arm": arms, "reward": rewards}, shares="any")).split())
    assert "Shares and rewards changed together, so plain means of the arms are not comparable." in text


@pytest.mark.parametrize("law", ["clicks", "revenue"])
def test_drift_is_rarely_observed_where_there_is_none(law: str) -> None:
    """p-values are not too small: at most 5 % + 3 standard errors of 400 logs are below 5 %."""
    rng, small = np.random.default_rng(0), 0
    for _ in range(400):
        arms = rng.integers(0, 3, 1000)
        rewards = (rng.random(1000) < 0.2).astype(float) if law == "clicks" else rng.exponential(1.0, 1000)
        small += check_drift(arms, rewards, 3).p_value < 0.05
    assert small / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_seasons_are_seen_though_halves_are_equal() -> None:
    rng, rows = np.random.default_rng(1), 20_000
    season = 0.1 * np.sin(2 * np.pi * 2 * np.arange(rows) / rows)
    arms, rewards = rng.integers(0, 2, rows), (rng.random(rows) < 0.3 + season).astype(float)
    check = check_drift(arms, rewards, 2)
    assert abs(check.level.first - check.level.second) < 0.02
    assert check.drifted


def test_few_rows_say_nothing_about_drift() -> None:
    assert check_drift(np.array([0, 1] * 10), np.ones(20), 2).p_value == 1.0


def test_rules() -> None:
    assert [rule.kappa for rule in rules_for(None, 0.05, 3)] == list(KAPPAS)
    assert rules_for(6000, 0.05, 3) == (fb.stopping.Mixture.for_trials(6000, 0.05, 3),)
    gaussian = Replay(2, fb.Gaussian(), rules_for(None, 0.05, 2), 0.05)
    gaussian.count_totals(np.array([10_000.0, 10_000.0]), np.array([0.0, 100.0]), None)
    single = intervals(fb.Gaussian(), np.full(2, 1e4), np.array([0.0, 0.01]), 0.05, fb.stopping.Mixture())
    assert (gaussian.intervals()[:, 1] - gaussian.intervals()[:, 0] < single[:, 1] - single[:, 0]).all()


def test_to_dict_is_json_and_has_everything() -> None:
    data = clicks(800, [0.3, 0.6])
    times = np.datetime64("2026-05-01") + np.arange(800).astype("timedelta64[m]")
    found = fb.analyze({**data, "p": np.full(800, 0.5), "t": times}, probability="p", time="t").to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["leader"] == "b"
    assert found["guarantee"] == "proved"
    assert [arm["arm"] for arm in found["arms"]] == ["a", "b"]
    path = found["evidence"]["path"]
    assert len(path["trials"]) == len(path["times"]) == len(path["percent"]) == len(path["leaders"])
    assert path["times"][-1] == "2026-05-01T13:19:00Z"
    assert found["evidence"]["first_sufficed"]["arm"] == "b"
    assert len(found["drift_proof"]["path"]["bands"]) == len(path["trials"])
    assert found["sample_ratio"]["against"] == "logged"
    assert found["drift"]["status"] == "observed"
    assert set(found) == {
        "source", "trials", "delta", "question", "family", "answers", "guarantee", "conditions", "leader", "answer",
        "decided", "decided_after", "confidence", "candidates", "arms", "evidence", "drift_proof", "sample_ratio",
        "drift", "doubts", "hints", "notes",
    }  # fmt: skip
    gap = fb.analyze(
        {"arm": ["a", "b", "c"], "n": [5, 5, 0], "s": [1, 2, 0]}, trials="n", sum="s", family="bernoulli"
    ).to_dict()
    assert json.dumps(gap, allow_nan=False)
    assert gap["arms"][2]["mean"] is None
    assert gap["evidence"]["score"] is None


@pytest.mark.slow_without_jit
def test_many_arms() -> None:
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 60, 6000)
    found = fb.analyze({"arm": arms, "reward": rng.random(6000) < 0.2 + 0.6 * (arms == 7)})
    assert found.leader == 7
    assert found.candidates == (7,)
    assert len(found.standing.looks) <= 20
    assert "(10 more arms with fewer trials)" in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.7}, r"delta must be in \(0, 1/2\), got 0.7"),
        ({"family": "weibull"}, "family must be one of"),
        ({"family": "exponential"}, "the dictionary, row 1: reward of an exponential arm must be positive, got 0.0"),
        ({"low": 0.5, "high": 2}, "the dictionary, row 1: reward of a bounded arm must be from 0.5 to 2, got 0.0"),
        ({"shares": {"a": 0.5}}, "shares must have one for every arm, got none for 'b'"),
        ({"shares": {"a": 0.5, "c": 0.5}}, "shares must be for the arms 'a', 'b', got one for 'c'"),
        ({"shares": {"a": 0.5, "b": 0.6}}, "shares must add up to 1, got 1.1"),
        ({"shares": [0.5, 0.3, 0.2]}, r"shares must be one per arm \(2\), or by label, got 3"),
        ({"floor": 0.1}, "floor is for logs with probabilities, got 0.1 without a column of probabilities"),
        (
            {"probability": "p", "floor": 0.4},
            "the dictionary, row 1: the probability must be at least the floor, 0.4, got 0.3",
        ),
        (
            {"probability": "p", "floor": {"a": 0.1}},
            "floor must be one for all arms, or one for each of 'a', 'b', got none",
        ),
        (
            {"probability": "p", "floor": {"a": 0.1, "b": 0.1, "c": 0.1}},
            "floor must be one for all arms, or one for each of 'a', 'b', got one for 'c'",
        ),
        ({"probability": "p", "floor": 0}, r"floor must be in \(0, 1\], got 0"),
        ({"planned": 0}, "planned must be at least 1, got 0"),
    ],
)
def test_wrong_input(options: dict[str, Any], message: str) -> None:
    data = {"arm": ["a", "b", "a"], "reward": [1, 0, 1], "p": [0.7, 0.3, 0.7]}
    with pytest.raises(ValueError, match=message):
        fb.analyze(data, **options)


def test_the_first_wrong_reward_is_named() -> None:
    data = {"arm": ["a", "b", "a", "b"], "reward": [1.0, 7.0, 0.0, 3.0]}
    with pytest.raises(ValueError, match=r"row 1: reward of a bernoulli arm must be 0 or 1, got 7\.0"):
        fb.analyze(data, family="bernoulli")


def test_a_family_that_is_only_assumed_is_not_called_untested() -> None:
    """Revenue is not normal, so that nothing is declared that could be tested; a declared family can be."""
    rng = np.random.default_rng(3)
    arms = rng.integers(0, 2, 800)
    found = fb.analyze({"arm": arms, "reward": np.where(rng.random(800) < 0.5, rng.lognormal(1.5 * arms, 0.5), 0.0)})
    assert (found.standing.reached is not None, found.guarantee) == (True, "observed")
    assert not any("could not be tested" in hint for hint in found.hints)
    few = {"arm": ["a"] * 40 + ["b"], "reward": [50.0, 51.0] * 20 + [1.0]}
    told = fb.analyze(few, family={"kind": "gaussian", "variance": 1.0}, shares="any")
    assert (
        told.hints[0] == "The declared family could not be tested on 1 arm with fewer than 2 rewards told one by one."
    )


def test_totals_take_no_floor() -> None:
    with pytest.raises(ValueError, match=r"floor is for logs with probabilities, got 0.1 beside totals"):
        fb.analyze({"arm": ["a", "b"], "n": [5, 5], "s": [1, 2]}, trials="n", sum="s", family="bernoulli", floor=0.1)


def test_a_family_without_a_proof_is_refused() -> None:
    class Square(fb.Gaussian):
        code = 99

    with pytest.raises(ValueError, match=r"family must be one of gaussian, bernoulli, .*, got square"):
        fb.analyze({"arm": ["a", "b"], "reward": [1.5, 2.5]}, family=Square())
