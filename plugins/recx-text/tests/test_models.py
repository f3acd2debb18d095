"""Models are found by folder or name and distinguished by content; unusable ones are reported in one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from recx_text.encoder import SentenceTransformer
from recx_text.models import device_of, digest_of, dtype_on, folder_of
from recx_text.ranker import CrossEncoder

from recx.plugin import InputError


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty folder of the hub's local cache; the hub itself is unreachable."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def test_a_folder_is_itself(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_of(str(pairs), "encoder") == pairs
    monkeypatch.setenv("HOME", str(pairs.parent))
    assert folder_of(f"~/{pairs.name}", "encoder") == pairs


def test_a_name_is_found_in_the_hubs_local_cache(hub: Path, pairs: Path) -> None:
    repository = hub / "models--somebody--reader"
    snapshot = repository / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(pairs, snapshot)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(snapshot.name)
    assert folder_of("somebody/reader", "ranker") == snapshot


@pytest.mark.parametrize("name", ["nobody/nothing", "no such folder/at all", ""])
def test_what_is_nowhere_is_reported(hub: Path, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"^encoder.model={name}: it is not a folder, and no model of that name"):
        folder_of(name, "encoder")


def test_a_model_that_was_trained_further_is_another(pairs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pairs, copy)
    assert digest_of(copy) == digest_of(pairs)
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert digest_of(copy) != digest_of(pairs)


def test_damaged_weights_are_reported(pairs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pairs, copy)
    (copy / "model.safetensors").write_bytes(b"no weights")
    fitted = SentenceTransformer(str(copy), device="cpu").fit(np.array([]))
    with pytest.raises(InputError, match=r"^encoder.model: the files in .* cannot be loaded"):
        fitted.encode(np.array(["a"]))


def test_pickled_weights_are_refused(pairs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pairs, copy)
    (copy / "model.safetensors").unlink()
    torch.save({}, copy / "pytorch_model.bin")
    fitted = SentenceTransformer(str(copy), device="cpu").fit(np.array([]))
    with pytest.raises(InputError, match="give a model of sentence-transformers with its weights as safetensors"):
        fitted.encode(np.array(["a"]))


def test_a_device_that_is_not_there_is_reported(pairs: Path) -> None:
    missing = "cuda" if not torch.cuda.is_available() else "mps"
    with pytest.raises(InputError, match=f"encoder.device={missing}: it is not available on this machine"):
        SentenceTransformer(str(pairs), device=missing).fit(np.array([]))
    assert device_of("auto", "ranker") in ("cpu", "cuda", "mps")
    assert CrossEncoder(str(pairs)).device == "auto"


def test_products_are_halved_in_precision_where_asked_for() -> None:
    assert dtype_on("cpu", "auto") == dtype_on("cuda", "float32") == torch.float32
    assert dtype_on("cpu", "bfloat16") == torch.bfloat16
