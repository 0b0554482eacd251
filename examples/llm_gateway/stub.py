"""What stands for the models and for their users: a model whose answers cost tokens, and users who like some of them.

The gateway knows nothing of this file's numbers; finding out which prompt is worth its price is its job.
"""

import asyncio
import random

import httpx

from examples.llm_gateway.gateway import PROMPTS, Completion

TOKENS = {"short": 200, "detailed": 900, "reasoning": 4000}  # of an answer, about
LIKED = {"short": 0.35, "detailed": 0.80, "reasoning": 0.90}  # how often
MINUTE = 0.25  # seconds: the example is in a hurry
PATIENCE = 8  # minutes after which nobody gives feedback any more
PER_SECOND = 40  # calls


class Stub:
    """A model, and its users.

    Args:
        seed: Of its draws.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    async def model(self, messages: list[dict[str, str]]) -> Completion:
        """An answer, which says by which prompt it was made."""
        (prompt,) = (name for name, text in PROMPTS.items() if text == messages[0]["content"])
        await asyncio.sleep(0.01)
        return Completion(f"({prompt}) The answer is 42.", round(TOKENS[prompt] * self._rng.uniform(0.5, 1.5)))

    async def use(self, gateway: str, over: asyncio.Event) -> None:
        """Send calls, each by a user of its own, until the experiment is over."""
        async with httpx.AsyncClient(base_url=gateway, timeout=60.0) as http, asyncio.TaskGroup() as users:
            while not over.is_set():
                users.create_task(self._user(http))
                await asyncio.sleep(1 / PER_SECOND)

    async def _user(self, http: httpx.AsyncClient) -> None:
        """Ask, read, and click on the thumb minutes later, or never: who does not like an answer says nothing."""
        body = {"messages": [{"role": "user", "content": "What is the answer?"}]}
        response = await http.post("/v1/chat/completions", json=body)
        answer = response.raise_for_status().json()
        (prompt,) = (name for name in PROMPTS if f"({name})" in answer["choices"][0]["message"]["content"])
        await asyncio.sleep(MINUTE * self._rng.uniform(1, PATIENCE))
        if self._rng.random() < LIKED[prompt]:
            sent = await http.post("/v1/feedback", json={"id": answer["id"], "thumbs_up": True})
            sent.raise_for_status()
