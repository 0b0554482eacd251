"""The question: reward families, fairness rates, and the instance that joins them with the means."""

from fairbai.problems import drifts, laws, rates
from fairbai.problems.factors import Factorial, factorial
from fairbai.problems.families import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson
from fairbai.problems.instance import Instance
from fairbai.problems.linear import Linear

__all__ = [
    "Bernoulli",
    "Bounded",
    "Exponential",
    "Factorial",
    "Family",
    "Gaussian",
    "Instance",
    "Linear",
    "Poisson",
    "drifts",
    "factorial",
    "laws",
    "rates",
]
