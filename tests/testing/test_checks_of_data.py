"""The checks of datasets, splits and encoders catch a part that breaks its promise, and pass those that keep it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from recx.core.entities import Entities
from recx.core.protocols import Encoder, FoldName
from recx.core.types import Array, Interactions, Split, Vectors
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.news import News
from recx.parts.dataset.sequences import Sequences
from recx.parts.dataset.table import Table
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.split.by_user import ByUser
from recx.parts.split.folds import make_fold
from recx.parts.split.leave_last import LeaveLast
from recx.testing import check_dataset, check_encoder, check_splitter, tiny_world


@dataclass(frozen=True)
class Overlapping:
    """Leaves the targets in the history."""

    def split(self, interactions: Interactions, fold: Any) -> Split:
        split = LeaveLast().split(interactions, fold)
        if fold == "predict":
            return split
        everything = np.ones(len(interactions), dtype=bool)
        last = np.isin(np.arange(len(interactions)), interactions.indptr[1:] - 1)
        return Split(None, make_fold(interactions, everything, last, "target"))


@dataclass(frozen=True)
class Swapped:
    """Names the folds the wrong way round."""

    def split(self, interactions: Interactions, fold: Any) -> Split:
        return LeaveLast().split(interactions, {"test": "valid", "valid": "test"}.get(fold, fold))


def test_a_split_that_knows_its_targets_is_caught() -> None:
    with pytest.raises(AssertionError, match="no event may be in both history and target"):
        check_splitter(Overlapping())


def test_a_split_whose_valid_fold_comes_last_is_caught() -> None:
    with pytest.raises(AssertionError, match="fold=valid must be a step before fold=test"):
        check_splitter(Swapped())


@dataclass(frozen=True)
class Loads:
    worlds: list[Interactions] = field(default_factory=lambda: [tiny_world(slates=True)])

    def load(self) -> Interactions:
        self.worlds.append(self.worlds.pop(0))
        return self.worlds[-1]


def test_a_dataset_must_load_the_same_twice_and_events_in_order() -> None:
    check_dataset(Loads())
    with pytest.raises(AssertionError, match="loading twice must give the same"):
        check_dataset(Loads([tiny_world(), replace(tiny_world(), weight=tiny_world().weight * 2)]))
    world = tiny_world()
    assert world.time is not None
    with pytest.raises(AssertionError, match="oldest first"):
        check_dataset(Loads([replace(world, time=world.time[::-1].copy())]))


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (lambda world: {"indptr": world.indptr[::-1] * 1}, "indptr must fit the users and events"),
        (lambda world: {"weight": world.weight * np.nan}, "weights must be finite"),
        (lambda world: {"weight": world.weight[1:]}, "one weight per event"),
        (lambda world: {"item": world.item + 15}, "must be one of the items"),
        (lambda world: {"users": Entities(np.repeat(world.users.ids[:1], 30))}, "user ids must be unique"),
        (lambda world: {"items": Entities(np.zeros(20))}, "item ids must be unique"),
        (lambda world: {"items": Entities(world.items.ids, {"category": np.zeros(19)})}, "one value for each"),
        (lambda world: {"time": world.time / 2}, "must be int64 milliseconds"),
    ],
)
def test_a_dataset_that_breaks_its_contract_is_caught(
    change: Callable[[Interactions], dict[str, Any]], promise: str
) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_dataset(Loads([replace(tiny_world(), **change(tiny_world()))]))


def test_built_in_datasets_keep_their_contract(tmp_path: Path) -> None:
    """Those of tools, agents and judged documents have tests of their own."""
    check_dataset(News(readers=60, articles=40, days=2))
    (tmp_path / "clicks.csv").write_text("user,item\nb,1\na,2\nb,2\n", encoding="utf-8")
    check_dataset(Table(str(tmp_path / "clicks.csv")))
    (tmp_path / "u.data").write_text("2\t5\t3\t881250949\n1\t5\t4\t881250900\n", encoding="utf-8")
    check_dataset(MovieLens(str(tmp_path / "u.data")))
    (tmp_path / "beauty.txt").write_text("1 3 2\n2 1 3 2\n", encoding="utf-8")
    check_dataset(Sequences(str(tmp_path / "beauty.txt")))


@pytest.mark.parametrize(
    "encoder", [Tfidf(), Tfidf(analyzer="char_wb", longest=3), Tfidf(hashed=64), Tfidf(longest=2, factors=3)]
)
def test_a_built_in_encoder_keeps_its_contract(encoder: Encoder) -> None:
    check_encoder(encoder)


@dataclass(frozen=True)
class ChangedEncoder:
    """The lengths of texts as vectors, changed before they are returned."""

    change: Callable[[Any], Vectors] | None = None
    dense: bool = True

    def fit(self, texts: Array) -> ChangedEncoder:
        return self

    def encode(self, texts: Array) -> Vectors:
        angle = np.array([len(text) for text in texts], dtype=np.float32)
        vectors = np.column_stack([np.cos(angle), np.sin(angle)])
        if self.change is not None:
            return self.change(vectors)
        return vectors if self.dense else sparse.csr_array(vectors)


calls = count()


def test_the_unchanged_vectors_pass() -> None:
    check_encoder(ChangedEncoder())
    check_encoder(ChangedEncoder(dense=False))


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (lambda vectors: vectors[1:], "one vector per text"),
        (lambda vectors: vectors[:, 0], "one vector per text"),
        (lambda vectors: vectors.astype(np.float64), "must return float32"),
        (lambda vectors: vectors * np.float32("nan"), "must return finite vectors"),
        (lambda vectors: vectors * np.float32(2), "must have length 1, or be 0"),
        (lambda vectors: np.roll(vectors, len(vectors), axis=1), "must not depend on the other texts"),
        (lambda vectors: vectors * np.float32(-1 if next(calls) % 2 else 1), "must return the same twice"),
        (lambda vectors: np.pad(vectors, ((0, 0), (0, len(vectors) == 1))), "vectors of the same width"),
    ],
)
def test_an_encoder_that_breaks_its_contract_is_caught(change: Callable[[Any], Vectors], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_encoder(ChangedEncoder(change))


def test_context_of_held_out_events_must_be_unknown() -> None:
    @dataclass(frozen=True)
    class Careless:
        """Keeps what is known of the users whose events it holds out."""

        def split(self, interactions: Interactions, fold: FoldName) -> Split:
            made = ByUser().split(interactions, fold)
            return replace(made, fold=replace(made.fold, history=replace(made.fold.history, users=interactions.users)))

    with pytest.raises(AssertionError, match="context of users whose events are held out must be unknown"):
        check_splitter(Careless())


def test_context_must_be_a_column() -> None:
    @dataclass(frozen=True)
    class Nameless:
        def load(self) -> Interactions:
            world = tiny_world()
            return replace(world, users=replace(world.users, context=("device",)))

    with pytest.raises(AssertionError, match="context of users must be columns"):
        check_dataset(Nameless())
