"""Codes that no kernel knows: never an answer, and never that of another family, rate or rule."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels import families as kernels
from fairbai.kernels.config import FAMILY, RULE, STOPPING, Config
from fairbai.kernels.rates import fill_floors
from fairbai.kernels.sampling import rules
from fairbai.kernels.sampling.policies import fill_policy
from fairbai.kernels.state import MEAN, OBSERVED, SUM
from fairbai.kernels.stopping.scores import penalty
from fairbai.simulation.scenario import _empty_record, make_scenario
from tests.cases import SAMPLING_RULES
from tests.states import empty_scalars, empty_state

UNKNOWN = 99
ROUNDS = 40
S = fb.sampling


@pytest.mark.parametrize(
    "found",
    [
        kernels.domain(UNKNOWN),
        kernels.moved_inside(UNKNOWN, 0.5, 10.0),
        kernels.divergence(UNKNOWN, 0.3, 0.5, 0.2, 1.0),
        kernels.backwards(UNKNOWN, 0.3, 0.5, 0.2),
        kernels.variance(UNKNOWN, 0.3, 1.0),
        kernels.draw(UNKNOWN, 0.3, 1.0, 0.5, 0.7),
        kernels.parameter(UNKNOWN, 0.3),
        kernels.tilt_unit(UNKNOWN, 4.0, 1.0, 1.0)[0],
        kernels.tilted(UNKNOWN, 0.1, 10.0, 0.3, 1.0, 0.4),
        kernels.regret(UNKNOWN, 4.0, 1.0, 10.0, 3.0),
        penalty(0, UNKNOWN, 4.0, 1.0, 10.0, 3.0),
    ],
)
def test_nothing_is_known_of_an_unknown_code(found: float | tuple[float, ...]) -> None:
    assert np.isnan(found).all()


def test_unknown_rates_have_no_floors() -> None:
    floors = np.zeros(3)
    fill_floors(UNKNOWN, 0.5, 1.0, np.array([1.0, 0.5, 0.0]), floors)
    assert np.isnan(floors).all()


def simulated(
    place: int, sampling: S.SamplingRule, stopping: fb.stopping.StoppingRule
) -> tuple[np.ndarray, np.ndarray]:
    """The answers of three runs with an unknown code in this place, and the state in which the last one ended."""
    scenario = make_scenario(fb.Instance([1.0, 0.2, 0.1]), 0.1, sampling, stopping, False, 0, ROUNDS)
    one, record = scenario.experiment(), _empty_record(3, 1, 3, histogram=False, marks=0)
    one.codes[place] = UNKNOWN
    scenario._compiled(0, np.array([stopping.level(0.1, 3)]), one, record)
    return record.answers, one.state


@pytest.mark.parametrize("stopping", [fb.stopping.Heuristic(), fb.stopping.Mixture(), fb.stopping.KaufmannKoolen()])
@pytest.mark.parametrize("sampling", SAMPLING_RULES, ids=lambda rule: f"{rule.kind}{rule.code}")
def test_unknown_family_earns_nothing_and_never_stops(
    sampling: S.SamplingRule, stopping: fb.stopping.StoppingRule
) -> None:
    answers, state = simulated(FAMILY, sampling, stopping)
    assert (answers == -1).all()
    assert np.isnan(state[[SUM, MEAN]][:, state[OBSERVED] > 0]).all()


def test_unknown_stopping_rule_never_stops() -> None:
    answers, state = simulated(STOPPING, S.FairTopTwo(), fb.stopping.Heuristic())
    assert (answers == -1).all()
    assert state[OBSERVED].sum() == ROUNDS


def test_unknown_sampling_rule_chooses_nothing() -> None:
    """A rule that starts from each arm does so; then the run is given up."""
    answers, state = simulated(RULE, S.FairTrackAndStop(start="each-arm"), fb.stopping.Heuristic())
    assert (answers == -1).all()
    assert state[OBSERVED].tolist() == [1.0, 1.0, 1.0]


def test_unknown_sampling_rule_has_no_policy() -> None:
    policy = np.zeros(3)
    config = Config(0, 0, False, UNKNOWN, 0, 0, -1, 0, 0, 0.0, 1.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0)
    fill_policy(config, empty_state(3), empty_scalars(), policy)
    assert np.isnan(policy).all()


def test_predicates() -> None:
    """What is true of every rule; a rule written in Python has no policy that a kernel could know."""
    codes = range(rules.PYTHON + 1)
    assert [code for code in codes if rules.solves(code)] == [
        rules.FAIR_SAMPLED,
        rules.FAIR_CUMULATIVE,
        rules.DIRECT,
        rules.CUMULATIVE,
    ]
    assert [code for code in codes if rules.draws(code)] == [rules.FAIR_SAMPLED, rules.UNIFORM_FAIR]
    assert [code for code in codes if rules.tracks(code)] == [rules.FAIR_CUMULATIVE, rules.CUMULATIVE]
    for code in codes:
        assert rules.has_policy(code) == (rules.draws(code) or rules.tracks(code))
        assert not rules.is_fair(code) or rules.solves(code)
