"""Before an experiment: what it will take."""

from fairbai.planning.duration import Duration
from fairbai.planning.outlook import Outlook
from fairbai.planning.plan import Plan, plan

__all__ = ["Duration", "Outlook", "Plan", "plan"]
