"""Experiments with the design-based stop, simulated as if rewards were normal, against those of the kernels."""

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.planning.drawn import durations, without_noise
from fairbai.stopping import DesignBased

SKEWED = fb.Bounded(0.0, 1.0, variance=0.04)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "instance",
    [
        fb.Instance([0.3, 0.2], "bernoulli", rates=0.2),
        fb.Instance([0.5, 0.4, 0.4], "bernoulli", rates=0.05),
        fb.Instance([0.1, 0.2, 0.1], "bernoulli", rates=0.2, goal="min", tolerance=0.05),
        fb.Instance([0.3, 0.3, 0.2], "bernoulli", rates=0.1, tolerance=0.05, control=2),
        fb.Instance([0.2] * 9 + [0.6], "bernoulli", rates=0.05),
        fb.Instance([0.4, 0.5], SKEWED, rates=0.2),
    ],
    ids=["two", "tied", "min", "control", "ten", "bounded"],
)
def test_about_what_the_kernels_take(instance: fb.Instance) -> None:
    stopping = DesignBased.for_instance(instance)
    found = durations(instance, stopping, 0.05)
    runs = fb.simulate(instance, 0.05, stopping=stopping, settle=True, runs=400, seed=4).stopping_time[:, 0]
    assert 0.85 < runs.mean() / found.mean() < 1.18
    ratios = np.quantile(runs, [0.5, 0.9]) / np.quantile(found, [0.5, 0.9])
    assert (ratios > 0.8).all(), ratios
    assert (ratios < 1.25).all(), ratios


def test_the_same_every_time_and_however_long() -> None:
    instance = fb.Instance([0.1, 0.1 + 1e-7], "bernoulli", rates=0.1)
    stopping = DesignBased.for_instance(instance)
    first, second = (durations(instance, stopping, 0.05) for _ in range(2))
    assert (first == second).all()
    assert 1e14 < first.mean() < 1e15


def test_many_arms_are_simulated_less_often() -> None:
    instance = fb.Instance([0.1] * 199 + [0.9], "bernoulli", rates=0.001)
    assert durations(instance, DesignBased.for_instance(instance), 0.05).size < 100


def test_arms_that_are_never_drawn_take_for_ever() -> None:
    limited = fb.Instance([0.3, 0.2], "bernoulli", rates=fb.rates.Bounded(0.0, 0.8))
    assert math.isinf(without_noise(limited, DesignBased(0.1), 0.05))
