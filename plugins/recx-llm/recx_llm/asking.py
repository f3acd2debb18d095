"""Asks about many lists at once: what it will take, and what came of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import Any

from anyio.from_thread import start_blocking_portal

from recx.plugin import RecxError, bar
from recx_llm.answers import Answer, Answers
from recx_llm.cost import Ledger, Tokens, tokens_of
from recx_llm.endpoint import Endpoint
from recx_llm.reading import BROKEN, Steps

LOOK = 0.2
"""Seconds between two looks at the progress."""
SHOWN = 80
"""Characters of an answer that cannot be read that are shown."""


@dataclass(frozen=True)
class Call:
    """How a prompt becomes a call.

    Attributes:
        fields: The fields of each call but the messages.
        key: Returns the key of a call, given its fields.
        output: The estimated number of tokens of an answer.
    """

    fields: Mapping[str, Any]
    key: Callable[[Mapping[str, Any]], str]
    output: int

    def body(self, prompt: str) -> dict[str, Any]:
        """Return the fields of the call with a prompt."""
        return {**self.fields, "messages": [{"role": "user", "content": prompt}]}

    def estimate(self, prompt: str) -> Tokens:
        """Return the estimated tokens of the call with a prompt."""
        return Tokens(tokens_of(prompt), self.output)

    def used(self, prompt: str, answer: Answer) -> Tokens:
        """Return the tokens of a call, estimated where the endpoint did not say them."""
        guess = Tokens(tokens_of(prompt), tokens_of(answer.text))
        told = (answer.input_tokens, answer.output_tokens)
        return Tokens(
            *(one if one is not None else other for one, other in zip(told, (guess.input, guess.output), strict=True))
        )


@dataclass
class Plan:
    """What lists will take, before anything is asked.

    Attributes:
        calls: Prompts.
        kept: Those whose answers are kept already.
        tokens: Estimated tokens of the others.
        prompt: The first prompt.
    """

    calls: int = 0
    kept: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    prompt: str = ""


@dataclass
class Outcome:
    """What came of asking.

    Attributes:
        orders: The new order of each list, best first, by its place.
        tally: Counts of what was wrong with the answers, and of ``sent``, ``kept`` and ``uncounted`` answers.
        tokens: The tokens of all answers, those that were kept included.
    """

    orders: dict[int, list[int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    tokens: Tokens = field(default_factory=Tokens)


Dialogues = Callable[[int, Counter[str]], Steps]
"""Begins the dialogue about the list at a place; what is wrong with its answers is counted."""


def plan(dialogues: Dialogues, lists: Sequence[int], call: Call, answers: Answers) -> Plan:
    """Return what lists will take: later windows of a list depend on answers, so that their tokens are estimates."""
    made = Plan()
    for place in lists:
        steps, answer = dialogues(place, Counter()), None
        for prompt in _prompts(steps, lambda: answer and answer.readable):  # noqa: B023  # used before the next list
            made.prompt = made.prompt or prompt
            answer = answers.find(call.key(call.body(prompt)))
            made.calls += 1
            made.kept += answer is not None
            if answer is None:
                made.tokens += call.estimate(prompt)
    return made


def _prompts(steps: Steps, answer: Callable[[], str | None]) -> Iterator[str]:
    try:
        prompt = next(steps)
        while True:
            yield prompt
            prompt = steps.send(answer())
    except StopIteration:
        return


@dataclass(eq=False)
class Asker:
    """Asks an endpoint about lists, several at the same time.

    Attributes:
        endpoint: The endpoint.
        call: How a prompt becomes a call.
        answers: Where answers are kept.
        ledger: What calls cost.
        concurrency: Lists that are asked about at the same time.
        most_broken: How many answers need not be readable.
        calls: The number of prompts, as planned.
    """

    endpoint: Endpoint
    call: Call
    answers: Answers
    ledger: Ledger
    concurrency: int
    most_broken: float
    calls: int
    outcome: Outcome = field(default_factory=Outcome)

    def ask(self, dialogues: Dialogues, lists: Sequence[int]) -> Outcome:
        """Return what came of asking about some lists.

        Raises:
            InputError: The endpoint refuses, or the run would cost too much.
            RecxError: There is no answer, or too many cannot be read.
        """
        with start_blocking_portal() as portal, bar() as show:  # a notebook has an event loop of its own
            work = portal.start_task_soon(self._all, dialogues, lists)
            try:
                while not wait([work], timeout=LOOK).done:
                    done = self.outcome.tally["sent"] + self.outcome.tally["kept"]
                    show(min(1.0, done / max(1, self.calls)), f"{done} of {self.calls} answers")
            except BaseException:
                work.cancel()
                raise
            work.result()
        self.outcome.tally["retried"] = self.endpoint.retried
        return self.outcome

    async def _all(self, dialogues: Dialogues, lists: Sequence[int]) -> None:
        left = iter(lists)

        async def worker() -> None:
            for place in left:
                await self._one(place, dialogues)

        try:
            async with self.endpoint, asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(lists))):
                    group.create_task(worker())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _one(self, place: int, dialogues: Dialogues) -> None:
        steps, tally = dialogues(place, self.outcome.tally), self.outcome.tally
        prompt: str | None = next(steps)
        while prompt is not None:
            answer, before = await self._answer(prompt), tally[BROKEN]
            try:
                prompt = steps.send(answer.readable)
            except StopIteration as end:
                prompt, self.outcome.orders[place] = None, end.value
            if tally[BROKEN] > max(before, self.most_broken):
                raise RecxError(
                    f"{tally[BROKEN]} of {self.calls} answers cannot be read, more than ranker.max_broken allows; the "
                    f"last of them {_shown(answer)}: look at ranker.prompt, ranker.model and ranker.max_tokens"
                )

    async def _answer(self, prompt: str) -> Answer:
        body = self.call.body(prompt)
        key = self.call.key(body)
        answer, source = self.answers.find(key), "kept"
        if answer is None:
            answer, source = await self._paid(prompt, body), "sent"
            self.answers.keep(key, answer)
        self.outcome.tally[source] += 1
        self.outcome.tally["uncounted"] += answer.input_tokens is None or answer.output_tokens is None
        self.outcome.tokens += self.call.used(prompt, answer)
        return answer

    async def _paid(self, prompt: str, body: Mapping[str, Any]) -> Answer:
        estimate, used = self.call.estimate(prompt), None
        self.ledger.begin(estimate)
        try:
            answer = await self.endpoint.ask(body, estimate.input + estimate.output)
            used = self.call.used(prompt, answer)
        finally:
            self.ledger.end(estimate, used)
        return answer


def _shown(answer: Answer) -> str:
    text = " ".join(answer.text.split())
    how = "is" if answer.whole else "was cut by ranker.max_tokens after"
    return f"{how} {text[:SHOWN]!r}{'…' if len(text) > SHOWN else ''}"
