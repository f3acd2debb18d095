"""The four classic features of tool selection, which compare the tool with the task.

The users are tasks and the items are tools, but the features work for any users and items with texts.

Known: the task, the data's table of tools, and to ``Usage`` the events of all users before the request; without times,
all of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from recx.core.bounds import checked
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedFeature
from recx.core.types import Floats, Interactions, RankedLists, Requests, Vectors
from recx.parts.feature.fitted import Constant, FittedWith, PerItem
from recx.parts.feature.reliability import Source, given
from recx.parts.feature.rows import of_rows
from recx.parts.shared.analyzer import Analyzer, names_split
from recx.parts.shared.item_clicks import AllEvents, ItemClicks, all_events, item_clicks
from recx.parts.shared.products import products_of_lists
from recx.parts.shared.texts import (
    Encoded,
    UserTexts,
    WordCounter,
    encoded,
    query_vectors,
)

NAMED, WORD_NAMED, NOT_NAMED = 1.0, 0.7, 0.3  # the task has the whole name of the tool, a word of it, or none


@dataclass(frozen=True)
class Relevance:
    """Cosine of the task's and the tool's text, mapped to [0, 1]; 0.5 if either has no known word.

    Attributes:
        encoder: Encodes texts as vectors.
    """

    encoder: Encoder

    def fit(self, history: Interactions) -> FittedFeature:
        return FittedWith(self, encoded(history, self.encoder))

    def values(self, texts: Encoded, candidates: RankedLists, requests: Requests) -> Floats:
        cosine = products_of_lists(candidates, query_vectors(requests, texts), texts.items)
        return ((1 + cosine) / 2).clip(0, 1)


@dataclass(frozen=True)
class Structure(Relevance):
    """sqrt(relevance + 0.1), which stretches the lower end of the relevance."""

    def values(self, texts: Encoded, candidates: RankedLists, requests: Requests) -> Floats:
        return np.asarray(np.sqrt(super().values(texts, candidates, requests) + np.float32(0.1)))


@dataclass(frozen=True)
@checked("feature")
class Usage:
    """How a tool did before: its usage, or its reliability where the data gives it.

    The usage is 0.5 + 0.5 * share of the tool in all events before the request; 0.5 without events. The reliability is
    the items' column ``reliability``, from 0 to 1; the mean of all tools for one without.

    Attributes:
        source: ``usage``, ``reliability``, or ``auto``: the reliability if the data gives it, otherwise the usage.
    """

    source: Source = "auto"

    def fit(self, history: Interactions) -> FittedFeature:
        reliability = given(self.source, history.items.table.get("reliability"))
        if reliability is not None:
            return PerItem(reliability.astype(np.float32))
        return FittedWith(self, (item_clicks(history), all_events(history)))

    def values(self, known: tuple[ItemClicks, AllEvents], candidates: RankedLists, requests: Requests) -> Floats:
        clicks, events = known
        total = np.maximum(1, of_rows(events.within(requests, None), candidates))
        share = clicks.within(candidates, requests, None) / total
        return (0.5 + 0.5 * share).astype(np.float32)


@dataclass(frozen=True)
@checked("feature")
class Naming:
    """1.0 if the task contains the whole name of the tool, 0.7 if it contains a word of the name, else 0.3.

    The words of ``Tax_Calculator`` and of ``TaxCalculator`` are "tax" and "calculator"; of a name in
    a script without spaces, every two characters in a row are one. The name is the column
    ``name`` of the items' table.

    Attributes:
        split_names: Whether the parts of names in CamelCase and snake_case are words.
    """

    split_names: bool = True

    def fit(self, history: Interactions) -> FittedFeature:
        if "name" not in history.items.table:
            return Constant(NOT_NAMED)
        return FittedWith(self, _named(history, self.split_names))

    def values(self, named: _Named, candidates: RankedLists, requests: Requests) -> Floats:
        value = np.full(len(candidates), NOT_NAMED, dtype=np.float32)
        tasks = named.counter.counts(named.tasks.of(candidates.user))
        value[products_of_lists(candidates, tasks, named.words) > 0] = WORD_NAMED
        value[products_of_lists(candidates, tasks, named.names) > 0] = NAMED
        return value


@dataclass(frozen=True)
class _Phrases:
    """Finds the words of a task, and every few of them in a row.

    Attributes:
        split_names: Whether names are also read in parts.
        longest: Up to how many words in a row are one phrase.
    """

    split_names: bool
    longest: int

    def __call__(self, task: str) -> list[str]:
        whole = Analyzer(split_names=False)
        words = [*whole(names_split(task) if self.split_names else task), "", *whole(task)]
        lengths = range(1, self.longest + 1)
        return [" ".join(words[at : at + n]) for n in lengths for at in range(len(words) - n + 1)]


@dataclass(frozen=True, eq=False)
class _Named:
    """The terms of the tools' names: their words and the whole names.

    Attributes:
        counter: Finds the terms in a task.
        words: The words of each tool's name, CSR [n_items, n_terms].
        names: The whole name of each tool, in parts and in one, CSR [n_items, n_terms].
        tasks: The users' texts.
    """

    counter: WordCounter
    words: Vectors
    names: Vectors
    tasks: UserTexts


@once_per_input
def _named(history: Interactions, split_names: bool) -> _Named:
    whole, split = Analyzer(split_names=False), names_split if split_names else str
    table = history.items.table["name"]
    parts = [[word for word in whole(split(name)) if word.strip("_")] for name in table]
    words = [[word for word in of_name if word.isascii() or len(word) > 1] for of_name in parts]
    names = [
        {" ".join(found) for found in (of_name, whole(name)) if of_name}
        for of_name, name in zip(parts, table, strict=True)
    ]
    terms = list(dict.fromkeys(chain(*words, *names)))
    number = {term: place for place, term in enumerate(terms)}
    phrases = _Phrases(split_names, max(map(len, parts), default=1) or 1)
    counter = WordCounter(np.array(terms, dtype=object), phrases, binary=True)
    return _Named(counter, _table(words, number), _table(names, number), UserTexts.in_(history))


def _table(terms: Sequence[Iterable[str]], number: Mapping[str, int]) -> Vectors:
    """Return a CSR [n_items, n_terms] of ones: which terms each tool has."""
    pairs = {(tool, number[term]) for tool, of_tool in enumerate(terms) for term in of_tool}
    rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    shape = (len(terms), len(number))
    return sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
