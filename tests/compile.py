"""Compile the kernels that most tests use before the tests begin: ``python -m tests.compile``.

These are what ``fairbai warm`` compiles, and a few more. One compiler works for both processes.
"""

import os
import subprocess
import sys

MORE = """
import numba
import fairbai as fb

custom = fb.rates.Custom(numba.njit(lambda means: 0.1))
fb.simulate(fb.Instance([1.0, 0.0], rates=custom), 0.1, settle=True, runs=1, maximum_rounds=10)
fb.simulation.simulate_edges(fb.Instance([1.0, 0.0]), 0.1, nodes=2, batch=2, runs=1, maximum_rounds=10)
linear = fb.Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
fb.simulate(fb.Instance([0.0, 0.0, 0.0], linear, 0.1), 0.1, settle=True, runs=1, maximum_rounds=10)
fb.Identifier(3, delta=0.1, family=linear).status()
fb.solve(fb.Instance([0.0, 1.0, 1.0], linear))
for family in (fb.Gaussian(1.0), "bernoulli"):
    fb.solve_batch([[0.6, 0.4], [0.7, 0.4]], fb.rates.Constant(0.1), family=family)
"""
COMMANDS = (["-m", "fairbai", "warm", "--quiet"], ["-c", MORE])


def main() -> int:
    environment = {**os.environ, "FAIRBAI_JIT": "wait"}
    started = [subprocess.Popen([sys.executable, *command], env=environment) for command in COMMANDS]
    return max(process.wait() for process in started)


if __name__ == "__main__":
    sys.exit(main())
