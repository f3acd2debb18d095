"""Stands before the application: who may ask, how much a request may bring, and how long it may take."""

from __future__ import annotations

import asyncio
import hmac
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recx.core.errors import unexpected
from recx.core.system.screen import echo, one_line
from recx.jobs.serve.counters import CODES, ENDPOINTS, Counters
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.refusal import Refused, refusal

OPEN = ("/health",)
"""What is answered without a token."""


@dataclass(frozen=True, eq=False)
class Gate:
    """An ASGI application around another.

    Attributes:
        app: The other.
        limits: The limits of a request.
        counters: Count the answers.
        token: What requests must bring; "": nothing.
        hosts: What the header Host may name; (): anything.
    """

    app: ASGIApp
    limits: Limits
    counters: Counters
    token: str = ""
    hosts: tuple[str, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in a sentence."""
        start, exchange = time.perf_counter(), Exchange(receive, send, self.limits.body)
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._answer(scope, exchange)
        except TimeoutError:
            await exchange.refuse(scope, self._too_late(exchange))
        finally:
            endpoint = scope["path"].removeprefix("/")
            endpoint = "docs" if endpoint == "openapi.json" else endpoint
            code = exchange.status if exchange.status in CODES else 500
            known = endpoint if endpoint in ENDPOINTS else "other"
            self.counters.count(known, code, time.perf_counter() - start)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        try:
            self._check(scope)
            await self.app(scope, exchange.receive, exchange.send)
        except Refused as refused:
            await exchange.refuse(scope, refused)
        except Exception as error:
            if os.environ.get("RECX_DEBUG") == "1":
                echo("".join(traceback.format_exception(error)), to=sys.stderr)
            echo(one_line(unexpected(error)), to=sys.stderr, flush=True)
            await exchange.refuse(scope, Refused(500, "an unexpected error: the server's output says more"))

    def _check(self, scope: Scope) -> None:
        """Raise Refused for a request that the headers alone rule out."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.strip())
        if sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["raw_path"]) > self.limits.head:
            raise Refused(431, f"the headers are larger than {self.limits.head:,} bytes: send fewer")
        self._check_host(headers.get(b"host", []))
        if self.token and scope["path"] not in OPEN:
            self._check_token(headers.get(b"authorization", []))
        if scope["method"] == "POST":
            self._check_body(headers)

    def _check_host(self, given: list[bytes]) -> None:
        if len(given) != 1:
            raise Refused(400, "a request needs one header Host")
        host = given[0].decode("latin-1").lower()
        name, colon, port = host.rpartition(":")
        name = name if colon and port.isdigit() else host
        if self.hosts and name not in self.hosts:
            raise Refused(400, f"this server is not {name[:80]!r}: address it as {self.hosts[0]} (the header Host)")

    def _check_token(self, given: list[bytes]) -> None:
        kind, _, word = (given[0] if len(given) == 1 else b"").partition(b" ")
        wanted, got = (sha256(one).digest() for one in (self.token.encode(), word.strip()))
        if kind.lower() != b"bearer" or not hmac.compare_digest(wanted, got):
            needed = {"WWW-Authenticate": "Bearer"}
            raise Refused(401, "a token is required: send the header Authorization: Bearer TOKEN", needed)

    def _check_body(self, headers: dict[bytes, list[bytes]]) -> None:
        kind = b"".join(headers.get(b"content-type", [])[:1]).partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Refused(415, "the body must be JSON: send the header Content-Type: application/json")
        if headers.get(b"content-encoding", [b"identity"]) != [b"identity"]:
            raise Refused(415, "the body must not be compressed: leave out the header Content-Encoding")
        length = b"".join(headers.get(b"content-length", [])[:1])
        if length.isdigit() and (len(length) > 18 or int(length) > self.limits.body):
            raise too_large(self.limits.body)

    def _too_late(self, exchange: Exchange) -> Refused:
        limit = f"within {self.limits.seconds:g} s"
        if not exchange.whole:
            return Refused(408, f"the request did not arrive {limit}", {"Connection": "close"})
        return Refused(504, f"there was no answer {limit}: ask for less, or later")


@dataclass
class Exchange:
    """A request and its answer as they pass.

    Attributes:
        incoming: Receives from the client.
        outgoing: Sends to it.
        largest: Largest body in bytes.
        received: Bytes of the body so far.
        whole: Whether the body was received, or is not wanted.
        gone: Whether the client went away before its request was complete.
        status: The status of the answer; 499 before there is one.
    """

    incoming: Receive
    outgoing: Send
    largest: int
    received: int = 0
    whole: bool = field(default=True, init=False)
    gone: bool = field(default=False, init=False)
    status: int = field(default=499, init=False)

    async def receive(self) -> Message:
        """Return the next message of the client.

        Raises:
            Refused: The body is too large.
        """
        self.whole = False
        message = await self.incoming()
        self.gone = message["type"] == "http.disconnect"
        self.received += len(message.get("body", b""))
        if self.received > self.largest:
            raise too_large(self.largest)
        self.whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a message to the client."""
        if message["type"] == "http.response.start" and not self.gone:
            self.status = int(message["status"])
        await self.outgoing(message)

    async def refuse(self, scope: Scope, refused: Refused) -> None:
        """Send a refusal, unless an answer has begun."""
        if self.status == 499:
            answer = refusal(refused.status_code, refused.detail, refused.headers)
            await answer(scope, self.incoming, self.send)


def too_large(largest: int) -> Refused:
    """Return the refusal of a body that is larger than a number of bytes."""
    return Refused(413, f"the body is larger than {largest:,} bytes: send less at a time (--max-body)")
