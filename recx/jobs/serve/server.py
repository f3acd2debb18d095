"""uvicorn's server with connections that have limits."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from recx.jobs.serve.connection import Connection
from recx.jobs.serve.limits import Limits
from recx.jobs.serve.settings import BACKLOG

GRACE = 5
"""Seconds in which open requests can be finished at the end."""


class Server(uvicorn.Server):
    """Serves on one socket, which other processes may share, until ``should_exit`` is true.

    Attributes:
        listener: The socket.
        ready: Called when connections are taken.
    """

    listener: socket.socket
    ready: Callable[[], None]

    @classmethod
    def of(cls, app: ASGIApp, limits: Limits, listener: socket.socket, ready: Callable[[], None]) -> Self:
        """Return the server of an application."""
        config = uvicorn.Config(
            app,
            http=type("Limited", (Connection,), {"limits": limits}),
            ws="none",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=1,  # taken at once, so that other workers get some; ``startup`` sets the listener's own
            timeout_keep_alive=round(2 * limits.idle_seconds),  # the connection has its own
            timeout_graceful_shutdown=GRACE,
            h11_max_incomplete_event_size=limits.head,
        )
        server = cls(config)
        server.listener, server.ready = listener, ready
        return server

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections."""
        await super().startup(sockets)
        self.listener.listen(BACKLOG)
        self.ready()
