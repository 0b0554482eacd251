"""The question: reward families, fairness rates, and the instance that joins them with the means."""

from fairbai.problems import drifts, rates
from fairbai.problems.families import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson
from fairbai.problems.instance import Instance

__all__ = ["Bernoulli", "Bounded", "Exponential", "Family", "Gaussian", "Instance", "Poisson", "drifts", "rates"]
