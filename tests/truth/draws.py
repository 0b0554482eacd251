"""Findings about draws that two experiments share."""

import itertools
import json

import numpy as np

import fairbai as fb
from tests.truth.finding import Figure, Finding

TRIALS, SEEDS = 1500, range(5)
BASE, LIFT, HARM = 0.5, 0.15, 0.03


def in_company(seeds: tuple[int, int], sign: int, stopping: fb.stopping.StoppingRule) -> tuple[bool, float]:
    """Two experiments on the same visitors: whether the one without a good arm names the bad one; and equal arms.

    Of the first, arm 1 lifts what a visitor earns; of the second, arm 1 (or 0, if the sign is -1) harms it.
    """
    lifts, harms = (fb.Identifier(2, 0.05, "bernoulli", 0.2, stopping=stopping, seed=seed) for seed in seeds)
    rng, same, trials = np.random.default_rng(seeds), 0, 0
    bad = 1 if sign > 0 else 0
    while harms.can_ask and trials < TRIALS:
        one, other = lifts.ask_trial() if lifts.can_ask else None, harms.ask_trial()
        best = lifts.recommendation if one is None else one.arm
        earned = float(rng.random() < BASE + LIFT * (best == 1) - HARM * (other.arm == bad))
        if one is not None:
            lifts.tell(one, earned)
        harms.tell(other, earned)
        same, trials = same + (best == other.arm), trials + 1
    return harms.decided and harms.recommendation == bad, same / trials


def two_experiments() -> Figure:
    """All pairs of seeds, both signs, the default stop and the one that is proved whatever the drift."""
    runs = [
        in_company(pair, sign, stopping)
        for stopping in (fb.stopping.Mixture(), fb.stopping.DesignBased())
        for pair in itertools.combinations(SEEDS, 2)
        for sign in (1, -1)
    ]
    wrong, equal = sum(run[0] for run in runs), [run[1] for run in runs]
    seeds = {fb.Identifier(2, 0.05, "bernoulli").seed for _ in range(20)}
    text = f"{wrong} of {len(runs)} wrong, arms identical in {min(equal):.0%} to {max(equal):.0%} of trials"
    return Figure(f"{text}; {len(seeds)} seeds in 20 experiments", wrong <= 4 and len(seeds) == 20)


def draws_of_a_restored_experiment() -> Figure:
    """How many of the arms that were lost after a snapshot are drawn again, in both worlds."""
    again = []
    for stopping in (fb.stopping.Mixture(), fb.stopping.DesignBased()):
        ident = fb.Identifier(4, 0.05, "bernoulli", 0.1, stopping=stopping, seed=1)
        ident.tell(ident.ask_trial(40), [float(trial % 3 == 0) for trial in range(40)])
        form = json.loads(json.dumps(ident.to_dict()))
        lost = ident.ask(100)
        again += [np.mean(np.equal(lost, fb.Identifier.from_dict(form).ask(100))) for _ in range(4)]
    return Figure(f"{min(again):.0%} to {max(again):.0%} of the lost draws repeated", max(again) < 0.6)


FINDINGS = [
    Finding(
        "truth 1",
        "the answer does not depend on another experiment on the same visitors",
        "arms identical in 100 %, 20 of 20 wrong",
        two_experiments,
    ),
    Finding(
        "truth 13",
        "a restored experiment draws anew",
        "100 % of the lost draws repeated",
        draws_of_a_restored_experiment,
    ),
]
