"""Units that a node assigns by itself, without asking: by a hash, under the probabilities of a published policy.

``edge.js``, which the service sends at ``/static/edge.js``, has the same functions, and gives every unit the same arm.
docs/edge.md says what this promises.

The hash is SipHash-2-4 of the unit's UTF-8 bytes (Aumasson and Bernstein, 2012: https://www.aumasson.jp/siphash), under
the 128 bits of the policy's seed. Its upper 53 bits, over 2**53, are a number u from 0 to 1, and the arm is the first
at which the sum of the probabilities exceeds u.
"""

import math
import time
import uuid
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate, takewhile
from typing import Any

SUM_TOLERANCE = 1e-6  # of probabilities
WORD = 2**64 - 1
STARTS = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def assign(policy: Mapping[str, Any], unit: str) -> str:
    """The arm of a unit, such as a visitor: always the same under the same policy.

    A policy is identified by its version and its seed. Unless the stop is ``design_based``, policies for different
    numbers of trials have one version, but different probabilities and seeds.

    Args:
        policy: As ``Client.policy`` returns it.
        unit: Its name; any text that is not empty.

    Example:
        >>> policy = {"arms": ["old", "new"], "probabilities": {"old": 0.5, "new": 0.5}, "seed": "00" * 16}
        >>> assign(policy, "user-5"), assign(policy, "user-7")
        ('old', 'new')
    """
    arms: list[str] = policy["arms"]
    chances = [policy["probabilities"][arm] for arm in arms]
    *_, total = sums = list(accumulate(chances))
    if not (all(chance >= 0.0 for chance in chances) and abs(total - 1.0) <= SUM_TOLERANCE):
        raise ValueError(f"probabilities must be at least 0 and sum to 1, got {chances!r}")
    point = total * uniform(policy["seed"], unit)  # less than the total, as u is less than 1
    return next(arm for arm, end in zip(arms, sums, strict=True) if point < end)


def uniform(seed: str, unit: str) -> float:
    """The number from 0 to 1 of a unit: a multiple of 2**-53 that is less than 1."""
    if not isinstance(unit, str) or not unit:
        raise ValueError(f"unit must be text that is not empty, got {unit!r}")
    try:
        data = unit.encode()
    except UnicodeEncodeError:
        raise ValueError(f"unit must be text that UTF-8 can encode, got {unit!r}") from None
    return (siphash(bytes.fromhex(seed), data) >> 11) * 2.0**-53


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 of some bytes under a key of 16 bytes."""
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v0, v1, v2, v3 = (start ^ half for start, half in zip(STARTS, (low, high, low, high), strict=True))
    whole = len(data) - len(data) % 8
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56)
    for word in words:
        v0, v1, v2, v3 = _rounds(2, v0, v1, v2, v3 ^ word)
        v0 ^= word
    v0, v1, v2, v3 = _rounds(4, v0, v1, v2 ^ 255, v3)
    return v0 ^ v1 ^ v2 ^ v3


def _rounds(count: int, v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    for _ in range(count):
        v0, v2 = (v0 + v1) & WORD, (v2 + v3) & WORD
        v1, v3 = _turned(v1, 13) ^ v0, _turned(v3, 16) ^ v2
        v0, v2 = (_turned(v0, 32) + v3) & WORD, (v2 + v1) & WORD
        v1, v3 = _turned(v1, 17) ^ v2, _turned(v3, 21) ^ v0
        v2 = _turned(v2, 32)
    return v0, v1, v2, v3


def _turned(value: int, bits: int) -> int:
    """A word with its bits moved to the left, around its end."""
    return (value << bits | value >> 64 - bits) & WORD


class Tally:
    """The trials of a node under one version of a policy: each counts when its window is over, never before.

    What a unit has earned by the end of its window is its reward, and ``silence`` if nobody told one; so it does not
    matter when you tell what you know. Memory holds one entry per unit whose window is open, and nothing of the others.

    Args:
        policy: As ``Client.policy`` returned it.
        window: How long a unit has time for its reward, in seconds. With ``design_based`` it must be shorter than
            ``report_after``, by the time between two reports at least: what is reported later is no evidence.
        silence: What a unit counts as that has no reward by then.

    Quick start::

        policy = client.policy(experiment)
        tally = Tally(policy, window=3600)
        arm = tally.assign("user-7")  # the same as assign(policy, "user-7"); enters the unit now
        tally.tell("user-7", 1.0)  # whenever it is known
        while batch := tally.batch():  # None while no window is over
            client.report(experiment, **batch)
    """

    def __init__(self, policy: Mapping[str, Any], window: float, silence: float = 0.0) -> None:
        if not 0.0 < window < math.inf:
            raise ValueError(f"window must be a positive number of seconds, got {window!r}")
        if window >= (wait := _wait(policy)):
            raise ValueError(f"window must be shorter than report_after ({wait:g} seconds), got {window!r}")
        self.window, self.silence = float(window), _finite("silence", silence)
        self._policy = policy
        self._open: dict[
            str, tuple[str, float, float]
        ] = {}  # of every unit: its arm, the end of its window, its reward

    @property
    def open(self) -> int:
        """The units that are in no batch yet."""
        return len(self._open)

    def assign(self, unit: str, at: float | None = None) -> str:
        """Enter a unit, once; returns its arm. A unit whose window is open keeps its place.

        Args:
            unit: Its name.
            at: When, in seconds; now by default.
        """
        if unit in self._open:
            return self._open[unit][0]
        arm = assign(self._policy, unit)
        self._open[unit] = arm, _now(at) + self.window, self.silence
        return arm

    def tell(self, unit: str, reward: float, at: float | None = None) -> bool:
        """Tell what a unit has earned so far, whenever that is known; the last word counts.

        Returns whether it counts: not if the window of the unit is over, or if it was never entered.
        """
        reward = _finite("reward", reward)
        arm, end, _ = self._open.get(unit, ("", -math.inf, 0.0))
        if _now(at) >= end:
            return False
        self._open[unit] = arm, end, reward
        return True

    def batch(self, at: float | None = None) -> dict[str, Any] | None:
        """What ``Client.report`` takes, of all units whose windows are over; None if there are none.

        Keep it until it is reported: that can be repeated, and counts once. Its units are not in another batch.
        """
        now, counts = _now(at), {arm: [0, 0.0, 0.0] for arm in self._policy["arms"]}
        over = list(takewhile(lambda unit: self._open[unit][1] <= now, self._open))
        for unit in over:
            arm, _, reward = self._open.pop(unit)
            for place, value in enumerate((1, reward, reward * reward)):
                counts[arm][place] += value
        if not over:
            return None
        pulls, sums, squares = ({arm: one[place] for arm, one in counts.items()} for place in range(3))
        form = {"batch": uuid.uuid4().hex, "pulls": pulls, "sums": sums, "squares": squares}
        return {**form, "policy": self._policy["version"], "seed": self._policy["seed"]}


def _wait(policy: Mapping[str, Any]) -> float:
    """How long after the end of a policy its batches count, in seconds; infinite if they count at once."""
    if "counted_at" not in policy:
        return math.inf
    until, counted_at = (datetime.fromisoformat(policy[name]) for name in ("until", "counted_at"))
    return (counted_at - until).total_seconds()


def _now(at: float | None) -> float:
    return time.time() if at is None else at


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)
