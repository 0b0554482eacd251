"""The time of a scheduling decision, against the slot that it is for."""

import gc
from collections.abc import Iterator
from time import perf_counter_ns

import numpy as np

import fairbai as fb
from benchmarks.measure import Ratio, faster, sized
from fairbai.environments import Rayleigh, WirelessCell

UES = 100
SLOT = 1e-3  # seconds: a slot of 5G with numerology 0; each further numerology halves it
WARM, SLOTS = sized((500, 10_000), (5, 20))
SEED = 3
NEVER = 1e-300  # a delta that no run reaches


def suite() -> Iterator[Ratio]:
    """Scheduling a wireless cell with 100 UEs, against a slot of 1 ms (5G with numerology 0).

    A decision is `ask` and `tell` together: in every slot the scheduler takes the throughput of the last one and names
    the next UE. Every pair is timed separately, clock included, with the garbage collector off: 10,000 slots per rule,
    after 500 for warming up. The UEs are on a circle of 60 m around the station: their rates are almost equal and all
    of them stay in play, which is the hardest case for a rule. Floors are 0.5 / K per UE. Rewards are Gaussian without
    fading, and almost exponential with Rayleigh fading. The peer is the slot itself: "20x faster" means that the
    decision takes a twentieth of it.
    """
    for family, fading in ((fb.Gaussian(), None), (fb.Exponential(), Rayleigh())):
        for name, rule in (("FairTopTwo", fb.sampling.FairTopTwo()), ("F-TaS", fb.sampling.FairTrackAndStop())):
            seconds = _decisions(_circle(fading), family, rule) * 1e-9
            what = f"ask + tell, K = {UES} UEs, {name}, {type(family).__name__}"
            yield faster(f"{what}, 99th percentile", float(np.percentile(seconds, 99)), "a slot", SLOT, at_least=1.0)
            yield faster(f"{what}, mean", float(seconds.mean()), "a slot", SLOT, at_least=1.0)


def _circle(fading: Rayleigh | None) -> WirelessCell:
    angles = np.linspace(0.0, 2.0 * np.pi, UES, endpoint=False)
    return WirelessCell(100.0 + 60.0 * np.column_stack([np.cos(angles), np.sin(angles)]), fading=fading)


def _decisions(cell: WirelessCell, family: fb.Gaussian | fb.Exponential, rule: fb.sampling.SamplingRule) -> np.ndarray:
    """Nanoseconds per decision."""
    rates = fb.rates.Constant(0.5 / cell.ues)
    ident = fb.Identifier(cell.ues, NEVER, family, rates, rule, seed=SEED)
    rng = np.random.default_rng(SEED)
    times = np.empty(WARM + SLOTS)
    gc.collect()
    gc.disable()
    try:
        for slot in range(times.size):
            start = perf_counter_ns()
            ue = ident.ask()
            asked = perf_counter_ns()
            throughput = cell.reward(cell.snrs[ue], rng)
            served = perf_counter_ns()
            ident.tell(ue, throughput)
            times[slot] = perf_counter_ns() - served + asked - start
    finally:
        gc.enable()
    return times[WARM:]
