"""After an experiment: what a log that somebody already has says, and what to do next."""

from fairbai.analysis.analysis import Analysis
from fairbai.analysis.analyzing import analyze
from fairbai.analysis.next_plan import NextPlan

__all__ = ["Analysis", "NextPlan", "analyze"]
