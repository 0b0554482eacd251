"""The section on earning: what it says of made-up comparisons, its settings, and the claims of the papers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction.past import earning, earning_claims
from fairbai.reproduction.past.earning import EARNS, OURS, RULES, settings
from fairbai.simulation.comparison import Comparison
from tests.reproduction.conftest import SmallReport
from tests.simulation.test_comparison import row


def made() -> dict[str, Comparison]:
    """In every setting ours has 100 trials, with earning 110 and less regret; all others twice as many."""
    rows = [row(OURS, 100.0, 50.0), row(EARNS, 110.0, 40.0)]
    rows += [row(name, 200.0, 100.0) for name in RULES if name not in (OURS, EARNS)]
    rows[-1] = replace(rows[-1], regret=10.0, kept="no", unanswered=0.25)  # ExposureFair
    return {title: Comparison(400, tuple(rows)) for title in settings()}


def test_twelve_rules_in_eleven_settings() -> None:
    assert len(RULES) == 12 + 1
    assert len(settings()) == 8 + 3
    bernoulli = [one for one in settings().values() if isinstance(one.family, fb.Bernoulli)]
    assert len(bernoulli) == 3


def test_the_section_says_what_the_comparisons_show() -> None:
    section = earning.written(made(), [["claim", "found", "yes"]], runs=4)
    overall, claims, each = section.tables
    assert [line[0] for line in overall.rows] == list(RULES)
    assert overall.rows[1][:4] == [EARNS, "× 1.10", "× 0.80", "× 0.80"]
    assert overall.rows[-1][1:5] == ["> × 2.00", "> × 0.20", "× 2.00", "no in 11"]
    assert overall.rows[0][7].startswith("0 of 44 (")
    assert claims.rows == [["claim", "found", "yes"]]
    assert len(each.rows) == 11 * 13
    assert all(len(line) == len(table.header) for table in section.tables for line in table.rows)
    assert "× 1.10 trials and × 0.80 regret" in section.findings[0]
    assert "in 0 of 11 settings." in section.findings[1]
    assert "FairUCB: × 2.00 trials, × 2.00 regret" in section.findings[2]
    assert "In 11 of 121 pairs" in section.findings[3]
    assert "in 11 of these it did not keep the floors" in section.findings[3]
    assert "all 0 of them" in section.findings[4]
    assert len(section.pictures[0].figure.axes) == 4


def test_promises_that_were_broken_are_named() -> None:
    found = made()
    for title, one in found.items():
        kept = [replace(each, promise_kept=None if each.rule == "ExposureFair" else True) for each in one.rows]
        found[title] = Comparison(400, tuple(kept))
    first, *others = found["Bernoulli 0.5, 0.4, 0.3, floors 0.1"].rows
    section = earning.written(found, [], runs=4)
    assert [line[6] for line in section.tables[0].rows] == ["in 11 of 11"] * 12 + ["-"]
    assert "on average, all 12 of them kept their own promise in all 11 settings" in section.findings[4]
    broken = Comparison(400, (replace(first, promise_kept=False), *others))
    section = earning.written({**found, "Bernoulli 0.5, 0.4, 0.3, floors 0.1": broken}, [], runs=4)
    assert section.tables[0].rows[0][6] == "in 10 of 11"
    assert f"all but {OURS} (in 1) kept their own promise" in section.findings[4]


def test_one_rule_that_is_best_in_both_is_named() -> None:
    alone = {title: Comparison(400, (row(OURS, 1.0, 1.0), *one.rows[1:])) for title, one in made().items()}
    section = earning.written(alone, [], runs=4)
    assert f"in 11 of 11 settings: {OURS} in 11." in section.findings[1]


@pytest.mark.slow_without_jit
def test_the_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer and shorter runs; what does not need long runs holds."""
    monkeypatch.setattr(earning_claims, "LONG", 8_000)
    rows = earning_claims.claims(3, seed=0)
    held = {line[0].split(":")[0]: line[2] for line in rows if "at all times" in line[0]}
    assert set(held) == {"Patil et al., Fair-UCB", "Claure et al., strict"}
    assert set(held.values()) == {"yes"}
    assert {line[2] for line in rows} <= {"yes", "no"}
    assert rows[-2][2] == earning_claims._liu(100, seed=0)[2] == "yes"
    found, pulls = earning_claims.played(fb.sampling.StrictQuota(), 2, 0, [10, 50])
    np.testing.assert_array_equal(pulls.sum(axis=2), [[10.0, 50.0]] * 2)
    assert found.censored.all()


@pytest.mark.slow_without_jit
def test_claims_about_regret_and_merit_can_fail() -> None:
    """They hold for the rules of their papers, and not for others."""
    for check, right, wrong in (
        (earning_claims._patil_regret, fb.sampling.FairUCB(), fb.sampling.UniformFair()),
        (
            earning_claims._li_regret,
            fb.sampling.VirtualQueues(eta=earning_claims.STEEP),
            fb.sampling.VirtualQueues(eta=1.0),
        ),
        (earning_claims._by_merit, fb.sampling.ExposureFair(), fb.sampling.ProportionalCatchUp()),
    ):
        assert [check(rule, 4, 0)[2] for rule in (right, wrong)] == ["yes", "no"], check.__name__


def test_the_distance_from_merit_is_that_of_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that miss the target in opposite directions do not cancel."""
    merit = np.exp(fb.sampling.ExposureFair().steepness * np.array(earning_claims.MEANS))
    miss = np.array([0.1, -0.1, 0.0, 0.0])
    shares = merit / merit.sum() + np.array([miss, miss]) * np.array([1.0, -1.0])[:, None, None]
    found = SimpleNamespace(shares=shares)
    monkeypatch.setattr(earning_claims, "played", lambda *_: (found, None))
    claim = earning_claims._by_merit(fb.sampling.ExposureFair(), 2, 0)
    assert claim[1:] == ["mean distance 0.200 after 1,000 trials, and × 1.00 in × 32 trials", "no"]


def test_an_arm_is_as_likely_as_it_has_the_highest_reward() -> None:
    means, rng = np.array([0.8, 0.6, 0.5, 0.2]), np.random.default_rng(0)
    rewards = (rng.random((200_000, 4)) < means) + 1e-3 * rng.random((200_000, 4))  # ties at random
    often = np.bincount(rewards.argmax(axis=1), minlength=4) / 200_000
    np.testing.assert_allclose(earning_claims._calibrated(means[None, :])[0], often, atol=0.005)


@pytest.mark.slow_without_jit
@pytest.mark.xdist_group("report")
def test_section(report: SmallReport) -> None:
    section = report.sections["earning"]
    assert len(section.tables[2].rows) == 11 * 13
    assert all(line[2] in ("yes", "no") for line in section.tables[1].rows)
