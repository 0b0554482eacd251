"""How much a key may do in a worker."""

import math
import time

from fairbai.service.domain.refusals import Refusal

BURST = 2.0  # seconds of requests that may come at once


class Quota:
    """Requests per second of every key, with one number per key: when its requests so far would be used up.

    Args:
        rate: Requests per second, on average; 0 for any number.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._until: dict[str, float] = {}

    def take(self, key: str) -> None:
        """Count a request of a key; raises a Refusal if it is one too many."""
        if self._rate <= 0.0:
            return
        now = time.monotonic()
        until = max(now, self._until.get(key, now)) + 1.0 / self._rate
        if (over := until - now - max(BURST, 1.0 / self._rate)) > 1e-9:
            most = f"{self._rate:g} requests per second, and {max(1.0, self._rate * BURST):g} at once"
            raise too_many(f"One key may send {most}", over)
        self._until[key] = until


def too_many(detail: str, wait: float = 1.0) -> Refusal:
    """429: more than a key may do."""
    return Refusal(429, "Too many requests", detail, {"Retry-After": str(max(1, math.ceil(wait)))})
