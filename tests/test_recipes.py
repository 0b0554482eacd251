"""The recipes of CONTRIBUTING, followed with toy examples on a copy of the package: just the files that they name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairbai
from fairbai.problems import Family
from fairbai.problems.configured import Configured
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule

ROOT = Path(__file__).parent.parent
PACKAGE = Path(fairbai.__file__).parent


class Copy:
    """A copy of the package, to which a recipe is applied; it notes which files change."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set[str]()
        shutil.copytree(PACKAGE, folder / "fairbai", ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, name: str, text: str) -> None:
        """A new file."""
        path = self.folder / "fairbai" / name
        assert not path.exists()
        path.write_text(text)
        self.touched.add(name)

    def replace(self, name: str, old: str, new: str) -> None:
        """Change one place of a file."""
        path = self.folder / "fairbai" / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} places like {old!r}"
        path.write_text(text.replace(old, new))
        self.touched.add(name)

    def append(self, name: str, text: str) -> None:
        """Add to the end of a file."""
        path = self.folder / "fairbai" / name
        path.write_text(path.read_text() + text)
        self.touched.add(name)

    def branch(self, name: str, function: str, text: str) -> None:
        """Add a branch before the end of a switch, which is nan."""
        body = (self.folder / "fairbai" / name).read_text().split(f"def {function}(")[1].split("\n\n\n")[0]
        before, end, after = body.rpartition("    return math.nan")
        assert end, f"{function} must end in nan"
        self.replace(name, f"def {function}({body}", f"def {function}({before}{text}{end}{after}")

    def run(self, script: str) -> None:
        """Run a script on the copy, without the JIT: as the kernels give the same bits, nothing is compiled for it."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def named(what: str) -> set[str]:
    """The modules of the package that the recipe names."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split(f"## How to add a {what}\n")[1].split("\n## ")[0]
    names = re.findall(r"`((?:[\w<>]+/)*[\w<>]+\.py)`", text)
    return {name for name in names if not name.startswith("tests/")}


GEOMETRIC = '''"""Failures before a success."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers
from fairbai.problems.families.family import Family, shape_of


@dataclass(frozen=True, eq=False)
class Geometric(Family):
    """Failures before a success."""

    code: ClassVar[int] = kernels.GEOMETRIC
    low: ClassVar[float] = 0.0

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Counts, as floats."""
        means = np.asarray(means)
        return rng.geometric(1.0 / (1.0 + means), shape_of(means, size)) - 1.0
'''


def add_geometric(copy: Copy) -> None:
    """The class of the family, in a file of its own."""
    folder = "problems/families"
    copy.add(f"{folder}/geometric.py", GEOMETRIC)
    line = "from fairbai.problems.families.bounded import Bounded\n"
    copy.replace(f"{folder}/__init__.py", line, f"{line}from fairbai.problems.families.geometric import Geometric\n")
    copy.replace(f"{folder}/__init__.py", '"Gaussian", "Poisson"]', '"Gaussian", "Geometric", "Poisson"]')


USE_OF_THE_FAMILY = """
import numpy as np
import fairbai as fb
from fairbai.kernels.streams.rewards import reward
from fairbai.simulation.scenario import truth_of
from fairbai.stopping import StoppingRule
from fairbai.testing import check_family

check_family(fb.Geometric(), means=(4.0, 2.0, 1.0, 0.5), draws=3000)

instance = fb.Instance([2.0, 0.3], "geometric", rates=0.2)
uniforms = (np.arange(2000) + 0.5) / 2000
rewards = np.array([reward(fb.Geometric.code, truth_of(instance), 0, uniform) for uniform in uniforms])
for count in range(8):  # the law of its own: P(X >= k) = (2/3)^k, not that of another family
    assert abs(np.mean(rewards >= count) - (2 / 3) ** count) < 1e-3

runs = fb.simulate(instance, 0.1, stopping=fb.stopping.Heuristic(), settle=True, runs=20, seed=1)
assert runs.correct.mean() > 0.8 and not runs.censored.any() and not runs.proved
assert not fb.Identifier(2, 0.1, fb.Geometric(), stopping=fb.stopping.Heuristic()).status().proved

proved = [kind() for kind in StoppingRule.in_library() if kind.proof is not None]
assert len(proved) >= 4
for rule in [None, *proved]:  # None is the default
    for use in (fb.simulate, fb.Identifier):
        arms = instance if use is fb.simulate else 2
        settings = {} if use is fb.simulate else {"family": fb.Geometric()}
        try:
            use(arms, 0.1, stopping=rule, **settings)
        except ValueError as error:
            assert "is proved for" in str(error) and "got geometric: use Heuristic()" in str(error), error
        else:
            raise AssertionError(f"{rule!r} takes a family that it is not proved for")
"""


