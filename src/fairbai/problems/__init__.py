"""The question: reward families, fairness rates, and the instance that joins them with the means."""

from fairbai.problems import rates
from fairbai.problems.families import Bernoulli, Exponential, Family, Gaussian, Poisson
from fairbai.problems.instance import Instance

__all__ = ["Bernoulli", "Exponential", "Family", "Gaussian", "Instance", "Poisson", "rates"]
