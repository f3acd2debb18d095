"""The network of a cross-encoder: it reads two texts together and gives one score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder as Model

from recx.plugin import Array, Floats, InputError, Interactions, RankedLists, blocks, max_of_groups, texts_of, track
from recx_text.models import digest_of, loading, readable, scores_pairs, silent

PAIRS = 2_000  # pairs scored between two progress messages


@dataclass(frozen=True, eq=False)
class Network:
    """A cross-encoder of sentence-transformers with one score per pair, before any sigmoid.

    Attributes:
        model: The library's model, with its tokenizer.
    """

    model: Model

    @classmethod
    def of(cls, folder: Path, device: str, max_length: int | None) -> Network:
        """Return the reranker in a folder, which is loaded once for all lists of a run.

        Raises:
            InputError: The files cannot be loaded, or are not those of a reranker.
        """
        return _kept(folder, digest_of(folder), device, max_length)

    @classmethod
    def to_train(cls, folder: Path, device: str, max_length: int | None) -> tuple[Network, bool]:
        """Return the network in a folder, and whether it was given a new output.

        A sentence model, which has none for pairs, gets random weights there, from PyTorch's present random state.

        Raises:
            InputError: The files cannot be loaded, or are those of a model that gives several numbers per pair.
        """
        with loading(folder, "ranker"):
            new = not scores_pairs(folder)
            model = _load(folder, device, max_length, 1 if new else None)
        return cls(_with_one_score(model, folder)), new

    def scores(self, texts: Array, others: Array, batch_size: int) -> Floats:
        """Return how well each pair of texts [n] matches [n].

        Args:
            texts: The first text of each pair.
            others: The second.
            batch_size: The number of pairs per batch.
        """
        scores: Floats = np.empty(len(texts), dtype=np.float32)
        for start, stop in track(list(blocks(len(texts), PAIRS)), f"blocks of {PAIRS} pairs scored"):
            pairs = pairs_of(texts[start:stop], others[start:stop])
            scores[start:stop] = self.model.predict(pairs, batch_size=batch_size, show_progress_bar=False)
        return scores

    def ranked(self, candidates: RankedLists, history: Interactions, top: int | None, batch_size: int) -> RankedLists:
        """Return the candidates ordered by how well their texts match the user's.

        Args:
            candidates: The lists.
            history: The users and the items with their texts.
            top: The number of candidates of each list that are read, the others keep their order below; None: all.
            batch_size: The number of pairs per batch.

        Raises:
            InputError: The users or the items have no texts.
        """
        users, items = texts_of(history.users, "users"), texts_of(history.items, "items")
        read = candidates.rank <= (top or len(candidates))
        score: Floats = np.full(len(candidates), np.inf, dtype=np.float32)
        user = candidates.user[candidates.list_of_row[read]]
        score[read] = self.scores(users[user], items[candidates.item[read]], batch_size)
        lowest = np.repeat(-max_of_groups(-score, candidates.indptr), candidates.lengths)
        return candidates.reorder(np.where(read, score, lowest - candidates.rank))

    def save(self, folder: Path) -> None:
        """Write the weights as safetensors, and the library's files of settings and of the tokenizer, into a folder."""
        with silent():
            self.model.save_pretrained(str(folder), create_model_card=False)

    @classmethod
    def load(cls, folder: Path) -> Network:
        """Return the network that was saved into a folder, on the processor.

        Raises:
            InputError: A file is missing or damaged.
        """
        with loading(folder, "ranker"):
            model = _load(folder, "cpu", None, None)
        return cls(_with_one_score(model, folder))


def pairs_of(texts: Array, others: Array) -> list[tuple[str, str]]:
    """Return pairs of texts that tokenizers accept."""
    return list(zip(map(readable, texts), map(readable, others), strict=True))


@lru_cache(maxsize=1)
def _kept(folder: Path, digest: str, device: str, max_length: int | None) -> Network:
    """Load a reranker once; ``digest`` detects changed files."""
    with loading(folder, "ranker"):
        trained = scores_pairs(folder)
        model = _load(folder, device, max_length, None)
    if not trained:
        raise InputError(f"{_no_reranker(folder)} choose a cross-encoder, or train this one: ranker.epochs=2")
    return Network(_with_one_score(model, folder))


def _load(folder: Path, device: str, max_length: int | None, labels: int | None) -> Model:
    raw: Any = torch.nn.Identity()  # a sigmoid in float32 would create ties among the best
    model: Model = Model(
        str(folder),
        num_labels=labels,
        device=device,
        max_length=max_length,
        activation_fn=raw,
        local_files_only=True,
        model_kwargs={"use_safetensors": True},
    )
    return model


def _with_one_score(model: Model, folder: Path) -> Model:
    if model.num_labels != 1:
        raise InputError(f"{_no_reranker(folder)} choose a cross-encoder")
    return model


def _no_reranker(folder: Path) -> str:
    return f"ranker.model: the model in {folder} is not a reranker, which gives one score per pair of texts:"
