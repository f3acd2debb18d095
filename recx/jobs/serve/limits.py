"""What one request may ask for, and how long anything may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of requests and connections.

    Attributes:
        body: Largest body in bytes.
        users: Most users in a request.
        k: Longest list.
        rows: Most items in all lists of an answer.
        candidates: Most candidates that are ranked at once.
        seconds: Longest time of a request, from its headers to the end of its answer.
        head: Largest request line and headers in bytes.
        head_seconds: Time for sending them.
        idle_seconds: How long a connection may wait for its next request.
        rest_seconds: How long what follows a refused request is read and forgotten, so that its client, which may
            still be sending a large body, gets to read the refusal.
        connections: Most open connections of a worker.
        waiting: Most requests of a worker that wait for their turn.
    """

    body: int = 1_000_000
    users: int = 1_000
    k: int = 1_000
    rows: int = 100_000
    candidates: int = 10_000
    seconds: float = 10.0
    head: int = 16_384
    head_seconds: float = 10.0
    idle_seconds: float = 75.0
    rest_seconds: float = 5.0
    connections: int = 256
    waiting: int = 64
