"""Carriers of a base station share one experiment: `python -m examples.wireless_slots`; see README.md."""

import argparse
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import gymnasium

from examples.own_service import service
from fairbai import environments
from fairbai.client import Client, ExperimentOverError, Tally

TARGET = 1.5  # the throughput of a slot that its packet needs
FLOOR = 0.04  # of the slots, for each of the ten UEs
DELTA = 0.05
CARRIERS = 3
SLOTS = 200  # of a carrier between two reports
EPOCH = "0.2"  # seconds for which a policy stays the same; a service that runs has its own
WAIT = 0.5  # seconds after it in which carriers may report


class Carrier:
    """Schedules its own slots under the last policy, and reports what became of the packets."""

    def __init__(self, cell: environments.WirelessCell, number: int, seed: int) -> None:
        self.number, self.slot = number, 0
        self.env = gymnasium.make("fairbai/WirelessCell-v0", cell=cell)
        self.env.reset(seed=seed + number)

    def schedule(self, policy: dict[str, Any]) -> Tally:
        """One period: whose slot it is follows from the policy and the number of the slot, so all UEs know it, too."""
        tally = Tally(policy, window=0.25)  # a carrier counts time in slots, and a packet is decoded in its own
        for _ in range(SLOTS):
            self.slot += 1
            slot = f"carrier {self.number}, slot {self.slot}"
            ue = tally.assign(slot, at=self.slot)
            _, throughput, _, _, _ = self.env.step(policy["arms"].index(ue))
            tally.tell(slot, float(throughput >= TARGET), at=self.slot)
        return tally


def policy_of(client: Client, experiment: str) -> dict[str, Any] | None:
    """The policy of the present epoch, the same for all carriers; None once the experiment has stopped."""
    try:
        return client.policy(experiment, trials=CARRIERS * SLOTS)
    except ExperimentOverError:
        return None


def run(url: str, key: str, seed: int) -> dict[str, Any]:
    """Schedule until every UE has its floor and the best is known; returns the last status."""
    cell = environments.WirelessCell.paper(fading=environments.Rayleigh())
    carriers = [Carrier(cell, number, seed) for number in range(CARRIERS)]
    form = {"family": "bernoulli", "stopping": "design_based", "floors": FLOOR, "report_after": WAIT}
    with Client(url, key) as client:
        experiment = client.create("slots", [f"UE {ue}" for ue in range(cell.ues)], DELTA, **form)
        print(f"Experiment {experiment}: {cell.ues} UEs, {CARRIERS} carriers, a report every {SLOTS} slots of each.")
        reports = 0
        while (policy := policy_of(client, experiment)) is not None:
            for carrier in carriers:
                batch = carrier.schedule(policy).batch(at=carrier.slot + 1)
                assert batch is not None
                client.report(experiment, **batch)
                reports += 1
            counted_at = datetime.fromisoformat(policy.get("counted_at", policy["until"]))
            time.sleep(max(0.0, (counted_at - datetime.now(UTC)).total_seconds()))  # they count together then
        status = client.status(experiment)
    show(status, reports)
    return status


def show(status: dict[str, Any], reports: int) -> None:
    """What every UE got."""
    print(f"\n{'UE':<6}{'slots':>8}{'share':>8}{'floor':>7}{'delivered':>11}   average, at all times")
    for arm in status["arms"]:
        low, high = arm["interval"]
        counts = f"{arm['assigned']:>8,}{arm['share']:>8.1%}{arm['floor']:>7.0%}{arm['mean']:>11.1%}"
        print(f"{arm['arm']:<6}{counts}   {low:.0%} to {high:.0%}")
    proof = "proved, however the channels drift" if status["proved"] else "not proved"
    print(f"\n{status['recommendation']} delivers most; wrong with probability at most {DELTA:.0%} ({proof}).")
    print(f"{status['trials']:,} slots in {reports:,} reports, instead of {status['trials']:,} questions.")
    print(status["sample_ratio"]["sentence"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedule a wireless cell over the edge mode of the service.")
    parser.add_argument("--url", help="URL of a running service (default: start one)")
    parser.add_argument("--key", help="an admin key of that service")
    parser.add_argument("--seed", type=int, default=1, help="seed of the channels (default: 1)")
    options = parser.parse_args()
    with nullcontext((options.url, options.key)) if options.url else service("--policy-seconds", EPOCH) as (url, key):
        run(url, key, options.seed)


if __name__ == "__main__":
    main()
