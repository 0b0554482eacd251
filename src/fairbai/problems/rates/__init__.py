"""Fairness rates: the share of the trials that each arm is guaranteed, and the largest share that it may have."""

from fairbai.problems.rates.blended import blended
from fairbai.problems.rates.bounded import Bounded, Group, Limits
from fairbai.problems.rates.constant import Constant, Rate
from fairbai.problems.rates.learned import Custom, Gap, InverseGap, Proportional, Softmax

__all__ = [
    "Bounded",
    "Constant",
    "Custom",
    "Gap",
    "Group",
    "InverseGap",
    "Limits",
    "Proportional",
    "Rate",
    "Softmax",
    "blended",
]
