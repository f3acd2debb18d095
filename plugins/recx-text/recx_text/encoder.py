"""``encoder=sentence_transformer``: texts as vectors, by a model that was trained on sentences."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from sentence_transformers import SentenceTransformer as Model

from recx.plugin import Array, Floats, PositiveInt, blocks, check, track, unit
from recx_text.cache import Cache, keys_of
from recx_text.models import Device, depends_on, device_of, digest_of, folder_of, loading, readable

TEXTS = 2_000  # encoded before their vectors are kept


@dataclass(frozen=True)
class SentenceTransformer:
    """A model of sentence-transformers (Reimers and Gurevych 2019).

    model: a folder, or a name on the Hugging Face hub. max_length: tokens of a text that count; None: as many as the
    model says. batch_size: texts at once. device: ``auto``: the first there is of cuda, mps and cpu. cache: folder that
    keeps every text's vector; None: none.
    """

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    max_length: PositiveInt | None = None
    batch_size: PositiveInt = 64
    device: Device = "auto"
    cache: str | None = None
    written: ClassVar = ("cache",)  # what lies there changes no outcome (see ``recx.storage.cache.keys``)

    def __post_init__(self) -> None:
        check(self, "encoder")

    @property
    def depends_on(self) -> list[Path | str]:
        """The model's files and the processor (see ``recx.storage.cache.keys``)."""
        return depends_on(self.model, self.device, "encoder")

    def fit(self, texts: Array) -> FittedSentenceTransformer:
        """Find the model; it learns nothing from these texts.

        Raises:
            InputError: there is no such model or device.
        """
        folder = folder_of(self.model, "encoder")
        return FittedSentenceTransformer(self, folder, digest_of(folder), device_of(self.device, "encoder"))


@dataclass(frozen=True, eq=False)
class FittedSentenceTransformer:
    """folder: of the model's files. digest: of their content. device: where it computes."""

    settings: SentenceTransformer
    folder: Path
    digest: str
    device: str

    def encode(self, texts: Array) -> Floats:
        """Return a vector a text [n, d]; equal texts have the very same one, a blank text has 0.

        The model is loaded only where a text is not in the cache. Which texts are encoded together changes a vector by
        rounding (1e-6).

        Raises:
            InputError: the model's files cannot be loaded, or the cache is damaged.
        """
        words = [*map(readable, texts), ""]  # the last one tells how long vectors are, where there is no other
        keys, first, place = np.unique(keys_of(words), return_index=True, return_inverse=True)
        known, kept = self._cache.find(keys) if self._cache else (np.zeros(len(keys), dtype=bool), np.zeros((0, 0)))
        missing = np.flatnonzero(~known)
        made = [
            self._made(keys[missing[start:stop]], [words[row] for row in first[missing[start:stop]]])
            for start, stop in track(list(blocks(len(missing), TEXTS)), f"blocks of {TEXTS} texts encoded")
        ]
        found = np.concatenate([part for part in (kept, *made) if len(part)])
        vectors: Floats = np.empty(found.shape, dtype=np.float32)
        vectors[np.concatenate([np.flatnonzero(known), missing])] = found
        vectors[[not words[row].strip() for row in first]] = 0
        return vectors[place[:-1]]

    def _made(self, keys: Array, texts: list[str]) -> Floats:
        settings = self.settings
        model = _model(self.folder, self.digest, self.device, settings.max_length)
        made = model.encode(texts, batch_size=settings.batch_size, show_progress_bar=False, convert_to_numpy=True)
        vectors = unit(np.asarray(made, dtype=np.float32))
        if self._cache:
            self._cache.keep(keys, vectors)
        return vectors

    @cached_property
    def _cache(self) -> Cache | None:
        """The folder of what the vectors depend on: the model's files and the length."""
        if self.settings.cache is None:
            return None
        of = hashlib.blake2b(f"{self.digest} {self.settings.max_length}".encode(), digest_size=16).hexdigest()
        return Cache(Path(self.settings.cache) / of)


@lru_cache(maxsize=1)
def _model(folder: Path, digest: str, device: str, max_length: int | None) -> Model:
    """Load a model once for all histories of a run; ``digest`` tells when its files are others."""
    with loading(folder, "encoder"):
        model = Model(str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True})
    if max_length is not None:
        model.max_seq_length = min(max_length, model.max_seq_length or max_length)
    return model
