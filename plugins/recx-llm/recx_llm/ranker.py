"""``ranker=llm``: the order that a large language model gives the candidates."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from recx.plugin import (
    UNKNOWN_EVENTS,
    Doubles,
    Duration,
    InputError,
    Interactions,
    NonNegativeFloat,
    NonNegativeInt,
    NotKept,
    PositiveInt,
    RankedLists,
    RecxError,
    Requests,
    Unit,
    check,
    check_address,
    milliseconds,
    say,
)
from recx_llm.answers import Answers, key_of
from recx_llm.asking import Asker, Call, Outcome, Plan, plan
from recx_llm.cost import Ledger, Price
from recx_llm.endpoint import Endpoint, Pacer, address_of, check_url, is_local
from recx_llm.material import Material
from recx_llm.prompts import Mode, Prompt
from recx_llm.reading import BROKEN, DOUBLED, FOREIGN, MISSING, Steps, steps

RESERVED = ("model", "messages", "stream", "temperature", "max_tokens", "n", "tools")
"""Fields of a call that ``extra`` may not set."""
LIMITS = ("max_completion_tokens", "max_output_tokens")
"""Names that endpoints give the limit of an answer besides ``max_tokens``."""
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


class DryRun(RecxError):  # noqa: N818  # it is no error
    """A dry run came to its end."""

    exit_code = 0


@dataclass(frozen=True)
class Llm:
    """A large language model as a ranker, pointwise or listwise (Sun et al. 2023, RankGPT), without training.

    The texts of users and items, as far as prompts show them, are sent to ``url``, which this command line or an option
    file of the person's own project must name (see ``recx.core.project.check_address``).

    Attributes:
        url: Base address of the endpoint, such as ``http://127.0.0.1:8000/v1``.
        model: The model's name at the endpoint.
        api_key_env: The name of the environment variable that holds the key; None: no key is sent.
        mode: ``listwise``: windows of candidates are ordered; ``pointwise``: each candidate is graded.
        top: Candidates of each list that it reads, the others keep their order below; None: all.
        window: Candidates in a prompt (listwise).
        stride: Candidates by which the window moves upwards, from the end of the list (listwise).
        history: Last events of the user whose items the prompt shows; 0: none.
        max_words: Words of each text that the prompt shows, and ten times as many characters; None: all.
        prompt: A file with a Jinja template (see ``recx_llm.prompts.Prompt``); None: the plugin's own of the mode.
        temperature: Of the sampling; None: not sent.
        max_tokens: Maximum tokens of an answer; None: not sent.
        extra: Further fields of each call.
        timeout: The longest time for an answer.
        retries: Attempts after the first, where the endpoint is busy, fails or sends half an answer.
        requests_per_minute: Most calls per minute; None: any number.
        tokens_per_minute: Most tokens per minute, those of the answers included, as estimated; None: any number.
        concurrency: Lists that are asked about at the same time.
        prices: Model -> ``input`` and ``output`` -> the price of a million tokens.
        max_cost: Most that a run may cost, in the currency of the prices; None: any amount.
        max_broken: Largest share of answers that cannot be read.
        dry_run: Whether to say what the run would ask and cost, show one prompt, ask nothing and stop.
        cache: Folder of the answers, kept by content; None: none is kept.
    """

    gives_probabilities: ClassVar[bool] = False
    cacheable: ClassVar[bool] = False  # what an endpoint answers is no content to compare; ``cache`` keeps it
    written: ClassVar = ("cache",)
    not_kept: ClassVar = NotKept("an address to which texts would be sent", "security")

    url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    mode: Mode = "listwise"
    top: PositiveInt | None = 20
    window: Annotated[int, Ge(2)] = 20
    stride: PositiveInt = 10
    history: NonNegativeInt = 10
    max_words: PositiveInt | None = 200
    prompt: str | None = None
    temperature: NonNegativeFloat | None = 0.0
    max_tokens: PositiveInt | None = 256
    extra: Mapping[str, Any] = field(default_factory=dict)
    timeout: Duration = "60s"
    retries: NonNegativeInt = 5
    requests_per_minute: PositiveInt | None = None
    tokens_per_minute: PositiveInt | None = None
    concurrency: PositiveInt = 4
    prices: Mapping[str, Mapping[str, NonNegativeFloat]] = field(default_factory=dict)
    max_cost: NonNegativeFloat | None = None
    max_broken: Unit = 0.1
    dry_run: bool = False
    cache: str | None = None

    def __post_init__(self) -> None:
        if self.api_key_env is not None and not _VARIABLE.fullmatch(str(self.api_key_env)):
            raise InputError(  # which does not repeat it
                "ranker.api_key_env: it must be the NAME of an environment variable, in capitals, such as MY_API_KEY: "
                "if it is the key itself, put that into a variable"
            )
        check(self, "ranker")
        if self.stride > self.window:
            raise InputError(f"ranker.stride={self.stride}: it must be at most ranker.window, {self.window}")
        for name in sorted(set(self.extra).intersection(RESERVED)):
            raise InputError(f"ranker.extra.{name}: this field is not for extra: use the ranker's own settings")
        if self.max_cost is not None and self._price is None:
            raise InputError(
                f"ranker.max_cost={self.max_cost:g}: ranker.prices has no price of {self.model}: give one, such as "
                f"'++ranker.prices={{{self.model}: {{input: 0.5, output: 1.5}}}}'"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        raise InputError("ranker=llm asks from this process alone, so that its limits hold: choose engine=local")

    @property
    def loaded(self) -> dict[str, str]:
        """What the protocol card says of the model (see ``recx.core.protocols.Loading``)."""
        at = "" if self.url is None else f" at {address_of(self.url)}"
        return {"from": f"{self.model}{at}", "seen": UNKNOWN_EVENTS, "prompt": self._template.digest}

    def preflight(self) -> None:
        """Check everything but the answers, so that errors are reported before any data is read.

        Raises:
            InputError: A setting is missing or cannot be used, or nobody here named the address.
        """
        for name in ("url", "model"):
            if getattr(self, name) is None:
                raise InputError(
                    f"ranker.{name} is not set: name the endpoint and its model, ranker.url and ranker.model"
                )
        assert self.url is not None
        check_url(self.url)
        try:
            check_address(self.url)
        except InputError as error:
            raise InputError(f"ranker.url={self.url}: {error}") from None
        self._key()
        self._template  # noqa: B018 (reported now)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the order of the model, those after ``top`` in their order below.

        Lists of users of whom prompts would show nothing, and answers that cannot be read, leave the order as it was,
        and are counted in the notes.

        Raises:
            InputError: A setting or the data cannot be used, the endpoint refuses, or the run would cost too much.
            RecxError: The endpoint does not answer, or too many answers cannot be read.
            DryRun: ``dry_run`` is true.
        """
        self.preflight()
        material = Material.of(candidates, history, requests, self.top, self.history, self.max_words)
        lists = material.to_ask()

        def dialogues(place: int, tally: Counter[str]) -> Steps:
            return steps(self._template, *material.shown(place), self.window, self.stride, tally)

        call, answers = self._call, Answers(None if self.cache is None else Path(self.cache).expanduser())
        made = plan(dialogues, lists, call, answers)
        self._say(made)
        self._ledger.check(made.tokens)
        most = self.max_broken * made.calls
        endpoint = self._endpoint()
        asker = Asker(endpoint, call, answers, self._ledger, self.concurrency, most, made.calls)
        outcome = asker.ask(dialogues, lists) if lists else Outcome()
        unasked = int((candidates.lengths > 1).sum()) - len(lists)
        notes = {**candidates.notes, **self._notes(outcome, unasked)}
        return replace(candidates.reorder(self._scores(candidates, outcome)), notes=notes)

    @cached_property
    def _template(self) -> Prompt:
        """The prompt, read once, so that all lists and the protocol card have the same."""
        return Prompt.of(self.mode, self.prompt)

    @cached_property
    def _price(self) -> Price | None:
        return Price.of(self.model, self.prices)

    @cached_property
    def _ledger(self) -> Ledger:
        """What all blocks of requests have cost, also of several runs of this object."""
        return Ledger(self._price, self.max_cost)

    @property
    def _call(self) -> Call:
        assert self.url is not None
        limits = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        sent = {name: value for name, value in limits.items() if value is not None}
        output = self._limit or (16 if self.mode == "pointwise" else 4 * self.window + 16)  # of a short answer
        return Call({"model": self.model, **sent, **self.extra}, partial(key_of, self.url), output)

    @property
    def _limit(self) -> int | None:
        """The limit of the tokens of an answer; None if there is none."""
        limits = [self.max_tokens, *(self.extra.get(name) for name in LIMITS)]
        return min((limit for limit in limits if isinstance(limit, int)), default=None)

    def _key(self) -> str | None:
        """Return the key, which no error shows; None if none is to be sent (raises InputError if it is no key)."""
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise InputError(f"ranker.api_key_env={self.api_key_env}: there is no such environment variable: set it")
        if not re.fullmatch(r"[!-~]+", key):
            raise InputError(
                f"ranker.api_key_env={self.api_key_env}: what it holds is no key, of ASCII without blanks: correct it"
            )
        return key

    def _endpoint(self) -> Endpoint:
        assert self.url is not None
        key = self._key()
        if key is not None and self.url.startswith("http://") and not is_local(self.url):
            say("  the key of ranker.api_key_env is sent unencrypted: use https:// where the endpoint has it")
        pacer = Pacer(self.requests_per_minute, self.tokens_per_minute)
        return Endpoint(self.url, key, milliseconds(self.timeout, "ranker.timeout") / 1000, self.retries, pacer)

    def _say(self, made: Plan) -> None:
        """Say what will be asked; in a dry run, that is all.

        Raises:
            DryRun: ``dry_run`` is true.
        """
        new, tokens = made.calls - made.kept, made.tokens
        most = "about" if self._limit is None else "at most"
        cost = f"ranker.prices has no price of {self.model}"
        if self._price is not None:
            cost = f"{most} {self._price.cost(tokens):.4g}, by ranker.prices"
        text = (
            f"ranker=llm: {new:,} calls of {self.model}, estimated {tokens.input:,} tokens of prompts and {most} "
            f"{tokens.output:,} of answers ({cost}); {made.kept:,} answers are kept already"
        )
        if not self.dry_run:
            say(f"  {text}")
            return
        for line in ["the first prompt:", *made.prompt.splitlines()]:
            say(f"  | {line}")
        raise DryRun(f"dry run, nothing was asked: {text}: leave out ranker.dry_run to ask")

    def _notes(self, outcome: Outcome, unasked: int) -> dict[str, float]:
        """Return the counts of a block; each has a word in its name by which blocks add up."""
        tally, tokens = outcome.tally, outcome.tokens
        cost = {} if self._price is None else {"llm_requests_cost": self._price.cost(tokens)}
        return {
            "llm_requests_sent": tally["sent"],
            "llm_requests_kept": tally["kept"],
            "llm_requests_repeated": tally["retried"],
            "llm_requests_broken": tally[BROKEN],
            "llm_requests_without_usage": tally["uncounted"],
            "llm_values_doubled": tally[DOUBLED],
            "llm_values_foreign": tally[FOREIGN],
            "llm_values_missing": tally[MISSING],
            "llm_requests_input_tokens": tokens.input,
            "llm_requests_output_tokens": tokens.output,
            **cost,
            "requests_not_asked": unasked,
        }

    def _scores(self, candidates: RankedLists, outcome: Outcome) -> Doubles:
        """Return the scores of the new order [n]: the number of candidates that are not above."""
        place = candidates.rank - 1
        for one, order in outcome.orders.items():
            start = int(candidates.indptr[one])
            place[start + np.array(order)] = np.arange(len(order))
        return (np.repeat(candidates.lengths, candidates.lengths) - place).astype(np.float64)
