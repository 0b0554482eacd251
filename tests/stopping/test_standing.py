"""How sure the named arm is and which arms are not excluded: against slow definitions of both."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.standing import not_excluded, standing_now
from fairbai.identifier.snapshot import with_digests
from fairbai.kernels import state as rows
from fairbai.kernels.loop.steps import how_sure
from fairbai.kernels.stopping import design
from fairbai.stopping import DesignBased, Heuristic, Mixture, StoppingRule, TwoSidedMixture
from tests.cases import STOPPING_RULES
from tests.stopping.test_design import counted, naive_score, random_trials
from tests.stopping.test_evidence import PAIRS, Sample

PROVED = [(family, rule) for family, rule in PAIRS if rule != Heuristic()]
pairs = pytest.mark.parametrize(("family", "rule"), PROVED, ids=[f"{f.kind}-{r.kind}{r.code}" for f, r in PROVED])
DELTA = 0.3


def experiment(family: Any, rule: StoppingRule, counts: np.ndarray, means: np.ndarray) -> Experiment:
    """One with these counts and means, in the unit of the kernels."""
    one = Experiment(len(counts), family, stopping=rule)
    one.state[rows.ASSIGNED] = one.state[rows.OBSERVED] = counts
    one.state[rows.SUM] = counts * means
    one.recount()
    return one


# Candidates


@pairs
def test_candidates_are_the_arms_that_no_pair_excludes(family: Any, rule: StoppingRule) -> None:
    """By the formulas of the scores, written out once more, for all pairs of four arms."""
    rng, sizes = np.random.default_rng(3), set()
    level = rule.level(DELTA, 4)
    for _ in range(25):
        sample = Sample(family, rng)
        sample.counts = sample.counts * int(rng.choice([1, 3, 10]))  # the slow rules need many trials
        scores = {
            (b, a): sample.score(rule, a, b)
            for b, a in itertools.permutations(range(4), 2)
            if sample.means[b] > sample.means[a]
        }
        if any(abs(score - level) < 1e-4 for score in scores.values()):
            continue
        excluded = {a for (_, a), score in scores.items() if score >= level}
        one = experiment(family, rule, sample.counts.astype(float), sample.means)
        before = one.state.copy()
        assert not_excluded(one, level) == tuple(a for a in range(4) if a not in excluded)
        np.testing.assert_array_equal(one.state, before)
        sizes.add(len(excluded))
    assert len(sizes) > 1


@pytest.mark.parametrize("spread", [0.05, 0.5, 5.0])
def test_candidates_of_many_arms(spread: float) -> None:
    """The closed formula of the two-sided mixture for all pairs of 300 arms at once."""
    rng, arms, rule = np.random.default_rng(8), 300, TwoSidedMixture(4.0)
    counts, means = rng.integers(1, 2000, arms).astype(float), rng.normal(0.0, spread, arms)
    level = rule.level(DELTA, arms)
    own = 1 / counts + 4.0 / counts**2
    gaps = np.maximum(0.0, means[:, None] - means)  # of the row over the column
    regrets = 0.5 * np.log1p(counts / 4.0)
    scores = gaps**2 / (2.0 * (own[:, None] + own)) - regrets[:, None] - regrets
    expected = np.flatnonzero(~(scores >= level).any(axis=0))
    assert not_excluded(experiment(fb.Gaussian(), rule, counts, means), level) == tuple(expected.tolist())
    assert 0 < expected.size < arms or spread == 0.05


@pytest.mark.parametrize("bonus", [0.0, 0.2, 0.999])
def test_quick_exits_of_the_mixture_exclude_no_less(bonus: float) -> None:
    """The least score of the named arm over all others: it is the only candidate if and only if that is enough."""
    rng, rule = np.random.default_rng(5), Mixture(alpha=bonus)
    enough = 0
    for _ in range(60):
        counts, means = rng.integers(2, 200, 6).astype(float), rng.uniform(0.1, 0.9, 6)
        means = np.round(means * counts) / counts
        one = experiment(fb.Bernoulli(), rule, counts, means)
        score = how_sure(one.codes, one.params, one.state, one.scalars)[1][0]
        for level in (score - 1e-3, score + 1e-3):
            if level > math.log(5.0):
                alone = not_excluded(one, level) == (one.best,)
                assert alone or level > score
                enough += alone
    assert enough > 5


@pytest.mark.parametrize("least", [[0.2, 0.2, 0.2], [0.3, 0.05, 0.4, 0.1]])
def test_candidates_of_the_design_based_stop(least: list[float]) -> None:
    rule, rng, sizes = DesignBased(0.1), np.random.default_rng(6), set()
    for count in (40, 150, 400):
        trials = random_trials(rng, least, count, binary=True)
        one = Experiment(len(least), fb.Bernoulli(), fb.rates.Constant(least), stopping=rule)
        assert one.guarantees is not None
        one.guarantees = np.array(least)
        one.state, one.scalars = counted(rule, least, trials)
        for level in (-1.0, 0.5, 2.0):
            scores = {
                (b, a): naive_score(rule, least, trials, b, a) for b, a in itertools.permutations(range(len(least)), 2)
            }
            totals = one.state[design.FORECAST] + one.state[design.RESIDUAL]
            excluded = {a for (b, a), score in scores.items() if score >= level and totals[b] > totals[a]}
            assert not_excluded(one, level) == tuple(a for a in range(len(least)) if a not in excluded)
            sizes.add(len(excluded))
    assert len(sizes) > 1


@pytest.mark.parametrize(
    "rule",
    [rule for rule in STOPPING_RULES if rule.proved(fb.Gaussian()) or rule.proved(fb.Bernoulli())],
    ids=lambda rule: rule.kind,
)
def test_all_arms_are_candidates_before_each_has_a_reward(rule: StoppingRule) -> None:
    family: Any = fb.Bernoulli() if rule.proved(fb.Bernoulli()) else fb.Gaussian()
    one = Experiment(3, family, fb.rates.Constant(0.1), stopping=rule)
    one.count_assigned(0)
    one.observe(0, 1.0)
    now = standing_now(one, rule.level(0.1, 3))
    assert now.candidates == (0, 1, 2)
    assert now.confidence == 0.0


def test_a_rule_that_is_not_proved_has_neither() -> None:
    one = experiment(fb.Gaussian(), Heuristic(), np.array([50.0, 50.0]), np.array([3.0, 0.0]))
    now = standing_now(one, 3.0)
    assert (now.confidence, now.candidates) == (None, None)
    assert now.glr > now.threshold


# The best score of an arm


class Diary:
    """The looks of an experiment with Gaussian arms of variance 1, and what follows from them, slowly."""

    def __init__(self, one: Experiment) -> None:
        self.one, self.next = one, 10.0 * one.policy.size
        self.stretches: list[tuple[int, list[tuple[float, float]]]] = []  # the named arm, and (GLR, score) at its looks

    def after_a_reward(self) -> None:
        counts, means = self.one.state[rows.OBSERVED], self.one.state[rows.MEAN]
        if counts.sum() < self.next:
            return
        self.next = math.floor(1.1 * counts.sum()) + 1.0
        best = int(np.argmax(means))
        others = [a for a in range(counts.size) if a != best]
        glr = min((means[best] - means[a]) ** 2 / (2 / counts[a] + 2 / counts[best]) for a in others)
        if not self.stretches or self.stretches[-1][0] != best:
            self.stretches.append((best, []))
        self.stretches[-1][1].append((glr, float(self.one.exact_evidence()[0])))

    def best(self) -> float:
        """Of the arm that is named now."""
        named = int(np.argmax(self.one.state[rows.MEAN]))
        kept = [max(looks)[1] for arm, looks in self.stretches if arm == named]
        return max([float(self.one.exact_evidence()[0]), self.one.stopping.level(1.0, self.one.policy.size), *kept])


RULES = [Mixture(), TwoSidedMixture(), fb.stopping.PairwiseGaussian(), fb.stopping.KaufmannKoolen(pairwise=False)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_score_of_an_arm_is_over_the_looks_at_which_it_was_named(rule: StoppingRule, seed: int) -> None:
    """Means that jump, so that leaders come and go with much evidence."""
    one, rng = Experiment(3, fb.Gaussian(), stopping=rule), np.random.default_rng(seed)
    diary, kept = Diary(one), 0
    truth = rng.normal(size=3)
    for trial in range(700):
        if trial % 100 == 0:
            truth = rng.normal(0.0, 3.0, 3)
        arm = trial % 3
        one.count_assigned(arm)
        one.observe(arm, float(rng.normal(truth[arm])))
        one.reconsider(20.0)
        if trial > 3:
            diary.after_a_reward()
            found, evidence = how_sure(one.codes, one.params, one.state, one.scalars)
            assert found == pytest.approx(diary.best(), abs=1e-5)
            kept += found > evidence[0] + 0.1
    assert kept > 50
    assert len({arm for arm, _ in diary.stretches}) > 1


def played(trials: int, asks: bool = False, through_json: bool = False) -> fb.Identifier:
    """An experiment whose means jump, with somebody who asks for its status, or keeps and restores it, or neither."""
    ident, rng = fb.Identifier(3, 1e-9, "bernoulli", seed=2), np.random.default_rng(2)
    for trial in range(trials):
        arm = ident.ask()
        chance = [0.9, 0.4, 0.2][(arm + trial // 60) % 3]
        ident.tell(arm, float(rng.random() < chance))
        if asks and trial % 3 == 0:
            ident.status()
        if through_json and trial % 7 == 0:
            ident = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    return ident


def test_it_does_not_matter_who_asks_or_restores() -> None:
    plain, asked, restored = played(200), played(200, asks=True), played(200, through_json=True)
    assert plain.to_dict() == asked.to_dict() == restored.to_dict()
    saved = plain.to_dict()["standing"]["saved"]
    assert saved is not None
    assert "squares" not in saved
    assert plain.status().confidence == asked.status().confidence == restored.status().confidence > 0.5


def test_snapshots_of_earlier_versions_start_afresh() -> None:
    ident = played(200)
    form = ident.to_dict()
    del form["standing"]
    again = fb.Identifier.from_dict(with_digests(form))
    one = again.procedure.experiment
    score = float(one.exact_evidence()[0])
    assert again.status().confidence == pytest.approx(1.0 - ident.stopping.risk(score, 3))
    again.tell(again.ask(), 1.0)
    assert one.scalars[rows.NEXT_LOOK] == math.floor(1.1 * 201) + 1


def test_rules_that_keep_nothing_look_at_nothing() -> None:
    for rule, proved in ((Heuristic(), False), (DesignBased(), True)):
        ident = fb.Identifier(2, 0.01, "bernoulli", rates=0.2, stopping=rule, seed=1)
        for number in range(100):
            trial = ident.ask_trial()
            ident.tell(trial, float((number + trial.arm) % 3 == 0))
        assert math.isinf(ident.procedure.experiment.scalars[rows.NEXT_LOOK])
        assert "standing" not in ident.to_dict()
        assert (ident.status().confidence is not None) == proved
        assert ident.stopping.kind != "design_based" or ident.status().confidence == ident.averages().confidence
