"""The gateway: an endpoint as OpenAI's, behind which every call is answered with one of several prompts.

Which prompt is a trial of an experiment. It earns 1 if the user likes the answer, minus what the answer cost.
"""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi import FastAPI
from pydantic import BaseModel

from fairbai.client import AsyncClient

PROMPTS = {
    "short": "Answer in one sentence.",
    "detailed": "Answer in a few paragraphs, with an example.",
    "reasoning": "Think step by step, check your answer, then give it.",
}
PRICE = 0.1  # what 1,000 tokens cost, in likes: the exchange rate between quality and money


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
    """The gateway to a model."""
    gateway = FastAPI()

    @gateway.post("/v1/chat/completions")
    async def complete(chat: Chat) -> dict[str, Any]:
        call = uuid.uuid4().hex
        (ticket,) = await client.ask(experiment, unit=call, serve_winner=True)
        system = {"role": "system", "content": PROMPTS[ticket.arm]}
        found = await model([system, *(message.model_dump() for message in chat.messages)])
        await client.reward(experiment, call, -PRICE * found.tokens / 1000, event_id=f"cost of {call}")
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
        await client.reward(experiment, form.id, float(form.thumbs_up), event_id=f"thumbs for {form.id}")

    return gateway
