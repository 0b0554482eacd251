"""The example of an LLM gateway, run as a user would run it: real HTTP between users, gateway and service."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.llm_gateway.gateway import DEFAULT, PROMPTS, Completion, create_gateway
from fairbai.client import AsyncClient
from tests.processes import run_python
from tests.service.conftest import Start
from tests.service.server import Server

ROOT = Path(__file__).parents[2]


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_it_finds_the_prompt_that_is_worth_its_price() -> None:
    """Not the one that is liked most, which costs too much."""
    printed = run_python("-m", "examples.llm_gateway", cwd=ROOT)
    rows = re.findall(r"^(short|detailed|reasoning) +([\d,]+) +([\d.]+)% +15% +(-?[\d.]+) ", printed, re.MULTILINE)
    assert [name for name, *_ in rows] == ["short", "detailed", "reasoning"], printed
    assert all(float(share) >= 15.0 for _, _, share, _ in rows)
    assert "Decision: 'detailed', wrong with probability at most 5% (this is proved)." in printed
    assert "From now on every call is answered with the prompt 'detailed'." in printed


async def model(messages: list[dict[str, str]]) -> Completion:
    (prompt,) = (name for name, text in PROMPTS.items() if text == messages[0]["content"])
    return Completion(prompt, 1000)


def test_users_do_not_notice_what_happens_to_the_experiment(start: Start, sqlite: str) -> None:
    """A pause, a service that is down, votes that are repeated or changed, and calls that never were."""
    asyncio.run(use(start(sqlite)))


async def use(server: Server) -> None:
    family = {"kind": "bounded", "low": -0.7, "high": 1.0}
    experiment = server.create(
        arms=list(PROMPTS), family=family, floors=0.1, report_after=3600.0, silence=0.0, lease=None, earnings="sum"
    )
    client = AsyncClient(server.address, server.key, timeout=5.0, retries=0)
    transport = httpx.ASGITransport(create_gateway(client, experiment, model))  # raises what the gateway raises
    async with client, httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:

        async def call() -> dict[str, Any]:
            chat = {"messages": [{"role": "user", "content": "?"}]}
            response = await http.post("/v1/chat/completions", json=chat)
            assert response.status_code == 200
            found: dict[str, Any] = response.json()
            return found

        async def vote(name: str, thumbs_up: bool) -> int:
            return (await http.post("/v1/feedback", json={"id": name, "thumbs_up": thumbs_up})).status_code

        one = (await call())["id"]
        assert [await vote(one, up) for up in (True, True, False)] == [204, 204, 409]
        assert await vote("unknown", True) == 404
        await without_the_experiment(server, f"/v1/experiments/{experiment}", call, vote)
        assert server.call("GET", f"/v1/experiments/{experiment}").body["trials"] == 1


async def without_the_experiment(server: Server, at: str, call: Any, vote: Any) -> None:
    async def is_answered_by_default() -> None:
        found = await call()
        assert found["choices"][0]["message"]["content"] == DEFAULT
        assert await vote(found["id"], True) == 204

    server.call("POST", f"{at}/pause")
    await is_answered_by_default()
    server.call("POST", f"{at}/resume")
    server.kill()
    await is_answered_by_default()
    server.start()
