"""The requests of a fold in blocks of a fixed number: each is retrieved and ranked without any other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import partial

from recx.core.contracts import check_made, check_names_of_columns, check_same_pairs
from recx.core.mapped import folder
from recx.core.progress import Stages, bar, say
from recx.core.protocols import Engine, FittedRanker, FittedRetriever
from recx.core.ragged import blocks
from recx.core.stored_lists import StoredLists
from recx.core.system.open_files import allow_many
from recx.core.system.sizes import readable
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.allowed import retrieved
from recx.storage.cache import keys
from recx.storage.cache.full_disk import with_room

REQUESTS = 1 << 15
"""Requests in a block. Memory follows it, and near ties in products of matrices may: the protocol card names it."""


@dataclass(frozen=True, eq=False)
class Served:
    """What was made of a block of requests.

    Attributes:
        lists: The candidates and, if they were ranked, the recommendations.
        stages: The time of each stage.
    """

    lists: tuple[RankedLists, ...]
    stages: Stages


@dataclass(frozen=True, eq=False)
class Serving:
    """Serves blocks of requests; it has all that this needs, so that it can do so in another process.

    Attributes:
        retriever: Finds the candidates.
        ranker: Orders them; None: they are not ranked.
        history: What is known at the requests.
        k: How many candidates a request may have.
        of: What distinguishes the fold (see ``Stages``).
    """

    retriever: FittedRetriever
    ranker: FittedRanker | None
    history: Interactions
    k: int
    of: str = ""

    def __call__(self, requests: Requests) -> Served:
        """Serve a block of requests.

        Raises:
            InputError: The data or the settings cannot be used.
            RecxError: A part violated its protocol.
        """
        stages = Stages(aloud=False)
        return Served(self.lists(requests, partial(stages, of=self.of)), stages)

    def lists(
        self, requests: Requests, stage: Callable[[str], AbstractContextManager[object]] = nullcontext
    ) -> tuple[RankedLists, ...]:
        """Return the candidates of a block and, where there is a ranker, the recommendations.

        Args:
            requests: The requests.
            stage: Returns the context of each stage.
        """
        n_items = self.history.n_items
        with stage("retrieve"):
            candidates = retrieved(self.retriever, self.history, requests, min(self.k, n_items), "the retriever")
            check_names_of_columns(candidates, "the retriever")
        if self.ranker is None:
            return (candidates,)
        with stage("rank"):
            recommendations = self.ranker.rank(candidates, self.history, requests)
            if recommendations is not candidates:
                check_made(recommendations, requests, n_items, "the ranker")
                check_same_pairs(candidates, recommendations)
        return candidates, recommendations


def serve(
    engine: Engine, serving: Serving, requests: Requests, stage: Stages, at_once: int | None = None
) -> tuple[RankedLists, ...]:
    """Return the candidates of all requests and, where there is a ranker, the recommendations.

    The rows of more than one block are kept in temporary files (see ``recx.core.mapped``).

    Args:
        engine: Where the blocks are served.
        serving: Serves a block.
        requests: All requests.
        stage: Adds up the time of each stage.
        at_once: How many requests are a block; None: ``REQUESTS``.
    """
    size = at_once or REQUESTS
    borders = list(blocks(len(requests), size)) or [(0, 0)]
    each = engine.each(serving, (requests[start:stop] for start, stop in borders))
    if len(borders) == 1:
        [whole] = each
        stage.add(whole.stages, serving.of)
        return whole.lists
    stages, stored = Stages(aloud=False), list[StoredLists]()
    keys_of_blocks: list[list[str | None]] = []
    with bar() as show, closing(each) as served:
        for done, block in enumerate(served, start=1):
            stages.add(block.stages)
            stored = stored or _stores(block, len(borders))
            for store, lists in zip(stored, block.lists, strict=True):
                with_room(folder(), partial(store.add, lists))
            keys_of_blocks.append([keys.key_of(lists) if keys.is_known(lists) else None for lists in block.lists])
            show(done / len(borders), f"{done} of {len(borders)} blocks of {size:,} requests")
    stage.add(stages, serving.of)
    made = tuple(store.lists() for store in stored)
    for lists, known in zip(made, zip(*keys_of_blocks, strict=True), strict=True):
        if None not in known:  # or the stage cache would read all rows for the key of the evaluation
            keys.know(lists, keys.key_of(*known))
    return made


def _stores(first: Served, n_blocks: int) -> list[StoredLists]:
    """Return a store for each kind of lists; say so if the disk is too small for blocks like the first."""
    allow_many()  # a slate may have hundreds of columns, of which each is two open files
    needed = n_blocks * sum(_size(lists) for lists in first.lists)
    free = shutil.disk_usage(folder()).free
    if needed > free:
        say(
            f"  the lists need about {readable(needed)} in {folder()}, where {readable(free)} are free: lower "
            "n_candidates, set split.max_users, or run on another disk"
        )
    return [StoredLists() for _ in first.lists]


def _size(lists: RankedLists) -> int:
    """Return the bytes of the rows of lists."""
    return sum(column.nbytes for column in (lists.item, lists.score, *lists.columns.values()))
