"""Units that a node assigns by itself, without asking: by a hash, under the probabilities of a published policy.

``edge.js``, which the service sends at ``/static/edge.js``, has the same functions, and gives every unit the same arm.
docs/edge.md says what this promises.

The hash is SipHash-2-4 of the unit's UTF-8 bytes (Aumasson and Bernstein, 2012: https://www.aumasson.jp/siphash), under
the 128 bits of the policy's seed. Its upper 53 bits, over 2**53, are a number u from 0 to 1, and the arm is the first
at which the sum of the probabilities exceeds u.
"""

import math
import uuid
from collections.abc import Mapping
from itertools import accumulate
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
    """The trials of a node under one version of a policy, until it reports them.

    Add every unit once, when its reward is known or its time is over; which units are added, and when they are
    reported, must not depend on rewards.

    Args:
        policy: As ``Client.policy`` returned it; the units were assigned under it.
        name: A name that no other batch of the experiment has; random by default.

    Quick start::

        policy = client.policy(experiment, trials=1000)
        tally = Tally(policy)
        for visitor in visitors:
            tally.add(arm := assign(policy, visitor), reward_of(visitor, arm))
        client.report(experiment, **tally.batch())
    """

    def __init__(self, policy: Mapping[str, Any], name: str | None = None) -> None:
        self.name = uuid.uuid4().hex if name is None else name
        self._version, self._seed = policy["version"], policy["seed"]
        self._counts = {arm: [0, 0.0, 0.0] for arm in policy["arms"]}
        self._reported = False

    @property
    def trials(self) -> int:
        """The trials so far."""
        return int(sum(counts[0] for counts in self._counts.values()))

    def add(self, arm: str, reward: float) -> None:
        """Add a trial that is over."""
        if self._reported:
            raise RuntimeError("this tally was reported: begin another one")
        if arm not in self._counts:
            raise ValueError(f"arm must be one of {list(self._counts)}, got {arm!r}")
        if not math.isfinite(reward):
            raise ValueError(f"reward must be a finite number, got {reward!r}")
        counts = self._counts[arm]
        for place, value in enumerate((1, reward, reward * reward)):
            counts[place] += value

    def batch(self) -> dict[str, Any]:
        """What ``Client.report`` takes. It can be reported again, and counts once; nothing can be added any more."""
        self._reported = True
        pulls, sums, squares = ({arm: counts[place] for arm, counts in self._counts.items()} for place in range(3))
        return {
            "batch": self.name,
            "pulls": pulls,
            "sums": sums,
            "squares": squares,
            "policy": self._version,
            "seed": self._seed,
        }
