"""The notes of lists: counts, for the protocol card, of what was dropped, repaired or odd."""

from __future__ import annotations

from collections.abc import Mapping

from recx.core.errors import RecxError

MADE_UP = "made_up_data"
"""The note of a dataset that makes its data up, which console, page, protocol card and tracker then say."""

KEPT_WITHOUT_CLICK = "impressions_kept_without_click"
"""The note of a dataset that keeps the impressions without a click, which otherwise are no requests."""


def merged(notes: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """Return the notes of two blocks of lists as those of one.

    Counts of requests or values, which have one of these words in their name, are added. Others, such as counts of
    items, are the same for every block.

    Raises:
        RecxError: Another count differs between the blocks.
    """
    both = notes.keys() & more
    added = {name: notes[name] + more[name] for name in both if "requests" in name or "values" in name}
    for name in sorted(both - added.keys()):
        if notes[name] != more[name]:
            raise RecxError(
                f"the note {name!r} of lists is {notes[name]:g} for some requests and {more[name]:g} for others: put "
                "'requests' or 'values' into the name of a count that adds up over requests, or count it in the fit"
            )
    return {**notes, **more, **added}
