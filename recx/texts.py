"""Texts of users and items as vectors: what retrievers, features and rankers share.

Vectors are float32 [n, d] with rows of length 1, or 0 where there is no text: a NumPy array, or a SciPy CSR array where
most numbers are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.clicks import once_per_input
from recx.errors import InputError
from recx.protocols import Encoder
from recx.ragged import blocks
from recx.types import Array, Entities, Floats, Interactions, Longs, Vectors

ROWS = 50_000  # pairs whose vectors lie in memory at once


@dataclass(frozen=True, eq=False)
class Encoded:
    """users: [n_users, d]. items: [n_items, d]. Their product is the cosine."""

    users: Vectors
    items: Vectors


@once_per_input
def encoded(history: Interactions, encoder: Encoder) -> Encoded:
    """Return the texts of all users and items as vectors, by an encoder fitted on what is known.

    It learns from the items' texts and from those of the users with events in the history, so that who else asks
    changes nothing.

    Raises:
        InputError: the users or the items have no texts.
    """
    users, items = texts_of(history.users, "users"), texts_of(history.items, "items")
    fitted = encoder.fit(np.concatenate([items, users[history.lengths > 0]]))
    return Encoded(fitted.encode(users), fitted.encode(items))


def texts_of(entities: Entities, whose: str) -> Array:
    """Return each one's text [n], strings of any length."""
    if "text" not in entities.table:
        raise InputError(f"the {whose} of this dataset have no text, which this part compares: choose another part")
    return np.asarray(entities.table["text"], dtype=object)


def products(users: Vectors, items: Vectors) -> Floats:
    """Return the products of every row with every other [n, m], dense."""
    found = users @ items.T
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float32)


def products_of_pairs(users: Vectors, user: Longs, items: Vectors, item: Longs) -> Floats:
    """Return the product of row ``user[i]`` and row ``item[i]`` for each pair [n]."""
    found = np.empty(len(user), dtype=np.float32)
    for start, stop in blocks(len(user), ROWS):
        one, other = users[user[start:stop]], items[item[start:stop]]
        if isinstance(one, np.ndarray):
            found[start:stop] = np.einsum("nd,nd->n", one, other)
        else:
            found[start:stop] = np.asarray(one.multiply(other).sum(axis=1)).ravel()
    return found
