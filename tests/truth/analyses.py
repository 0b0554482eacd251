"""Findings about analyses of logs."""

from typing import Any

import numpy as np

import fairbai as fb
from tests.truth.finding import Figure, Finding

CONDITIONS = (
    "drawn with the logged probabilities",
    "every trial that was drawn is in the log",
    "in the order of assignment",
    "at one fixed age of its trial",
)


def _decided_for() -> Figure:
    """Logs in which a is ahead at first, by less than the tests of drift can see, and b at the end."""
    turned = wrong = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        arms, row = rng.integers(0, 2, 6_000), np.arange(6_000)
        chances = np.where(arms == 0, np.where(row < 900, 0.62, 0.5), np.where(row < 900, 0.5, 0.52))
        data = {"arm": np.array(["a", "b"])[arms], "reward": (rng.random(6_000) < chances).astype(float)}
        found = fb.analyze(data, family="bernoulli")
        reached = found.standing.reached
        if reached is not None and found.decided and found.leader != found.arms.labels[reached.arm]:
            turned += 1
            text = repr(found).replace("\n", " ")
            wrong += f"{found.leader} is the best arm" in text or (found.confidence or 0.0) < 0.95
    return Figure(
        f"the leader at the end is named in {wrong} of {turned} logs decided for another", turned > wrong == 0
    )


def _late_log(seed: int) -> dict[str, Any]:
    """Drawn trials of a (12 %) and b (10 %), of which 45 % of the sales of a have no reward yet."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 2, 12_000)
    rewards = (rng.random(12_000) < np.where(arms == 0, 0.12, 0.10)).astype(float)
    rewards[(arms == 0) & (rewards == 1.0) & (rng.random(12_000) < 0.45)] = np.nan
    return {"arm": np.array(["a", "b"])[arms], "reward": rewards, "p": np.full(12_000, 0.5)}


def _missing_rewards() -> Figure:
    refused, sure, told = 0, 0, True
    for seed in range(20):
        data = _late_log(seed)
        try:
            found = fb.analyze(data, probability="p", floor=0.5)
            sure += found.best_on_average == "b" and (found.drift_proof_confidence or 0.0) >= 0.95
        except ValueError as error:
            refused += "silence" in str(error) and "do not leave such trials out" in str(error)
    declared = fb.analyze(_late_log(0), probability="p", floor=0.5, silence=0)
    sentence = next(one for one in declared.to_dict()["conditions"] if one.startswith("Whatever the drift: proved"))
    told = all(condition in sentence for condition in CONDITIONS)
    said = f"wrong arm at 95 % in {sure}/20, refused {refused}/20; {'all' if told else 'not all'} conditions are said"
    return Figure(said, sure == 0 and refused == 20 and told)


FINDINGS: list[Finding] = [
    Finding(
        "truth 5",
        "the arm that an analysis names is the one for which the evidence sufficed",
        '"B is the best arm, 47.9 % sure", decided, proved, though the evidence had sufficed for A',
        _decided_for,
    ),
    Finding(
        "truth 6",
        "an analysis is proved whatever the drift, under the conditions that it says",
        "rewards not known yet, left out as told: the worse arm at 95 % or more in 19/20; one of four conditions said",
        _missing_rewards,
    ),
]
