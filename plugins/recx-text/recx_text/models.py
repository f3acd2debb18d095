"""Files of models: where they are, the digest of their content, and how they are loaded; and the device."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from recx.plugin import InputError

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16"]
OTHER_FORMATS = ["*.bin", "*.h5", "*.ot", "*.msgpack", "*.onnx", "*.tflite", "onnx/*", "openvino/*"]
"""Files that are not downloaded: the same weights for other libraries, and pickles."""
SCORING = ("ForSequenceClassification", "ForCausalLM")
"""Suffixes of the names of networks that score a text or a pair of texts."""


def folder_of(model: str, stage: str) -> Path:
    """Return the folder of a model's files: the given folder, or that of the Hugging Face hub's model of that name.

    Models in the hub's local cache are not downloaded again.

    Args:
        model: A folder, or a name on the hub.
        stage: The kind of part, for errors.

    Raises:
        InputError: There is no such folder, and the hub has no such model or cannot be reached.
    """
    named = Path(model).expanduser()
    if model and named.is_dir():
        return named
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        try:
            return Path(snapshot_download(model, local_files_only=True))
        except LocalEntryNotFoundError:
            return Path(snapshot_download(model, ignore_patterns=OTHER_FORMATS))
    except Exception as error:  # the hub's client and its transport raise many types
        raise InputError(
            f"{stage}.model={model}: it is not a folder, and no model of that name is in the local cache or can be "
            f"downloaded ({type(error).__name__}): give a folder with the model's files"
        ) from error


def digest_of(folder: Path) -> str:
    """Return a digest of the content of a model's files, which changes if the model is trained further."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(file.relative_to(folder).as_posix().encode())
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "blake2b").digest())
    return digest.hexdigest()


def unchanged(model: str, digest: str, stage: str) -> Path:
    """Return the folder of a model's files, which are still those of a digest.

    Args:
        model: A folder, or a name on the hub.
        digest: What ``digest_of`` returned for them.
        stage: The kind of part, for errors.

    Raises:
        InputError: There is no such model, or its files have changed.
    """
    folder = folder_of(model, stage)
    if digest_of(folder) != digest:
        raise InputError(
            f"{stage}.model={model}: the files in {folder} are not those of the run that kept this part: restore them, "
            "or run the experiment again"
        )
    return folder


def device_of(name: str, stage: str) -> str:
    """Return the device with this name; ``auto``: the first available of cuda, mps and cpu.

    Raises:
        InputError: The device is not available.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return next(kind for kind, found in there.items() if found)
    if not there[name]:
        raise InputError(
            f"{stage}.device={name}: it is not available on this machine or in this PyTorch: choose auto or cpu"
        )
    return name


def scores_pairs(folder: Path) -> bool:
    """Return whether a model was trained to score texts; the library gives any other one random weights for that."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return any(str(name).endswith(SCORING) for name in config.get("architectures") or ())


def depends_on(model: str, device: str, stage: str) -> list[Path | str]:
    """Return what a model's numbers depend on besides the settings: its files, and the processor in use.

    Raises:
        InputError: The model or the device is not available.
    """
    found = device_of(device, stage)
    return [folder_of(model, stage), torch.cuda.get_device_name() if found == "cuda" else found]


def readable(text: object) -> str:
    """Return the text with a question mark for each half of a character (surrogate), which tokenizers reject."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


@contextmanager
def loading(folder: Path, stage: str) -> Iterator[None]:
    """Turn any error while a model's files are read into an InputError, and silence the libraries."""
    try:
        with silent():
            yield
    except Exception as error:  # the libraries that read them raise many types
        said = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"{stage}.model: the files in {folder} cannot be loaded ({type(error).__name__}: {said}): "
            "give a model of sentence-transformers with its weights as safetensors"
        ) from error


@contextmanager
def silent() -> Iterator[None]:
    """Show no progress bars and warnings of the libraries that read and write models."""
    from transformers import utils

    of_transformers: Any = utils.logging
    of_sentences = logging.getLogger("sentence_transformers")
    shown, verbosity = of_transformers.is_progress_bar_enabled(), of_transformers.get_verbosity()
    level = of_sentences.level
    of_transformers.disable_progress_bar()
    of_transformers.set_verbosity_error()
    of_sentences.setLevel(logging.ERROR)
    try:
        yield
    finally:
        of_sentences.setLevel(level)
        of_transformers.set_verbosity(verbosity)
        if shown:
            of_transformers.enable_progress_bar()


def dtype_on(device: str, precision: str) -> torch.dtype:
    """Return the type of products in training; ``auto``: bfloat16 on a GPU that has it, else float32.

    On a processor, small models are slower in bfloat16, even where it has instructions for it.
    """
    if precision == "auto":
        precision = "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32
