"""Trials of linear arms, against a published rule."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import fairbai as fb
from benchmarks.linear_track_and_stop import run
from benchmarks.measure import Ratio, sized
from fairbai.reproduction.past.structure import DELTA, Case, design, means, soft_cut

RUNS = sized(20, 1)


@dataclass(frozen=True)
class Trials(Ratio):
    """A row that compares numbers of trials instead of seconds."""

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        return self.what, f"{self.ours:,.0f}", f"{self.theirs:,.0f} ({self.peer})", self.ratio, "", ""


def suite() -> Iterator[Ratio]:
    """Mean *trials* until the stop (not seconds), against lazy track-and-stop (Jedra and Proutiere, 2020).

    The soft cut and the 3 x 3 x 2 test of the report, normal noise, delta = 0.05, 20 runs each; ours with the default
    sampling and a stop that is tuned to ten times T*, and with floors of half an equal share for every arm, which the
    peer cannot guarantee.
    """
    test = fb.Instance(means(), design())
    for name, instance in {"soft cut": soft_cut(), "3 x 3 x 2 test": test}.items():
        assert isinstance(instance.family, fb.Linear)
        features = np.asarray(instance.family.features)
        theta = np.linalg.lstsq(features, instance.means, rcond=None)[0]
        peer = float(np.mean([run(features, theta, DELTA, seed)[0] for seed in range(RUNS)]))
        floor = 0.5 / instance.means.size
        for what, rates in (("no floors", 0.0), (f"floors of {floor:.1%}", floor)):
            ours = float(Case(name, instance.with_rates(rates)).simulated(RUNS, seed=0).stopping_time.mean())
            yield Trials(f"{name}, {what}", ours, "lazy track-and-stop", peer, f"{ours / peer:.2f}x the trials")
