"""Says what is too large for this machine before work on it begins."""

from __future__ import annotations

from recx.core.errors import InputError
from recx.core.progress import say
from recx.core.system.memory import MIB, available
from recx.core.system.sizes import readable

AN_EVENT = 80
"""Bytes of memory that an event takes at the peak of loading it from a table with times (measured on 100 million)."""
OF_TEXT = 4
"""Bytes of memory for each byte of a text that is read whole; an event has 20 bytes or more."""
OF_PLAIN_TEXT = 2
"""Bytes of memory for each byte of a text that is read in blocks (measured: 1.2 if ids are numbers, 3 if texts)."""


def say_if_short_of_memory(what: str, needed: float) -> None:
    """Print a line if something needs more memory than this process may still take.

    Args:
        what: What needs it.
        needed: An estimate in bytes.
    """
    free = available() * MIB
    if needed > free:
        say(
            f"  {what} needs about {readable(needed)} of memory, and {readable(free)} are free: give fewer rows, end "
            "other programs, or use a machine with more"
        )


def check_room(what: str, needed: float, way_out: str) -> None:
    """Refuse what this process cannot hold, before it is made.

    Args:
        what: What needs the memory, the subject of the error.
        needed: A lower bound in bytes.
        way_out: What to do instead.

    Raises:
        InputError: More memory is needed than this process may still take.
    """
    free = available() * MIB
    if needed > free:
        raise InputError(
            f"{what} needs at least {readable(needed)} of memory, and {readable(free)} are free: {way_out}"
        )
