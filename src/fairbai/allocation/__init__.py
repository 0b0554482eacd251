"""The lower bound and its optimiser: what the best allocation is, and what fairness costs."""

from fairbai.allocation.price import PriceOfFairness, lower_bound, price_of_fairness
from fairbai.allocation.solve import Allocation, AllocationBatch, solve, solve_batch

__all__ = [
    "Allocation",
    "AllocationBatch",
    "PriceOfFairness",
    "lower_bound",
    "price_of_fairness",
    "solve",
    "solve_batch",
]
