"""What is proved of confidences and candidates, counted over many runs where errors are most likely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.standing import not_excluded
from fairbai.simulation.summary import clopper_pearson
from fairbai.stopping import StoppingRule

TIES: dict[str, tuple[Any, list[float]]] = {
    "two gaussian arms": (fb.Gaussian(1.0), [1e-6, 0.0]),
    "four gaussian arms": (fb.Gaussian(1.0), [1e-6, 0.0, 0.0, 0.0]),
    "bernoulli": ("bernoulli", [0.3 + 1e-9, 0.3, 0.3]),
    "poisson": ("poisson", [1.0 + 1e-9, 1.0]),
}
RULES: list[StoppingRule] = [fb.stopping.Mixture(kappa=1.0), fb.stopping.TwoSidedMixture(kappa=1.0)]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
@pytest.mark.parametrize("case", TIES)
def test_few_runs_are_ever_sure_of_a_wrong_arm(case: str, rule: StoppingRule) -> None:
    """Of 3,000 runs at their end, with the best score since each arm was first named: for every level at once."""
    family, means = TIES[case]
    runs = fb.simulate(fb.Instance(means, family), 1e-12, stopping=rule, runs=3000, seed=7, maximum_rounds=400)
    assert runs.censored.all()
    stated, wrong = runs.confidence[:, 0], ~runs.guess_correct[:, 0]
    for level in (0.2, 0.5, 0.8, 0.9, 0.95):
        assert clopper_pearson(int((wrong & (stated >= level)).sum()), 3000)[0] <= 1.0 - level
    assert (stated > 0.5).any() or rule.kind == "two_sided_mixture"
    assert not runs.calibration().overconfident


@pytest.mark.slow_without_jit
def test_the_confidence_of_the_design_based_stop_under_drift() -> None:
    """The means cross, so that another arm is the best on average at the end than at the start."""
    drift = fb.drifts.Ramp([-0.4, 0.4], 300)
    instance = fb.Instance([0.7, 0.3], "bernoulli", rates=0.3)
    runs = fb.simulate(instance, 1e-12, stopping="design_based", runs=1000, seed=3, maximum_rounds=300, drift=drift)
    stated, wrong = runs.confidence[:, 0], ~runs.guess_correct[:, 0]
    for level in (0.2, 0.5, 0.9):
        assert clopper_pearson(int((wrong & (stated >= level)).sum()), 1000)[0] <= 1.0 - level


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", ["two gaussian arms", "bernoulli"])
def test_the_best_arm_stays_a_candidate_and_is_the_answer(case: str) -> None:
    """At all times, and both together, in all but delta = 0.3 of 150 runs (three standard errors are 0.11)."""
    family, means = TIES[case]
    rule, rng, failed, excluded = fb.stopping.Mixture(kappa=1.0), np.random.default_rng(4), 0, 0
    level = rule.level(0.3, len(means))
    for _ in range(150):
        ident = fb.Identifier(len(means), 1e-9, family, stopping=rule, seed=int(rng.integers(2**32)))
        one, gone, answer = ident.procedure.experiment, False, None
        for trial in range(240):
            arm = ident.ask()
            ident.tell(arm, _reward(rng, family, means[arm]))
            if trial >= 10 and trial % 4 == 0:
                gone |= 0 not in not_excluded(one, level)
                if answer is None and float(one.exact_evidence()[0]) >= level:
                    answer = one.best
        excluded += len(not_excluded(one, level)) < len(means)
        failed += gone or answer not in (None, 0)
    assert failed / 150 <= 0.3 + 0.11
    assert excluded + failed > 0


def _reward(rng: np.random.Generator, family: str, mean: float) -> float:
    return float(rng.normal(mean)) if family == fb.Gaussian(1.0) else float(rng.random() < mean)