def test_a_fifth_family_is_simulated_stopped_and_refused(copy: Copy) -> None:
    kernels = "kernels/families.py"
    copy.replace(kernels, "MIRRORED_EXPONENTIAL = range(6, 8)", "MIRRORED_EXPONENTIAL, GEOMETRIC = range(6, 9)")
    copy.branch(kernels, "domain", "    if family == GEOMETRIC:\n        return 0.0, math.inf\n")
    copy.branch(kernels, "moved_inside", "    if family == GEOMETRIC:\n        return max(mean, edge)\n")
    entropy = "relative_entropy(mean, other, change) - relative_entropy(1.0 + mean, 1.0 + other, change)"
    copy.branch(kernels, "divergence", f"    if family == GEOMETRIC:\n        return {entropy}\n")
    copy.branch(kernels, "variance", "    if family == GEOMETRIC:\n        return mean * (1.0 + mean)\n")
    quantile = "math.floor(math.log(uniform) / math.log(mean / (1.0 + mean)))"
    copy.branch(kernels, "draw", f"    if family == GEOMETRIC:\n        return {quantile}\n")
    add_geometric(copy)
    copy.replace("problems/__init__.py", "Gaussian, Poisson\n", "Gaussian, Geometric, Poisson\n")
    copy.replace("problems/__init__.py", '    "Gaussian",\n', '    "Gaussian",\n    "Geometric",\n')
    copy.replace("__init__.py", "        Gaussian,\n", "        Gaussian,\n        Geometric,\n")
    copy.replace("__init__.py", '    "Gaussian",\n', '    "Gaussian",\n    "Geometric",\n')
    copy.replace("cli/completion.py", '"exponential", "bounded"]', '"exponential", "bounded", "geometric"]')
    copy.run(USE_OF_THE_FAMILY)
    touched = {name.replace("geometric", "<family>") for name in copy.touched}
    assert touched == named("family") - {"stopping/rules.py", "kernels/doubts.py"}  # which are for a proof


def test_a_family_that_is_only_half_added_gives_nan(copy: Copy) -> None:
    """Without its branches, it has no rewards and no allocation, and certainly not those of another family."""
    copy.replace(
        "kernels/families.py", "MIRRORED_EXPONENTIAL = range(6, 8)", "MIRRORED_EXPONENTIAL, GEOMETRIC = range(6, 9)"
    )
    add_geometric(copy)
    copy.run("""
import math
from fairbai.kernels.families import GEOMETRIC, draw
from fairbai.problems.families import Geometric
assert math.isnan(Geometric().divergence(2.0, 1.0))
assert math.isnan(draw(GEOMETRIC, 2.0, 1.0, 0.5, 0.3))
""")


SQUARED_GAP = '''

@dataclass(frozen=True, eq=False)
class SquaredGap(_Learned):
    """p0 Δ_a² / Σ Δ²; equal rates where all means are equal."""

    code: ClassVar[int] = kernels.SQUARED_GAP
'''
USE_OF_THE_RATE = """
import numpy as np
import fairbai as fb
from fairbai.testing import check_rate

rate = fb.rates.Rate.from_dict({"kind": "squared_gap", "p0": 0.5})
assert rate == fb.rates.SquaredGap(0.5)
assert np.allclose(rate.floors([1.0, 0.0, -1.0]), [0.0, 0.1, 0.4])
check_rate(rate, arms=3, draws=10)
runs = fb.simulate(fb.Instance([2.0, 1.0, 0.0], rates=rate), 0.2, settle=True, runs=5, seed=1)
assert not runs.censored.any()
"""


def test_a_rate_is_learned_by_the_kernels(copy: Copy) -> None:
    kernels = "kernels/rates.py"
    copy.replace(kernels, "INVERSE_GAP, GAP = range(5)", "INVERSE_GAP, GAP, SQUARED_GAP = range(6)")
    last = "            share = gap / (top - least) if top > least else 0.0\n"
    squared = last.replace("gap / (top - least)", "(gap / (top - least)) ** 2")
    copy.replace(kernels, last, f"{last}        elif rate == SQUARED_GAP:\n{squared}")
    copy.append("problems/rates/learned.py", SQUARED_GAP)
    copy.replace("problems/rates/__init__.py", "Proportional, Softmax\n", "Proportional, Softmax, SquaredGap\n")
    copy.replace("problems/rates/__init__.py", '    "Softmax",\n', '    "Softmax",\n    "SquaredGap",\n')
    copy.replace("cli/completion.py", '"inverse_gap", "gap"]', '"inverse_gap", "gap", "squared_gap"]')
    copy.run(USE_OF_THE_RATE)
    assert copy.touched == named("rate")


ROUND_ROBIN = '''"""One arm after the other."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class RoundRobin(SamplingRule):
    """The arm with the fewest trials."""

    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "none"
    code: ClassVar[int] = kernels.ROUND_ROBIN
'''
USE_OF_THE_SAMPLING_RULE = """
import numpy as np
import fairbai as fb
from fairbai.testing import check_sampling_rule

rule = fb.sampling.SamplingRule.from_dict("round_robin")
assert rule == fb.sampling.RoundRobin()
check_sampling_rule(rule, trials=100, runs=4)
assert fb.Identifier(3, 0.1, fb.Gaussian(1.0), sampling=rule).ask(5) == [0, 1, 2, 0, 1]
runs = fb.simulate(fb.Instance([1.0, 0.0, 0.0]), 1e-9, rule, runs=2, maximum_rounds=30, trace=[10, 30])
assert runs.shares.tolist() == [[[0.4, 0.3, 0.3], [1 / 3] * 3]] * 2
"""


