"""``encoder=sentence_transformer``: texts as vectors, by a model trained on sentences."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from sentence_transformers import SentenceTransformer as Model

from recx.plugin import UNKNOWN_EVENTS, Array, Floats, PositiveInt, blocks, checked, track, unit
from recx_text.cache import Cache, keys_of
from recx_text.models import Device, depends_on, device_of, digest_of, folder_of, loading, readable, unchanged

TEXTS = 2_000  # texts encoded before their vectors are cached


@dataclass(frozen=True)
@checked("encoder")
class SentenceTransformer:
    """A model of sentence-transformers (Reimers and Gurevych 2019).

    Attributes:
        model: A folder, or a name on the Hugging Face hub.
        max_length: Maximum number of tokens of a text; None: the model's own maximum.
        batch_size: Number of texts per batch.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto``: the first available of cuda, mps and cpu.
        cache: Folder of the cached vectors; None: no cache.
    """

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    max_length: PositiveInt | None = None
    batch_size: PositiveInt = 64
    device: Device = "auto"
    cache: str | None = None
    written: ClassVar = ("cache",)  # its content changes no result (see ``recx.storage.cache.keys``)

    @property
    def depends_on(self) -> list[Path | str]:
        """The model's files and the processor (see ``recx.storage.cache.keys``)."""
        return depends_on(self.model, self.device, "encoder")

    @property
    def loaded(self) -> dict[str, str]:
        """What the protocol card says of the model (see ``recx.core.protocols.Loading``)."""
        return {"from": self.model, "seen": UNKNOWN_EVENTS}

    def fit(self, texts: Array) -> FittedSentenceTransformer:
        """Find the model; nothing is learned from the texts.

        Raises:
            InputError: The model or the device is not available.
        """
        fitted = FittedSentenceTransformer(self, digest_of(folder_of(self.model, "encoder")))
        fitted.device  # noqa: B018 (reported now)
        return fitted


@dataclass(frozen=True, eq=False)
class FittedSentenceTransformer:
    """An encoder with its model.

    Attributes:
        settings: The settings.
        digest: The digest of the model's files.
    """

    settings: SentenceTransformer
    digest: str

    @cached_property
    def folder(self) -> Path:
        """The folder of the model's files.

        Raises:
            InputError: There is none, or its files are not those of the fit.
        """
        return unchanged(self.settings.model, self.digest, "encoder")

    @cached_property
    def device(self) -> str:
        """The device that it runs on."""
        return device_of(self.settings.device, "encoder")

    def encode(self, texts: Array) -> Floats:
        """Return one unit vector per text [n, d]; equal texts get identical vectors, a blank text gets 0.

        The model is loaded only if a text is not in the cache. Vectors differ by rounding (1e-6) with the texts that
        share a batch.

        Args:
            texts: The texts [n].

        Raises:
            InputError: The model's files cannot be loaded, or the cache is damaged.
        """
        words = [*map(readable, texts), ""]  # the last one gives the length of vectors if there is no other
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
        """The cache for what the vectors depend on: the model's files and the maximum length."""
        if self.settings.cache is None:
            return None
        of = hashlib.blake2b(f"{self.digest} {self.settings.max_length}".encode(), digest_size=16).hexdigest()
        return Cache(Path(self.settings.cache) / of)


@lru_cache(maxsize=1)
def _model(folder: Path, digest: str, device: str, max_length: int | None) -> Model:
    """Load a model once for all histories of a run; ``digest`` detects changed files."""
    with loading(folder, "encoder"):
        model = Model(str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True})
    if max_length is not None:
        model.max_seq_length = min(max_length, model.max_seq_length or max_length)
    return model
