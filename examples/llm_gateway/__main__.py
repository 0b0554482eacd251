"""Run the gateway until the experiment decides: `python -m examples.llm_gateway`; see README.md."""

import argparse
import asyncio
import socket
from contextlib import nullcontext
from typing import Any

import uvicorn

from examples.llm_gateway.gateway import PROMPTS, create_gateway
from examples.llm_gateway.stub import MINUTE, Stub
from examples.own_service import service
from fairbai.client import AsyncClient

FLOOR = 0.15  # of the calls, for every prompt: what nobody sees any more cannot be compared
WINDOW = 12  # minutes after which a call is counted, liked or not


async def run(url: str, key: str, seed: int) -> None:
    async with AsyncClient(url, key) as client:
        experiment = await client.create(
            "prompts",
            list(PROMPTS),
            delta=0.05,
            family={"kind": "bounded", "low": -0.7, "high": 1.0},  # a like, minus the price of at most 7,000 tokens
            floors=FLOOR,
            report_after=WINDOW * MINUTE,  # every call is counted at the same age: likes come late, dislikes never
            silence=0.0,
            earnings="sum",  # of the price and the like
            seed=seed,
        )
        print(f"Experiment {experiment}: {len(PROMPTS)} prompts, each guaranteed {FLOOR:.0%} of the calls.", flush=True)
        stub, over = Stub(seed), asyncio.Event()
        quick = AsyncClient(url, key, timeout=2.0, retries=1)  # users wait for it
        with socket.create_server(("127.0.0.1", 0)) as listener:
            app = create_gateway(quick, experiment, stub.model)
            server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
            serving = asyncio.create_task(server.serve([listener]))
            users = asyncio.create_task(stub.use(f"http://127.0.0.1:{listener.getsockname()[1]}", over))
            status = await watch(client, experiment)
            over.set()
            await users
            server.should_exit = True
            await serving
        await quick.close_connections()
        report(status)
        (ticket,) = await client.ask(experiment, unit="the next call")
        print(f"From now on every call is answered with the prompt {ticket.arm!r}.")


async def watch(client: AsyncClient, experiment: str) -> dict[str, Any]:
    """The status once the experiment has stopped."""
    while True:
        status = await client.status(experiment)
        if status["stopped"]:
            return status
        print(f"{status['trials']:>6,} calls, {status['observed']:>6,} counted", flush=True)
        await asyncio.sleep(20 * MINUTE)


def report(status: dict[str, Any]) -> None:
    print(f"\n{'prompt':<12}{'calls':>7}{'share':>8}{'floor':>7}{'worth':>8}   interval")
    for arm in status["arms"]:
        low, high = arm["interval"]
        counts = f"{arm['assigned']:>7,}{arm['share']:>8.1%}{arm['floor']:>7.0%}{arm['mean']:>8.2f}"
        print(f"{arm['arm']:<12}{counts}   {low:.2f} to {high:.2f}")
    proof = "this is proved" if status["proved"] else "this is not proved"
    print(f"\nDecision: {status['recommendation']!r}, wrong with probability at most 5% ({proof}).")


def main() -> None:
    parser = argparse.ArgumentParser(description="An LLM gateway that learns which prompt is worth its price.")
    parser.add_argument("--url", help="URL of a running service (default: start one)")
    parser.add_argument("--key", help="an admin key of that service")
    parser.add_argument("--seed", type=int, default=1, help="seed of the users and of the experiment (default: 1)")
    options = parser.parse_args()
    with nullcontext((options.url, options.key)) if options.url else service() as (url, key):
        asyncio.run(run(url, key, options.seed))


if __name__ == "__main__":
    main()
