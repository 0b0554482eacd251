"""Fairness rates: the share of the trials that each arm is guaranteed, and the largest share that it may have."""

from fairbai.problems.rates.blended import blended
from fairbai.problems.rates.bounded import Bounded, Limits
from fairbai.problems.rates.constant import Constant, Rate
from fairbai.problems.rates.groups import Group
from fairbai.problems.rates.implied import Tightened
from fairbai.problems.rates.learned import Custom, Gap, InverseGap, Proportional, Softmax
from fairbai.problems.rates.overlapping import Overlapping, Polytope

__all__ = [
    "Bounded",
    "Constant",
    "Custom",
    "Gap",
    "Group",
    "InverseGap",
    "Limits",
    "Overlapping",
    "Polytope",
    "Proportional",
    "Rate",
    "Softmax",
    "Tightened",
    "blended",
]
