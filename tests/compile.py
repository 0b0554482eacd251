"""Compile the kernels that most tests use, half of them in each of two processes, before the tests begin.

Both workers of pytest would compile the same kernels at the same time otherwise: ``python -m tests.compile``.
"""

import subprocess
import sys

IDENTIFIER = """
import fairbai as fb

for rates in (fb.rates.Constant(0.1), fb.rates.Bounded(0.1, 0.8)):
    ident = fb.Identifier(2, delta=0.1, family="gaussian", rates=rates, seed=1)
    for _ in range(4):
        ident.tell(ident.ask(), 0.0)
    ident.policy(2)
    ident.tell_batch([1, 1], [0.0, 0.0])
    fb.Identifier.from_dict(ident.to_dict()).status()
    fb.solve(fb.Instance([1.0, 0.0], rates=rates))
fb.solve_batch([[1.0, 0.0], [2.0, 0.0]], fb.rates.Constant(0.1))
fb.simulation.simulate_edges(fb.Instance([1.0, 0.0]), 0.1, nodes=2, batch=2, runs=1, maximum_rounds=10)
"""
SIMULATION = """
import numba
import fairbai as fb

custom = fb.rates.Custom(numba.njit(lambda means: 0.1))
for rates in (fb.rates.Constant(0.1), fb.rates.Bounded(0.1, 0.8), custom):
    instance = fb.Instance([1.0, 0.0], rates=rates)
    fb.simulate(instance, 0.1, settle=True, runs=1, maximum_rounds=10)
"""


def main() -> int:
    halves = [subprocess.Popen([sys.executable, "-c", code]) for code in (IDENTIFIER, SIMULATION)]
    return max(half.wait() for half in halves)


if __name__ == "__main__":
    sys.exit(main())
