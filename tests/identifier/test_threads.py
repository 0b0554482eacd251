"""Eight threads at once: nothing is lost and nothing counted twice."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import fairbai as fb

THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(THREADS)

    def guarded(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_counts_and_sums_are_exact() -> None:
    """Rewards are whole numbers, so that their sums do not depend on the order."""
    ident = fb.Identifier(
        4, delta=1e-300, family=fb.Gaussian(), rates=fb.rates.Constant(0.1), stopping=fb.stopping.Heuristic()
    )
    asked = [Counter[int]() for _ in range(THREADS)]
    sums = np.zeros((THREADS, 4))
    kept = [0] * THREADS

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for turn in range(60):
            arms = ident.ask(3) if turn % 4 == 0 else [ident.ask()]
            asked[number].update(arms)
            if turn % 10 == 9:
                kept[number] += len(arms)  # these rewards never come
                continue
            rewards = rng.integers(-5, 6, len(arms)).astype(float)
            for arm, reward in zip(arms, rewards, strict=True):
                sums[number, arm] += reward
            ident.tell(arms, rewards) if turn % 2 else [ident.tell(*pair) for pair in zip(arms, rewards, strict=True)]
            status = ident.status()
            assert (status.observed <= status.assigned).all()

    in_threads(work)
    status = ident.status()
    total = sum(asked, Counter())
    assert status.assigned.tolist() == [total[arm] for arm in range(4)]
    assert status.assigned.sum() - status.observed.sum() == sum(kept)
    assert ident.to_dict()["state"]["sums"] == sums.sum(axis=0).tolist()


def test_floors_hold_under_concurrent_asks() -> None:
    floors = np.array([0.4, 0.3, 0.2])
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant(floors))
    in_threads(lambda number: [ident.ask() for _ in range(100)] and None)
    status = ident.status()
    assert status.assigned.sum() == 100 * THREADS
    assert (status.assigned >= floors * status.assigned.sum() - 1.5).all()


def test_a_race_to_the_stop_assigns_no_trial_too_many() -> None:
    """Every thread goes on until it is told that the experiment has stopped."""
    rates = fb.rates.Constant([0.1, 0.8])
    ident = fb.Identifier(2, delta=0.1, family=fb.Gaussian(), rates=rates, sampling=fb.sampling.TopTwo())
    asked = [0] * THREADS
    answers: set[int] = set()

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        while True:
            try:
                arm = ident.ask()
            except RuntimeError:  # the experiment has stopped
                return
            asked[number] += 1
            ident.tell(arm, rng.normal([2.0, 0.0][arm]))
            if ident.decided:
                answers.add(ident.recommendation)

    in_threads(work)
    status = ident.status()
    assert ident.stopped
    assert status.assigned.sum() == status.observed.sum() == sum(asked)
    assert (status.assigned >= status.floors * status.assigned.sum()).all()
    assert len(answers) == 1


def test_snapshots_are_consistent() -> None:
    """A snapshot that is taken while others ask and tell can always be read: its totals are the sums of its parts."""
    ident = fb.Identifier(3, delta=1e-300, family=fb.Gaussian(), stopping=fb.stopping.Heuristic())

    def work(number: int) -> None:
        for _ in range(30):
            if number == 0:
                fb.Identifier.from_dict(ident.to_dict())
            else:
                arm = ident.ask()
                ident.tell(arm, float(arm))

    in_threads(work)
    assert ident.status().observed.sum() == 30 * (THREADS - 1)
