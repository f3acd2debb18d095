"""``ranker=cross_encoder``: scores how well the user's text and the item's match by reading them together."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from sentence_transformers import CrossEncoder as Model

from recx.plugin import (
    UNKNOWN_EVENTS,
    Array,
    Floats,
    InputError,
    Interactions,
    PositiveInt,
    RankedLists,
    Requests,
    blocks,
    checked,
    max_of_groups,
    read_text,
    texts_of,
    track,
    write_text,
)
from recx_text.models import (
    Device,
    depends_on,
    device_of,
    digest_of,
    folder_of,
    loading,
    readable,
    scores_pairs,
    unchanged,
)

FILE = "cross_encoder.json"
PAIRS = 2_000  # pairs scored between two progress messages


@dataclass(frozen=True)
@checked("ranker")
class CrossEncoder:
    """A cross-encoder of sentence-transformers (Nogueira and Cho 2019), used without further training.

    Attributes:
        model: A folder, or a name on the Hugging Face hub.
        top: Number of candidates of each list that it scores, the others keep their order below; None: all.
        max_length: Maximum number of tokens of a pair; None: the model's own maximum.
        batch_size: Number of pairs per batch.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto``: the first available of cuda, mps and cpu.
    """

    gives_probabilities: ClassVar[bool] = False
    """Its scores are those before a sigmoid."""

    model: str = "cross-encoder/ms-marco-MiniLM-L6-v2"
    top: PositiveInt | None = None
    max_length: PositiveInt | None = None
    batch_size: PositiveInt = 64
    device: Device = "auto"

    @property
    def depends_on(self) -> list[Path | str]:
        """The model's files and the processor (see ``recx.storage.cache.keys``)."""
        return depends_on(self.model, self.device, "ranker")

    @property
    def loaded(self) -> dict[str, str]:
        """What the protocol card says of the model (see ``recx.core.protocols.Loading``)."""
        return {"from": self.model, "seen": UNKNOWN_EVENTS}

    def for_users(self, history: Interactions) -> CrossEncoder:
        """Return the ranker itself: of the users who ask, it reads what it is given."""
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates ordered by how well their texts match the user's.

        Raises:
            InputError: The users or the items have no texts, the model or the device is not available, or the model is
                not a reranker.
        """
        users, items = texts_of(history.users, "users"), texts_of(history.items, "items")
        folder = folder_of(self.model, "ranker")
        model = _model(folder, digest_of(folder), device_of(self.device, "ranker"), self.max_length)
        read = candidates.rank <= (self.top or len(candidates))
        score: Floats = np.full(len(candidates), np.inf, dtype=np.float32)
        user = candidates.user[candidates.list_of_row[read]]
        score[read] = self._scores(model, users[user], items[candidates.item[read]])
        lowest = np.repeat(-max_of_groups(-score, candidates.indptr), candidates.lengths)
        return candidates.reorder(np.where(read, score, lowest - candidates.rank))

    def save(self, folder: Path) -> None:
        """Write the settings and the digest of the model's files."""
        about = {"settings": asdict(self), "digest": digest_of(folder_of(self.model, "ranker"))}
        write_text(folder / FILE, json.dumps(about))

    @classmethod
    def load(cls, folder: Path) -> CrossEncoder:
        """Return the ranker that was saved into a folder.

        Raises:
            InputError: The file is missing or damaged, or the model's files are not those of the run.
        """
        try:
            about = json.loads(read_text(folder / FILE))
            ranker, digest = cls(**about["settings"]), str(about["digest"])
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise InputError(
                f"{folder / FILE} is damaged ({type(error).__name__}): run the experiment again"
            ) from error
        unchanged(ranker.model, digest, "ranker")
        return ranker

    def _scores(self, model: Model, texts: Array, others: Array) -> Floats:
        """Return how well each pair of texts matches [n]: the network's output before any sigmoid."""
        scores: Floats = np.empty(len(texts), dtype=np.float32)
        for start, stop in track(list(blocks(len(texts), PAIRS)), f"blocks of {PAIRS} pairs scored"):
            pairs = list(zip(map(readable, texts[start:stop]), map(readable, others[start:stop]), strict=True))
            scores[start:stop] = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False)
        return scores


@lru_cache(maxsize=1)
def _model(folder: Path, digest: str, device: str, max_length: int | None) -> Model:
    """Load a model once for all lists of a run; ``digest`` detects changed files."""
    raw = torch.nn.Identity()  # a sigmoid in float32 would create ties among the best
    with loading(folder, "ranker"):
        trained = scores_pairs(folder)
        model: Model = Model(
            str(folder),
            device=device,
            max_length=max_length,
            activation_fn=raw,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    if not trained or model.num_labels != 1:
        raise InputError(
            f"ranker.model: the model in {folder} is not a reranker, which gives one score per pair of texts: choose "
            "a cross-encoder"
        )
    return model