def test_a_sampling_rule_runs_in_the_compiled_loop_and_in_an_identifier(copy: Copy) -> None:
    copy.replace(
        "kernels/sampling/rules.py", "POSTERIOR_FAIR = range(8, 10)", "POSTERIOR_FAIR, ROUND_ROBIN = range(8, 11)"
    )
    choose = "kernels/sampling/choose.py"
    copy.replace(choose, "    LUCB,\n", "    LUCB,\n    ROUND_ROBIN,\n")
    last = "    elif rule == LUCB:\n"
    copy.replace(choose, last, f"    elif rule == ROUND_ROBIN:\n        arm = fewest_useful(state)\n{last}")
    copy.add("sampling/round_robin.py", ROUND_ROBIN)
    line = "from fairbai.sampling.rule import SamplingRule, Situation\n"
    copy.replace("sampling/__init__.py", line, f"from fairbai.sampling.round_robin import RoundRobin\n{line}")
    copy.replace("sampling/__init__.py", '    "SamplingRule",\n', '    "RoundRobin",\n    "SamplingRule",\n')
    copy.run(USE_OF_THE_SAMPLING_RULE)
    assert {name.replace("round_robin", "<rule>") for name in copy.touched} == named("sampling rule")


PATIENT = '''

@dataclass(frozen=True, eq=False)
class Patient(StoppingRule):
    """``PairwiseGaussian`` with twice the penalty: proved for the same arms, since it never stops earlier."""

    proof: ClassVar[Proof] = Proof((Gaussian,))
    code: ClassVar[int] = kernels.PATIENT

    def level(self, delta: float, arms: int) -> float:
        """That of ``PairwiseGaussian``."""
        from fairbai.stopping.kaufmann_koolen import PairwiseGaussian

        return PairwiseGaussian().level(delta, arms)
'''
USE_OF_THE_STOPPING_RULE = """
import fairbai as fb

rule = fb.stopping.StoppingRule.from_dict("patient")
assert rule == fb.stopping.Patient() and rule.proved(fb.Gaussian())
instance = fb.Instance([1.0, 0.0])
patient, plain = (fb.simulate(instance, 0.1, stopping=one, runs=5) for one in (rule, fb.stopping.PairwiseGaussian()))
assert patient.proved and not patient.censored.any()
assert (patient.stopping_time > plain.stopping_time).all()
assert (patient.confidence >= 0.9).all()
ident = fb.Identifier(3, 0.1, fb.Gaussian(), stopping=rule, look_every=0)
ident.tell_batch([99, 99, 99], [300.0, 299.0, 0.0])
assert ident.status().candidates == (0, 1)
try:
    fb.Identifier(2, 0.1, fb.Bernoulli(), stopping=rule)
except ValueError as error:
    assert "stopping rule patient is proved for gaussian arms, got bernoulli: use Mixture()" in str(error), error
else:
    raise AssertionError
"""


def test_a_stopping_rule_stops_and_refuses(copy: Copy) -> None:
    kernels = "kernels/stopping/scores.py"
    copy.replace(kernels, "LINEAR_MIXTURE = range(5, 9)", "LINEAR_MIXTURE, PATIENT = range(5, 10)")
    copy.branch(kernels, "penalty", "    if rule == PATIENT:\n        return 4.0 * math.log(4.0 + math.log(count))\n")
    pairs = "(PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN_PAIRWISE, TWO_SIDED_MIXTURE)"
    copy.replace(kernels, pairs, pairs.replace(")", ", PATIENT)"))
    copy.append("stopping/rules.py", PATIENT)
    copy.replace("stopping/__init__.py", "    Mixture,\n", "    Mixture,\n    Patient,\n")
    copy.replace("stopping/__init__.py", '    "PairwiseGaussian",\n', '    "PairwiseGaussian",\n    "Patient",\n')
    copy.run(USE_OF_THE_STOPPING_RULE)
    assert copy.touched == named("stopping rule")


@pytest.mark.parametrize(
    ("base", "page", "reference"),
    [
        (Family, "families", "problems"),
        (Rate, "rates", "rates"),
        (SamplingRule, "sampling", "sampling"),
        (StoppingRule, "stopping", "stopping"),
    ],
)
def test_everything_that_can_be_chosen_is_documented(base: type[Configured], page: str, reference: str) -> None:
    """The last step of every recipe: a row on the page, and an entry in the reference."""
    docs = (ROOT / "docs" / f"{page}.md").read_text(), (ROOT / "docs" / "reference" / f"{reference}.md").read_text()
    for kind in base.in_library():
        assert f"`{kind.__name__}" in docs[0] or f".{kind.__name__}" in docs[0], f"{kind.__name__}: docs/{page}.md"
        assert f".{kind.__name__}\n" in docs[1], f"{kind.__name__}: docs/reference/{reference}.md"
