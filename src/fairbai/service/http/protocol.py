"""HTTP with limits: of bytes, time and connections, which uvicorn's own protocol lacks.

The limits are checked before the parser sees a byte, so that they hold whatever the parser keeps of it.
"""

import asyncio
from enum import Enum
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal
from fairbai.service.http.connections import connections_of
from fairbai.service.http.joining import JoinedWrites
from fairbai.service.http.tracing import new_id

LINGER = 1.0  # seconds in which a client can read why its connection ends
MAX_IGNORED = 500_000  # bytes that it may still send


class Phase(Enum):
    """What a connection waits for."""

    IDLE = "its next request"
    HEAD = "the rest of the headers"
    BODY = "the rest of the body"
    ANSWER = "us"


class LimitedProtocol(HttpToolsProtocol):
    """A connection; uvicorn makes one for each, and closes those that stay idle."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections_of(server_state, self.loop)
        self._limits = self._all.limits
        self._address = ""
        self._phase, self._since = Phase.HEAD, self.loop.time()
        self._bare = 0  # bytes since the last that were part of a body, or the end of headers
        self._body_bytes = 0
        self._stalled: float | None = None  # since when the client reads nothing
        self._ending = False
        self._ignored = 0

    # --- the connection -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._address = self.client[0] if self.client else ""
        if reason := self._all.admit(self, self._address):
            self._end(Refusal(503, "Too many connections", reason.capitalize(), {"Retry-After": "5"}), linger=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._all.forget(self, self._address)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self._stalled = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that it reads again."""
        self._stalled = None
        super().resume_writing()

    # --- bytes --------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Give bytes to the parser, as long as there are not too many."""
        if self._ending:
            self._ignore(data)
        elif self._phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        while data and not self._ending:
            room = self._limits.head_bytes - self._bare
            piece, data = (data, b"") if len(data) <= room else (data[:room], data[room:])
            self._bare += len(piece)
            super().data_received(piece)
            if self._bare >= self._limits.head_bytes:
                detail = f"The headers of a request may have at most {self._limits.head_bytes:,} bytes"
                self._end(Refusal(431, "Headers too large", detail))
            elif len(self.pipeline) > self._limits.pipelined:
                self._ending = True  # without an answer, as others come first
                self.transport.close()

    def on_headers_complete(self) -> None:
        """Begin a request."""
        self._bare = self._body_bytes = 0
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body for the application."""
        self._bare = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._bare = 0
        self._enter(Phase.ANSWER if self._answering else Phase.IDLE)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is complete; the body may not be, if it was refused."""
        if self._phase in (Phase.ANSWER, Phase.HEAD) and not self.pipeline:
            self._enter(Phase.IDLE if self._phase is Phase.ANSWER else Phase.HEAD)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._end(Refusal(400, "Not HTTP", msg))

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: any client can ask for an upgrade, and is answered as if it had not."""

    # --- time ---------------------------------------------------------------------------------------------------

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self.loop.time()

    def end_if_overdue(self, now: float) -> None:
        """Close a connection that takes too long to send its request, or to read its answer."""
        limits, spent = self._limits, now - self._since
        if self._stalled is not None and now - self._stalled > limits.stall_seconds:
            self.transport.abort()
        elif self._phase is Phase.IDLE and spent > limits.idle_seconds:  # if uvicorn has not noticed
            self.transport.close()
        elif self._phase is Phase.HEAD and not self._answering and spent > limits.head_seconds:
            self._end(_too_slow(f"The headers must come within {limits.head_seconds:g} seconds"))
        elif self._phase is Phase.BODY and not self.flow.read_paused and spent > self._time_for_body():
            most = f"{limits.body_seconds:g} seconds and one more per {limits.body_rate:,.0f} bytes"
            self._end(_too_slow(f"The body must come within {most}"))

    def _time_for_body(self) -> float:
        return self._limits.body_seconds + self._body_bytes / self._limits.body_rate

    # --- the end ------------------------------------------------------------------------------------------------

    def _end(self, refusal: Refusal, linger: bool = True) -> None:
        """Answer with a refusal if no answer has begun, and close."""
        if self._ending or self.transport.is_closing():
            return
        self._ending = True
        silent = bool(self.pipeline) or (self.cycle is not None and self.cycle.response_started and self._answering)
        unasked = self._phase is Phase.HEAD and self._bare == 0 and refusal.status == 408
        if not silent and not unasked and (self._phase is not Phase.BODY or self._answering):
            self.transport.write(self._raw(refusal))
        if self.cycle is not None and self._answering:  # what waits for the body learns that none will come
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not linger or silent or unasked or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.flow.resume_reading()  # to notice when the client closes, too
        self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.abort)

    def _ignore(self, data: bytes) -> None:
        """Ignore what a client had sent before it could know that its connection ends, but not endlessly."""
        self._ignored += len(data)
        if self._ignored > MAX_IGNORED:
            self.flow.pause_reading()

    def _raw(self, refusal: Refusal) -> bytes:
        name = new_id()
        body = encode({**refusal.to_dict(), "request_id": name}).encode()
        headers = [(key.encode(), value.encode()) for key, value in refusal.headers.items()]
        headers += self.server_state.default_headers
        headers += [(b"x-request-id", name.encode()), (b"content-type", b"application/problem+json")]
        headers += [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        lines = [b"%b: %b\r\n" % header for header in headers]
        return b"".join([STATUS_LINE[refusal.status], *lines, b"\r\n", body])


def _too_slow(detail: str) -> Refusal:
    return Refusal(408, "Request too slow", detail)
