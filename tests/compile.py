"""Compile the kernels that most tests use before the tests begin: ``python -m tests.compile``.

Each process asks for its share, and one compiler works for both.
"""

import os
import subprocess
import sys

IDENTIFIER = """
import fairbai as fb

for family in ("gaussian", "bernoulli"):
    for rates in (fb.rates.Constant(0.1), fb.rates.Bounded(0.1, 0.8)):
        ident = fb.Identifier(2, delta=0.1, family=family, rates=rates, seed=1)
        for _ in range(4):
            ident.tell(ident.ask(), 0.0)
        ident.policy(2)
        ident.tell_batch([1, 1], [0.0, 0.0])
        fb.Identifier.from_dict(ident.to_dict()).status()
        fb.solve(fb.Instance([0.6, 0.4], family=family, rates=rates))
    fb.solve_batch([[0.6, 0.4], [0.7, 0.4]], fb.rates.Constant(0.1), family=family)
fb.simulation.simulate_edges(fb.Instance([1.0, 0.0]), 0.1, nodes=2, batch=2, runs=1, maximum_rounds=10)
"""
SIMULATION = """
import numba
import fairbai as fb

custom = fb.rates.Custom(numba.njit(lambda means: 0.1))
for family in ("gaussian", "bernoulli"):
    for rule in ("fair_top_two", "fair_track_and_stop"):
        instance = fb.Instance([0.6, 0.4], family=family, rates=fb.rates.Constant(0.1))
        fb.simulate(instance, 0.1, rule, settle=True, runs=1, maximum_rounds=10)
fb.simulate(fb.Instance([1.0, 0.0], rates=custom), 0.1, settle=True, runs=1, maximum_rounds=10)
"""


def main() -> int:
    environment = {**os.environ, "FAIRBAI_JIT": "wait"}
    parts = [subprocess.Popen([sys.executable, "-c", code], env=environment) for code in (IDENTIFIER, SIMULATION)]
    return max(part.wait() for part in parts)


if __name__ == "__main__":
    sys.exit(main())
