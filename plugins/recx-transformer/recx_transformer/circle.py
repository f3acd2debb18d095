"""Test data in which every user walks through the items in a circle, and networks that learn it in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from recx.plugin import Entities, Interactions
from recx_transformer.retriever import BERT4Rec, Transformer

SMALL: dict[str, Any] = {
    **{"factors": 32, "dropout": 0.1, "epochs": 12, "batch_size": 256, "learning_rate": 5e-3, "warmup": 10},
    **{"negatives": 16, "validation_users": 50},
}


def circle(users: int = 200, events: int = 10, items: int = 20) -> Interactions:
    """Return users who start at a random item and move on to the next one each time."""
    start = np.random.default_rng(0).integers(0, items, users)
    item = ((start[:, None] + np.arange(events)) % items).astype(np.int32).ravel()
    return Interactions(
        indptr=np.arange(users + 1) * events,
        item=item,
        time=None,
        weight=np.ones(len(item), dtype=np.float32),
        users=Entities(np.arange(users)),
        items=Entities(np.arange(items)),
    )


def small(**settings: Any) -> Transformer:
    """Return a network that learns the circle."""
    return Transformer(**{**SMALL, **settings})


def small_bert(**settings: Any) -> BERT4Rec:
    """Return a network of masked items that learns the circle."""
    return BERT4Rec(**{**SMALL, "mask_prob": 0.25, **settings})
