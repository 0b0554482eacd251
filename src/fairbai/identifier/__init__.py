"""Ask and tell on live data: which arm next, what it earned, and when to stop."""

from fairbai.identifier.identifier import Identifier
from fairbai.identifier.status import Status
from fairbai.identifier.trials import Trial

__all__ = ["Identifier", "Status", "Trial"]
