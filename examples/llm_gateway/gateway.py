"""The gateway: an endpoint as OpenAI's, behind which every call is answered with one of several prompts.

Which prompt is a trial of an experiment. It earns 1 if the user likes the answer, minus what the answer cost. Whatever
happens to the experiment, calls are answered: without it, by the default prompt.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import httpx
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from fairbai.client import AsyncClient, ServiceError

PROMPTS = {
    "short": "Answer in one sentence.",
    "detailed": "Answer in a few paragraphs, with an example.",
    "reasoning": "Think step by step, check your answer, then give it.",
}
DEFAULT = "detailed"  # the prompt of calls that are no trials
NO_TRIAL = "plain-"  # how the ids of these calls begin
PRICE = 0.1  # what 1,000 tokens cost, in likes: the exchange rate between quality and money


log = logging.getLogger("llm_gateway")


class Completion(NamedTuple):
    """What a model returns."""

    text: str
    tokens: int


class Message(BaseModel):
    """A message of a chat."""

    role: str
    content: str


class Chat(BaseModel):
    """A request as OpenAI has it; members that are not used here are ignored."""

    model: str = "any"
    messages: list[Message]


class Feedback(BaseModel):
    """What a user thought of an answer."""

    id: str
    thumbs_up: bool


Model = Callable[[list[dict[str, str]]], Awaitable[Completion]]


def create_gateway(client: AsyncClient, experiment: str, model: Model) -> FastAPI:
    """The gateway to a model. The client should give up soon, as users wait for it."""
    gateway = FastAPI()

    @gateway.post("/v1/chat/completions")
    async def complete(chat: Chat) -> dict[str, Any]:
        call, prompt = await choose(client, experiment)
        system = {"role": "system", "content": PROMPTS[prompt]}
        found = await model([system, *(message.model_dump() for message in chat.messages)])
        await earn(client, experiment, call, -PRICE * found.tokens / 1000, f"cost of {call}")
        message = {"role": "assistant", "content": found.text}
        return {
            "id": call,
            "object": "chat.completion",
            "model": chat.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"total_tokens": found.tokens},
        }

    @gateway.post("/v1/feedback", status_code=204)
    async def feedback(form: Feedback) -> None:
        refused = await earn(client, experiment, form.id, float(form.thumbs_up), f"thumbs for {form.id}")
        if refused == 404:
            raise HTTPException(404, "No such call")
        if refused == 409:
            raise HTTPException(409, "There is a vote on this call already")

    return gateway


async def choose(client: AsyncClient, experiment: str) -> tuple[str, str]:
    """The id of a new call and its prompt: the default if the experiment is paused or cannot be reached."""
    call = uuid.uuid4().hex
    try:
        tickets = await client.ask(experiment, unit=call, serve_winner=True)
    except (ServiceError, httpx.HTTPError) as error:
        log.warning("a call is no trial: %s", error)
        tickets = []
    return (call, tickets[0].arm) if tickets else (NO_TRIAL + call, DEFAULT)


async def earn(client: AsyncClient, experiment: str, call: str, value: float, event: str) -> int | None:
    """Tell what a call earned, if it is a trial; returns the status if it is refused. A failure is logged only."""
    if call.startswith(NO_TRIAL):
        return None
    try:
        await client.reward(experiment, call, value, event)
    except ServiceError as error:
        log.warning("a reward is not counted: %s", error)
        return error.status
    except httpx.HTTPError as error:
        log.warning("a reward is lost: %s", error)
    return None
