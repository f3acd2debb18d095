"""An endpoint that is compatible with OpenAI's: one call, with its limits, and again where that may help."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from recx.plugin import InputError, RecxError
from recx_llm.answers import Answer

PATH = "/chat/completions"
PASSING = (408, 409, 425, 429)
"""Statuses besides those from 500 on after which another attempt may succeed."""
SPENT = "insufficient_quota"
"""Code of an error with the status 429 that no waiting mends."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds: the upper limit of the random wait before the second attempt, which doubles, and of all such limits."""
LONGEST_PAUSE = 600.0
"""Seconds that an endpoint may ask to wait for."""
LARGEST = 1 << 24
"""Bytes of an answer that are read."""
SAID = 200
"""Characters of an error of the endpoint that are shown."""


class _PassingError(Exception):
    """A call failed and may succeed later; ``after``: the seconds that the endpoint asks to wait for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


@dataclass
class Pacer:
    """Spreads calls evenly over time, so that no minute has too many of them, nor too many tokens.

    Attributes:
        requests_per_minute: Most calls; None: any number.
        tokens_per_minute: Most tokens; None: any number.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    _next: float = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a call with so many tokens may be made."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        by_calls = 60 / self.requests_per_minute if self.requests_per_minute else 0.0
        by_tokens = 60 * tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        self._next = at + max(by_calls, by_tokens)
        await asyncio.sleep(at - now)

    def hold(self, seconds: float) -> None:
        """Let no further call begin for some seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


@dataclass(eq=False)
class Endpoint:
    """An endpoint during a run; use it as an asynchronous context.

    Attributes:
        url: Its base address.
        key: The key that is sent as a bearer token; None: none.
        timeout: The longest time in seconds from a call to the end of its answer.
        retries: Attempts after the first.
        pacer: Limits the calls.
        retried: The number of attempts that were repeated.
    """

    url: str
    key: str | None
    timeout: float
    retries: int
    pacer: Pacer
    retried: int = 0
    _client: httpx2.AsyncClient = field(init=False, repr=False)

    async def __aenter__(self) -> Endpoint:
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        own = is_local(self.url)  # which no proxy of the environment may get
        any_number = httpx2.Limits(max_connections=None)
        self._client = httpx2.AsyncClient(headers=headers, timeout=self.timeout, limits=any_number, trust_env=not own)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def ask(self, body: Mapping[str, Any], tokens: int) -> Answer:
        """Return the model's answer.

        Args:
            body: The fields of the call.
            tokens: The estimated number of its tokens, those of the answer included.

        Raises:
            InputError: The endpoint refuses the call.
            RecxError: No attempt succeeds.
        """
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(_PassingError),
            stop=stop_after_attempt(self.retries + 1),
            wait=self._wait,
            reraise=True,
        )
        try:
            return await attempts(self._attempt, body, tokens)
        except _PassingError as error:
            raise RecxError(
                f"{self.name}: no answer after {self.retries + 1} attempts ({error}): run it again later, which asks "
                "only for the answers that are missing, or raise ranker.retries"
            ) from error

    @property
    def name(self) -> str:
        """Its address without user, password and query."""
        return address_of(self.url)

    def _wait(self, state: RetryCallState) -> float:
        self.retried += 1
        error = None if state.outcome is None else state.outcome.exception()
        if isinstance(error, _PassingError) and error.after is not None:
            return error.after
        return float(wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)(state))

    async def _attempt(self, body: Mapping[str, Any], tokens: int) -> Answer:
        await self.pacer.turn(tokens)
        try:
            async with (
                asyncio.timeout(self.timeout),
                self._client.stream("POST", _with_path(self.url), json=body) as got,
            ):
                content = await self._content(got)
        except TimeoutError:
            raise _PassingError(f"it takes more than {self.timeout:g} s") from None
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError) as error:
            raise _PassingError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
        if got.status_code != 200:
            self._refuse(got.status_code, _said(content), got.headers.get("Retry-After"))
        return _answer_of(content)

    async def _content(self, got: httpx2.Response) -> bytes:
        parts, size = [], 0
        async for part in got.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                raise RecxError(f"{self.name}: an answer has more than {LARGEST:,} bytes: look at the endpoint")
        return b"".join(parts)

    def _refuse(self, status: int, said: str, after: str | None) -> None:
        """Raise what a status other than 200 means."""
        said = (said.replace(self.key, "***") if self.key else said)[:SAID]
        why = f"HTTP {status}{f', {said}' if said else ''}"
        if (status in PASSING or status >= 500) and SPENT not in said:
            seconds = _seconds(after)
            if seconds is not None and seconds > LONGEST_PAUSE:
                raise RecxError(
                    f"{self.name}: {why}; it asks to wait for {seconds:,.0f} s: run it again then, which asks only for "
                    "the answers that are missing"
                )
            if seconds is not None:
                self.pacer.hold(seconds)
            raise _PassingError(why, seconds)
        ways = {
            401: "correct ranker.api_key_env or the variable that it names",
            403: "correct ranker.api_key_env or the variable that it names",
            404: "correct ranker.url or ranker.model",
        }
        if 300 <= status < 400:
            raise InputError(
                f"{self.name}: {why}: it sends on to another address, which is not followed: correct ranker.url"
            )
        raise InputError(f"{self.name}: {why}: {ways.get(status, 'correct the settings of ranker')}")


def check_url(url: str) -> None:
    """Raise InputError unless an address is the base address of an endpoint."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise InputError(f"ranker.url={url}: it is no address such as http://127.0.0.1:8000/v1: correct it")
    if parts.path.rstrip("/").endswith(PATH):
        raise InputError(f"ranker.url={url}: give the base address, without {PATH}")


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def address_of(url: str) -> str:
    """Return an address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _with_path(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + PATH, parts.query, ""))


def _seconds(after: str | None) -> float | None:
    """Return what the header Retry-After says, seconds or a date; None if it says neither."""
    if after is None:
        return None
    with suppress(ValueError):
        return max(0.0, float(after)) if float(after) < float("inf") else None
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds())
    return None


def _said(content: bytes) -> str:
    """Return what an error says, in one line."""
    text = content.decode("utf-8", "replace")
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        error = json.loads(text)["error"]
        text = " ".join(str(error[name]) for name in ("code", "message") if error.get(name))
    return " ".join(text.split())


def _answer_of(content: bytes) -> Answer:
    """Return the answer in a response; one without text, such as a refusal, has ""."""
    try:
        found = json.loads(content)
        choice, usage = found["choices"][0], found.get("usage") or {}
        text, read, written = (
            choice["message"].get("content"),
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _PassingError(f"its response is no completion ({type(error).__name__})") from error
    whole = choice.get("finish_reason") != "length"
    return Answer(text if isinstance(text, str) else "", _count(read), _count(written), whole)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
