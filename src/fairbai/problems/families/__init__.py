"""Reward families: one-parameter exponential families, named by their mean, and rewards in an interval.

Each is a few parameters, checks and a sampler; the numerical bodies are in ``kernels.families`` under the same code.
"""

# The order is that in which ``Family.in_library`` lists them.
# isort: off
from fairbai.problems.families.family import MAX_VALUE, Family
from fairbai.problems.families.gaussian import Gaussian
from fairbai.problems.families.bernoulli import Bernoulli
from fairbai.problems.families.poisson import Poisson
from fairbai.problems.families.exponential import Exponential
from fairbai.problems.families.bounded import Bounded

__all__ = ["MAX_VALUE", "Bernoulli", "Bounded", "Exponential", "Family", "Gaussian", "Poisson"]
