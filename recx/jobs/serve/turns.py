"""Lets requests use the model one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from recx.jobs.serve.refusal import Refused

T = TypeVar("T")


@dataclass
class Turns:
    """Lets requests use the model one after the other, in a thread beside the one that talks to clients.

    Attributes:
        most: Most requests that wait.
        waiting: How many wait or are being answered.
    """

    most: int
    waiting: int = 0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="model"))

    async def take(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which never begins if the request is over before its turn.

        Raises:
            Refused: Too many requests wait.
        """
        if self.waiting > self.most:
            raise Refused(503, f"{self.waiting} requests wait already: try again later", {"Retry-After": "1"})
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self.waiting -= 1
