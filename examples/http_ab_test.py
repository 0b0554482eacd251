"""An A/B/n test over HTTP: four web servers share one experiment until it decides.

Run it with `python examples/http_ab_test.py`. It starts its own service with a temporary database. To use a service
that is already running: `python examples/http_ab_test.py --url http://localhost:8000 --key fb_...` (an admin key).
"""

import argparse
import random
import threading

from own_service import service

from fairbai.client import Client, ExperimentOverError

CONVERSION = {"classic": 0.60, "short form": 0.35, "video": 0.25, "no images": 0.10}
FLOOR = 0.10
DELTA = 0.05
WEB_SERVERS = 4
VISITORS = 10  # for whom a web server asks at a time


def web_server(client: Client, experiment: str, rng: random.Random) -> None:
    """Show variants to visitors and tell whether they converted, until the experiment is over."""
    while True:
        try:
            tickets = client.ask(experiment, VISITORS)
        except ExperimentOverError:
            return
        converted = {ticket: float(rng.random() < CONVERSION[variant]) for ticket, variant in tickets}
        client.tell(experiment, converted)


def run(url: str, key: str, seed: int) -> None:
    with Client(url, key) as client:
        experiment = client.create("landing page", list(CONVERSION), DELTA, family="bernoulli", floors=FLOOR, seed=seed)
        print(f"Experiment {experiment}: {len(CONVERSION)} variants, each guaranteed {FLOOR:.0%} of the visitors.")
        servers = [
            threading.Thread(target=web_server, args=(client, experiment, random.Random(seed + number)))
            for number in range(WEB_SERVERS)
        ]
        for server in servers:
            server.start()
        for server in servers:
            server.join()
        report(client.status(experiment))
        (ticket,) = client.ask(experiment, serve_winner=True)
        print(f"From now on every visitor is shown {ticket.arm!r}.")


def report(status: dict) -> None:
    print(f"\n{'variant':<12}{'visitors':>9}{'share':>8}{'floor':>7}{'converted':>11}   interval")
    for arm in status["arms"]:
        low, high = arm["interval"]
        counts = f"{arm['assigned']:>9,}{arm['share']:>8.1%}{arm['floor']:>7.0%}{arm['mean']:>11.1%}"
        print(f"{arm['arm']:<12}{counts}   {low:.1%} to {high:.1%}")
    print(f"\nEvidence {status['glr']:.1f} of {status['threshold']:.1f} needed, after {status['trials']:,} visitors.")
    if not status["decided"]:
        print(status["sentence"])
        return
    proof = "this is proved" if status["proved"] else "this is not proved"
    print(f"Decision: show {status['recommendation']!r}; it is wrong with probability at most {DELTA:.0%} ({proof}).")


def main() -> None:
    parser = argparse.ArgumentParser(description="An A/B/n test over HTTP.")
    parser.add_argument("--url", help="URL of a running service (default: start one)")
    parser.add_argument("--key", help="an admin key of that service")
    parser.add_argument("--seed", type=int, default=1, help="seed of the visitors and of the experiment (default: 1)")
    options = parser.parse_args()
    if options.url:
        run(options.url, options.key or parser.error("--url needs --key"), options.seed)
        return
    print("Starting a service ...", flush=True)
    with service() as (url, key):
        run(url, key, options.seed)


if __name__ == "__main__":
    main()
