"""A web shop: which button a visitor sees is a flag of OpenFeature, and a purchase is an event that is tracked."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated

from fastapi import Cookie, FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

FLAG = "buy-button"
PURCHASE = "purchase"
BUTTONS = {
    "plain": {"text": "Buy", "color": "#1d4ed8"},
    "urgent": {"text": "Buy now, only 3 left", "color": "#b91c1c"},
    "friendly": {"text": "Take it home", "color": "#15803d"},
}
YEAR = 365 * 86_400  # seconds

STYLE = """
body { font: 18px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 3rem auto; color: #1f2937; }
button { font: inherit; color: white; border: 0; border-radius: .5rem; padding: .75rem 1.5rem; cursor: pointer; }
"""
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The lamp shop</title>
<link rel="icon" href="data:,"><style>{style}</style></head><body>{content}</body></html>"""
PRODUCT = """<h1>A lamp</h1><p>Oak and linen, warm light, 49 €.</p>
<form method="post" action="/buy?order={order}"><button style="background: {color}">{text}</button></form>"""
THANKS = """<h1>Thank you</h1><p>Your lamp is on its way.</p><p><a href="/">Back to the shop</a></p>"""

Visitor = Annotated[str | None, Cookie()]


def create_shop(flags: OpenFeatureClient) -> FastAPI:
    """The shop; it knows nothing of experiments, only of a flag and an event."""
    shop = FastAPI(lifespan=_sending)

    @shop.get("/")
    def product(visitor: Visitor = None) -> HTMLResponse:
        visitor = visitor or uuid.uuid4().hex
        button = flags.get_object_value(FLAG, BUTTONS["plain"], EvaluationContext(visitor))
        text, color = escape(str(button["text"])), escape(str(button["color"]))
        response = page(PRODUCT.format(order=uuid.uuid4().hex, text=text, color=color))
        response.set_cookie("visitor", visitor, max_age=YEAR, httponly=True, samesite="lax")
        return response

    @shop.post("/buy")
    def buy(order: str, visitor: Visitor = None) -> RedirectResponse:
        details = TrackingEventDetails(value=1.0, attributes={"event_id": order})  # a second click is no second sale
        flags.track(PURCHASE, EvaluationContext(visitor), details)
        return RedirectResponse("/thanks", 303)

    @shop.get("/thanks")
    def thanks() -> HTMLResponse:
        return page(THANKS)

    return shop


@asynccontextmanager
async def _sending(_: FastAPI) -> AsyncIterator[None]:
    """Send the last purchases when the server stops, which uvicorn does by a signal that ends the program at once."""
    yield
    await asyncio.to_thread(api.shutdown)


def page(content: str) -> HTMLResponse:
    return HTMLResponse(PAGE.format(style=STYLE, content=content))
