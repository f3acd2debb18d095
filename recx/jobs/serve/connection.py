"""A connection of the server: uvicorn's, with a time for everything and refusals in JSON."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from recx.jobs.serve.limits import Limits
from recx.jobs.serve.refusal import encoded

SLACK = 2.0
"""Seconds after the time of a request in which its refusal can be sent."""
INVALID = "this is not valid HTTP/1.1, or its headers are too large"
CUT_OFF = "the connection was closed for sending before the request was complete: send all of its body"
FULL = "the server has too many connections: try again later"


class Connection(H11Protocol):
    """A connection that is closed whenever its client is too slow.

    At any time it waits for one thing: the first byte of a request (``idle_seconds``), the end of its headers
    (``head_seconds``), or the end of the answer (``seconds``). What follows a refused request, such as the rest of a
    large body, is read and forgotten for a while: a client that is still sending would not read the refusal otherwise.
    """

    limits: Limits

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._deadline: asyncio.TimerHandle | None = None
        self._state = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        excess = len(self.connections) - self.limits.connections
        if excess > self.limits.connections:
            transport.abort()
        elif excess > 0:
            self._refuse(503, FULL)
        else:
            self._enter("head", self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self._state == "rest":
            return
        if self._state == "idle":
            self._enter("head", self.limits.head_seconds)
        super().data_received(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Refuse a request that was cut off, and answer a whole one: its client may still read."""
        if self._state == "request" and self.conn.their_state is h11.SEND_BODY:
            self._give_up(CUT_OFF)
        elif self._state == "request" and not self.conn.trailing_data[0]:
            self.cycle.keep_alive = False  # nothing follows
        return self._state in ("request", "rest")

    def handle_events(self) -> None:
        """Begin what has arrived."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._enter("request", self.limits.seconds + SLACK)
            self.cycle.transport = cast(asyncio.Transport, _Outgoing(self))

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        if self._state != "rest":
            more = self.conn.their_state is h11.SEND_BODY
            self._enter(*(("head", self.limits.rest_seconds) if more else ("idle", self.limits.idle_seconds)))
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in a sentence."""
        self._give_up(INVALID)

    def _give_up(self, sentence: str) -> None:
        """Refuse a request that has begun or not, and end what answers it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refuse(400, sentence)

    def shutdown(self) -> None:
        """Close the connection, after the answer to an open request."""
        if self._state == "rest" or self.conn.our_state is h11.ERROR:
            self.transport.abort()
        else:
            super().shutdown()

    def close(self) -> None:
        """Close the connection once the client has read the answer, even if it is still sending."""
        if self.conn.their_state is h11.SEND_BODY or self.conn.their_state is h11.ERROR:
            self._forget_rest()
        else:
            self.transport.close()

    def _refuse(self, status: int, sentence: str) -> None:
        body = encoded({"error": sentence})
        headers = [("Content-Type", "application/json"), ("Content-Length", f"{len(body)}"), ("Connection", "close")]
        answer = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
        with suppress(h11.LocalProtocolError):  # an answer has begun already
            for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._forget_rest()

    def _forget_rest(self) -> None:
        """Say that no more will be sent, and read and forget what the client sends."""
        self._enter("rest", self.limits.rest_seconds)
        if not self.transport.is_closing():
            self.transport.write_eof()
            self.flow.resume_reading()

    def _enter(self, state: str, seconds: float) -> None:
        """Wait for something for so long."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._state = state
        self._deadline = self.loop.call_later(seconds, self.transport.abort)


class _Outgoing:
    """What a request sees of its connection."""

    def __init__(self, connection: Connection) -> None:
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
        self.close = connection.close
