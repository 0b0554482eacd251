"""Edge nodes: the same runs as those of an Identifier that publishes policies, and what batches cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.loop.edges import PHASES
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.simulation import batch_size, simulate_edges
from tests.simulation.cases import FAMILIES, RATES, RULES, assert_same, rewards_of

DRAWN = ("f-tas", "f-tas from the policy", "uniform", "uniform from the policy", "posterior fair")
COMPILED = [name for name in RULES if name != "in Python"]
THREE = fb.Instance([1.5, 0.5, 0.0], rates=fb.rates.Constant([0.1, 0.2, 0.4]))
HARMONIC = 1.0 + 1.0 / 2.0 + 1.0 / 3.0


# One node that reports every trial


@pytest.mark.parametrize("rule", COMPILED)
def test_one_node_that_reports_every_trial_is_no_edge_at_all(rule: str) -> None:
    """A policy for one trial is that of the rule, or the arm that it chooses: the same run, to the last bit."""
    place = COMPILED.index(rule)
    kind, means = list(FAMILIES.values())[place % len(FAMILIES)]
    instance = fb.Instance(means, kind, list(RATES.values())[place % 7])
    shared: dict[str, Any] = {"sampling": RULES[rule], "runs": 3, "seed": 2, "settle": True, "maximum_rounds": 150}
    plain = fb.simulate(instance, [0.1, 0.3], **shared)
    for draws in ("random", "quota"):
        if draws == "random" or rule not in DRAWN:
            assert_same(simulate_edges(instance, [0.1, 0.3], 1, 1, draws, **shared), plain)


@pytest.mark.slow_without_jit
def test_quotas_keep_the_law_of_a_rule_that_draws() -> None:
    """The same mean within four standard errors, and a smaller violation."""
    rule = fb.sampling.FairTrackAndStop()
    plain = fb.simulate(THREE, 0.05, rule, runs=2000, seed=1)
    edges = simulate_edges(THREE, 0.05, 1, 1, "quota", sampling=rule, runs=2000, seed=10)
    spread = math.hypot(plain.stopping_time.std(), edges.stopping_time.std()) / math.sqrt(2000)
    assert abs(plain.stopping_time.mean() - edges.stopping_time.mean()) < 4.0 * spread
    assert edges.violation.mean() < 0.5 * plain.violation.mean()


# Many nodes: another implementation, around an Identifier


class Node:
    """An edge node: a policy, what its trials lack of all its policies, and a batch on its way."""

    def __init__(self, seed: int, number: int, arms: int, draws: str) -> None:
        self.seed, self.draws = seed, draws
        self.carry = np.array([two_uniforms(seed, 0, PHASES + number * arms + arm)[0] for arm in range(arms)])
        self.expected = self.pulls = self.sums = self.squares = np.zeros(arms)

    def serve(self, policy: np.ndarray, first: int, size: int, reward: Any) -> None:
        self.expected = size * policy
        self.pulls, self.sums, self.squares = np.zeros((3, policy.size))
        whole = np.abs(self.expected - self.expected.round()).max() < 1e-9
        quotas = np.repeat(np.arange(policy.size), self.expected.round().astype(int))
        for trial in range(first, first + size):
            if self.draws == "quota" and whole:
                arm = int(quotas[trial - first])
            elif self.draws == "quota":
                self.carry = self.carry + policy
                arm = int(self.carry.argmax())
                self.carry[arm] -= 1.0
            else:
                arm = int(np.searchsorted(np.cumsum(policy), two_uniforms(self.seed, 0, trial)[0], side="right"))
            self.pulls[arm] += 1.0
            earned = reward(trial, arm)
            self.sums[arm] += earned
            self.squares[arm] += earned * earned


def served(instance: fb.Instance, rule: str, batch: int, nodes: int, draws: str, ledger: bool, seed: int) -> Any:
    """Counted trials, all trials and pulls of an experiment whose server is an Identifier."""
    arms = instance.means.size
    settings: dict[str, Any] = {"sampling": RULES[rule], "settle": False, "seed": seed}
    ident = fb.Identifier(arms, 0.1, instance.family, instance.rates, **settings)
    reward, made = rewards_of(instance, seed), 0
    fleet = [Node(seed, number, arms, draws) for number in range(nodes)]
    report = 0
    while True:
        node = fleet[report % nodes]
        if report >= nodes:
            squares = node.squares if isinstance(instance.family, fb.Gaussian) else None
            ident.tell_batch(node.pulls, node.sums, squares)
            node.expected = node.pulls = np.zeros(arms)
        if ident.stopped:
            counted = ident.status().assigned
            pulls = counted + sum(other.pulls for other in fleet)
            return counted.sum(), pulls.sum(), pulls.tolist()
        size = batch if report >= nodes else math.ceil(batch * (report + 1) / nodes)
        pending = sum(other.expected for other in fleet)
        policy = ident.policy(size, pending) if ledger else ident.policy(batch * nodes)
        node.serve(policy, made, size, reward)
        made += size
        report += 1


@pytest.mark.parametrize("ledger", [True, False])
@pytest.mark.parametrize("draws", ["random", "quota"])
@pytest.mark.parametrize("rule", ["fair top-two", "f-tas", "f-tas cumulative", "top-two"])
def test_the_server_is_an_identifier(rule: str, draws: str, ledger: bool) -> None:
    for seed, (batch, nodes) in enumerate([(7, 1), (1, 5), (10, 3)]):
        kind, means = list(FAMILIES.values())[seed]
        instance = fb.Instance(means, kind, [fb.rates.Constant(0.2), fb.rates.InverseGap(0.6)][seed % 2])
        runs = simulate_edges(instance, 0.1, batch, nodes, draws, ledger, RULES[rule], runs=1, seed=seed)
        counted, made, pulls = served(instance, rule, batch, nodes, draws, ledger, seed)
        assert runs.decision_time[0, 0] == counted
        assert runs.stopping_time[0, 0] == made
        assert runs.pulls[0, 0].tolist() == pulls


@pytest.mark.parametrize(("batch", "nodes"), [(9, 1), (8, 4), (1, 6)])
def test_quotas_of_whole_trials_are_the_arms_that_ask_names(batch: int, nodes: int) -> None:
    """With the ledger, edge nodes are late rewards and nothing else."""
    instance = fb.Instance([0.4, 0.2, 0.9], fb.Bernoulli(), fb.rates.Constant([0.1, 0.3, 0.1]))
    ident = fb.Identifier(3, 0.1, instance.family, instance.rates, settle=False, seed=7)
    reward, made, report = rewards_of(instance, 7), 0, 0
    batches: list[list[tuple[int, float]]] = []
    while not ident.decided:
        if report >= nodes:
            arms, rewards = zip(*batches.pop(0), strict=True)
            ident.tell(list(arms), list(rewards))
        if not ident.decided:
            size = batch if report >= nodes else math.ceil(batch * (report + 1) / nodes)
            arms = sorted(ident.ask(size))
            batches.append([(arm, reward(made + place, arm)) for place, arm in enumerate(arms)])
            made += size
            report += 1
    runs = simulate_edges(instance, 0.1, batch, nodes, runs=1, seed=7)
    assert runs.decision_time[0, 0] == ident.status().observed.sum()
    assert runs.pulls[0, 0].tolist() == ident.status().assigned.tolist()


# What batches cost


def test_all_but_one_batch_are_on_their_way_at_the_decision() -> None:
    runs = simulate_edges(THREE, [0.01, 1e-4], batch=6, nodes=5, runs=20, seed=3)
    late = runs.decision_time > 5 * 6
    assert late.any()
    assert (runs.stopping_time - runs.decision_time)[late].tolist() == [24] * int(late.sum())
    assert (runs.pulls.sum(axis=2) == runs.stopping_time).all()


@pytest.mark.parametrize(("batch", "nodes"), [(1, 1), (1, 7), (10, 4), (100, 1)])
def test_quotas_are_fair_on_every_path(batch: int, nodes: int) -> None:
    """A node is never behind the sum of its policies by more than H_K; here the policy is the same all the time."""
    policy = THREE.floors + THREE.spare / 3.0
    rule = fb.sampling.UniformFair()
    runs = simulate_edges(THREE, [0.2, 0.01], batch, nodes, "quota", sampling=rule, runs=20, seed=1)
    total = runs.stopping_time[:, :, None]
    assert (runs.pulls >= policy * total - nodes * HARMONIC).all()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("draws", ["quota", "random"])
@pytest.mark.parametrize(("batch", "nodes"), [(10, 1), (10, 8), (200, 4)])
def test_settling_meets_every_floor(batch: int, nodes: int, draws: str) -> None:
    shared: dict[str, Any] = {"batch": batch, "nodes": nodes, "draws": draws, "runs": 300, "seed": 5}
    settled = simulate_edges(THREE, 0.05, settle=True, **shared)
    plain = simulate_edges(THREE, 0.05, **shared)
    assert settled.violation.max() == 0.0
    np.testing.assert_array_equal(settled.decision_time, plain.decision_time)
    extra = (settled.stopping_time - plain.stopping_time).mean() / plain.stopping_time.mean()
    assert 0.0 <= extra < (0.03 if draws == "quota" else 0.12)


@pytest.mark.slow_without_jit
@pytest.mark.long
@pytest.mark.parametrize("nodes", [1, 4, 16])
@pytest.mark.parametrize("overhead", [0.1, 0.5])
def test_the_rule_for_the_batch_keeps_the_overhead(nodes: int, overhead: float) -> None:
    """Within three standard errors."""
    instance = fb.Instance([1.0, 0.7, 0.5, 0.0], rates=fb.rates.Constant([0.1, 0.1, 0.2, 0.3]))
    plain = fb.simulate(instance, 0.01, runs=2000, seed=1)
    batch = batch_size(plain.stopping_time.mean(), nodes, overhead)
    edges = simulate_edges(instance, 0.01, batch, nodes, runs=2000, seed=1)
    spread = math.hypot(plain.stopping_time.std(), edges.stopping_time.std()) / math.sqrt(2000)
    assert edges.stopping_time.mean() < (1.0 + overhead) * plain.stopping_time.mean() + 3.0 * spread


@pytest.mark.slow_without_jit
def test_the_error_stays_below_delta() -> None:
    """A proved stop is as proved in batches, and a heuristic one looks less often than it does without them."""
    close = fb.Instance([0.5, 0.0, 0.0], rates=fb.rates.Constant(0.2))
    for stopping in (fb.stopping.Mixture(), fb.stopping.Heuristic()):
        row = simulate_edges(close, 0.1, 5, 4, stopping=stopping, runs=4000, seed=2).summary().rows[0]
        assert row.error_low <= 0.1


def test_the_batch_size() -> None:
    assert batch_size(1500.0, 1, 0.1) == 100
    assert batch_size(1500.0, 10, 0.1) == 10
    assert batch_size(1500.0, 1000, 0.1) == 1
    assert batch_size(math.nextafter(1e300, 0.0)) == 10_000_000


# As simulate


def test_a_run_is_the_same_in_any_company() -> None:
    few, many = (simulate_edges(THREE, 0.1, 5, 3, "random", runs=runs, seed=9) for runs in (3, 40))
    np.testing.assert_array_equal(few.pulls, many.pulls[:3])


def test_runs_without_an_answer_are_given_up() -> None:
    tied = fb.Instance([1.0, 1.0, 0.0])
    runs = simulate_edges(tied, 1e-9, 10, 4, runs=3, maximum_rounds=100, progress=False)
    assert runs.censored.all()
    assert ((runs.decision_time >= 100) & (runs.decision_time < 110)).all()
    assert (runs.stopping_time - runs.decision_time == 30).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch": 0}, "batch must be a whole number from 1 to 10000000, got 0"),
        ({"nodes": 0}, "nodes must be a whole number from 1 to 100000, got 0"),
        ({"draws": "both"}, "draws must be one of random, quota, got 'both'"),
        ({"ledger": 1}, "ledger must be true or false, got 1"),
        ({"sampling": RULES["in Python"]}, "sampling and rates must be those of the library"),
        ({"instance": None}, "instance must be a fairbai.Instance, got None"),
        ({"runs": 0}, "runs must be a whole number"),
    ],
    ids=str,
)
def test_bad_arguments(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_edges(**{"instance": THREE, "runs": 1, **wrong})


def test_rates_in_python() -> None:
    with pytest.raises(ValueError, match="sampling and rates must be those of the library"):
        simulate_edges(fb.Instance([1.0, 0.0], rates=RATES["custom"]), runs=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"expected_trials": -1.0}, "expected_trials must be at least 0, got -1.0"),
        ({"nodes": 0}, "nodes must be a whole number from 1 to 100000, got 0"),
        ({"overhead": math.nan}, "overhead must be at least 0, got nan"),
    ],
    ids=str,
)
def test_bad_budgets(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch_size(**{"expected_trials": 100.0, **wrong})


def test_the_design_based_stop_is_not_simulated_on_edges() -> None:
    instance = fb.Instance([0.5, 0.4], "bernoulli", rates=0.3)
    with pytest.raises(ValueError, match="stopping must be another rule than design_based to simulate edges"):
        simulate_edges(instance, stopping="design_based")
