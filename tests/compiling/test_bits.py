"""The two tiers give the same bits, for every sampling rule, family, rate and stopping rule of the library."""

from __future__ import annotations

import pytest

from tests.processes import run_python

DIGESTS = """
import hashlib
import fairbai as fb
from fairbai.simulation.scenario import make_scenario
from tests.cases import RATES, SAMPLING_RULES, STOPPING_RULES, UNKNOWN, easy_means, families

def digest(family, rate, sampling, stopping):
    instance = fb.Instance(easy_means(family), family=family, rates=rate)
    runs = make_scenario(instance, 0.1, sampling, stopping, True, 1, 40, trace=[1, 5, 20, 40]).simulate(2, 1)
    parts = (runs.stopping_time, runs.recommendation, runs.pulls, runs.shares, runs.glr, runs.violation)
    parts += (runs.guess, runs.confidence)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]

heuristic, top_two = fb.stopping.Heuristic(), fb.sampling.FairTopTwo()
cases = [(f, rate, rule, heuristic) for f in [*families(), UNKNOWN] for rate in RATES for rule in SAMPLING_RULES]
cases += [(f, RATES[0], top_two, stop) for f in [*families(), UNKNOWN] for stop in STOPPING_RULES]
drawing = [rule for rule in SAMPLING_RULES if rule.guarantees(RATES[0], 3) is not None]
bounded = [fb.Bernoulli(), fb.Bounded(), fb.Bounded(variance=0.05)]
cases += [(f, fb.rates.Constant(0.2), rule, fb.stopping.DesignBased(0.2)) for f in bounded for rule in drawing]
for family, rate, sampling, stopping in cases:
    try:
        found = digest(family, rate, sampling, stopping)
    except ValueError as error:  # parts that do not go together
        found = f"refused: {error}"
    print(family.kind, rate.kind, sampling.to_dict(), stopping.kind, found)
"""


LOGS = """
import json
import numpy as np
import fairbai as fb

rng = np.random.default_rng(0)
arms, chances = rng.integers(0, 3, 300), rng.uniform(0.2, 0.5, 300)
for family in (fb.Gaussian(2.0), fb.Bernoulli(), fb.Poisson(), fb.Bounded(0, 9), fb.Exponential()):
    rewards = np.minimum(rng.poisson(1.0 + arms), 9) if family.kind != "bernoulli" else rng.integers(0, 2, 300)
    log = {"arm": arms, "reward": rewards + (family.kind == "exponential"), "p": chances}
    print(json.dumps(fb.analyze(log, family=family, probability="p").to_dict()))
"""


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_a_log_gives_the_same_bits_in_both_tiers() -> None:
    compiled, python = (run_python("-c", LOGS, FAIRBAI_JIT=mode).splitlines() for mode in ("wait", "off"))
    assert compiled == python
    assert len(set(compiled)) == 5


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_every_rule_family_and_rate_gives_the_same_bits_in_both_tiers() -> None:
    compiled, python = (run_python("-c", DIGESTS, FAIRBAI_JIT=mode).splitlines() for mode in ("wait", "off"))
    assert compiled == python
    digests = [line for line in compiled if "refused" not in line]
    assert len(digests) > 0.7 * len(compiled)
    assert len({line.split()[-1] for line in digests}) > 0.3 * len(digests)  # else they would compare nothing
