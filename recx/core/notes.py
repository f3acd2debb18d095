"""The notes of lists: counts, for the protocol card, of what was dropped, repaired or odd."""

from __future__ import annotations

from collections.abc import Mapping


def merged(notes: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """Return the notes of two blocks of lists as those of one.

    Counts of requests or values, which have one of these words in their name, are added. Others, such as counts of
    items, are the same for every block: the last is kept.
    """
    added = {name: notes[name] + more[name] for name in notes.keys() & more if "requests" in name or "values" in name}
    return {**notes, **more, **added}
