"""Answers requests that wait at the same time together: four users cost the model little more than one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

from recx.jobs.serve.turns import Turns

Answer = Callable[[Sequence[Any]], list[Any]]
"""Returns something for each of some users."""
PATIENCE = 0.5
"""A turn waits this share of the last one's time for clients who were answered then and ask again."""


@dataclass(eq=False)
class _Waiting:
    """A request that waits for its answer."""

    users: Sequence[Any]
    answered: asyncio.Future[list[Any]]


@dataclass(frozen=True)
class _Turn:
    """The last turn.

    Attributes:
        kind: What its requests shared.
        n: How many requests of this kind were answered in it or waited at its end.
        seconds: How long the answer took.
    """

    kind: Any
    n: int
    seconds: float


@dataclass(eq=False)
class Together:
    """Collects requests until their turn begins, and answers those that ask for the same in one call.

    Without patience, four clients who ask again and again would be answered in two calls by turns: while the one half
    reads its answers, the other half would be alone. A client without company never waits.

    A user's answer never depends on who else is asked for (a law: see docs/concepts/laws.md). If a call fails,
    each request is answered on its own, so that no request fails for another's sake.

    Attributes:
        turns: Whose turn it is to use the model.
    """

    turns: Turns
    _waiting: dict[Any, list[_Waiting]] = field(default_factory=dict)
    _changed: Condition = field(default_factory=Condition)
    _last: _Turn | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def take(self, kind: Any, users: Sequence[Any], answer: Answer) -> list[Any]:
        """Return the answer for each of a request's users [n].

        Args:
            kind: What requests must share to be answered in one call.
            users: Distinct users, all ids of one type.
            answer: Answers for any users, in their order; the same for every request of this kind.

        Raises:
            Refused: Too many requests wait, or what ``answer`` raises for these users.
        """
        own = _Waiting(users, asyncio.get_running_loop().create_future())
        with self._changed:
            others = self._waiting.setdefault(kind, [])
            others.append(own)
            first = len(others) == 1
            self._changed.notify()
        if first:
            task = asyncio.create_task(self._turn(kind, answer))
            self._tasks.add(task)  # or it could be collected while it runs
            task.add_done_callback(self._tasks.discard)
        return await own.answered

    async def _turn(self, kind: Any, answer: Answer) -> None:
        """Wait for a turn, and answer all who wait by then."""
        chosen: list[_Waiting] = []

        def work() -> list[list[Any] | BaseException]:
            self._gather(kind)
            chosen.extend(self._taken(kind))
            start = time.perf_counter()
            try:
                return _answers([one.users for one in chosen], answer)
            finally:
                with self._changed:
                    n = len(chosen) + len(self._waiting.get(kind, ()))
                    self._last = _Turn(kind, n, time.perf_counter() - start)

        try:
            results: Sequence[list[Any] | BaseException] = await self.turns.take(work)
        except BaseException as error:
            chosen = chosen or self._taken(kind)
            results = [error] * len(chosen)
        for one, result in zip(chosen, results, strict=True):
            if one.answered.done():  # its client was told that it took too long
                continue
            if isinstance(result, BaseException):
                one.answered.set_exception(result)
            else:
                one.answered.set_result(result)

    def _gather(self, kind: Any) -> None:
        """Wait until as many requests of a kind wait as at the end of the last turn, or patience ends."""
        with self._changed:
            last = self._last
            if last is not None and last.kind == kind:
                self._changed.wait_for(lambda: len(self._waiting.get(kind, ())) >= last.n, PATIENCE * last.seconds)

    def _taken(self, kind: Any) -> list[_Waiting]:
        """Return the requests of a kind that wait."""
        with self._changed:
            return self._waiting.pop(kind, [])


def _answers(groups: Sequence[Sequence[Any]], answer: Answer) -> list[list[Any] | BaseException]:
    """Return the answers for each group of users, or why there are none."""
    if len(groups) > 1 and len({type(group[0]) for group in groups}) == 1:
        users = list(dict.fromkeys(user for group in groups for user in group))
        try:
            found = dict(zip(users, answer(users), strict=True))
            return [[found[user] for user in group] for group in groups]
        except Exception:  # each alone, to find whose fault it is
            pass
    return [_alone(group, answer) for group in groups]


def _alone(users: Sequence[Any], answer: Answer) -> list[Any] | BaseException:
    try:
        return answer(users)
    except Exception as error:
        return error
