"""The recall of an approximate search for the nearest items: counts in the notes of lists, and the figure made of them.

Notes that count requests add up over blocks of requests, and a union puts the name of the source before them.
"""

from __future__ import annotations

from collections.abc import Mapping

SHORT = "requests_searched_exactly"
"""Counts the requests for which the index proposed too few items that may be shown."""
SAMPLED = "requests_in_ann_recall"
"""Counts the requests whose lists were compared with exact ones."""
NEAREST = f"nearest_of_{SAMPLED}"
"""Counts the items of those exact lists."""
FOUND = f"found_of_{SAMPLED}"
"""Counts those of them that the search found."""


def ann_recalls(notes: Mapping[str, float]) -> dict[str, float]:
    """Return ``ann_recall``, and ``SOURCE_ann_recall`` of the sources of a union, from the notes of lists."""
    sources = {name.removesuffix(NEAREST): count for name, count in notes.items() if name.endswith(NEAREST) and count}
    return {f"{source}ann_recall": notes[source + FOUND] / count for source, count in sources.items()}
