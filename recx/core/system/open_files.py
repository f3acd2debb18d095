"""How many files the process may have open."""

from __future__ import annotations

from contextlib import suppress

ENOUGH = 1 << 16


def allow_many() -> None:
    """Raise the soft limit of open files, often 256 or 1,024, to as many as the process may allow itself.

    The default is low for programs that wait for files by ``select``, which numbers them up to 1,024.
    """
    with suppress(ImportError, ValueError, OSError):  # on Windows; or the system does not let it
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        enough = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
        if soft != resource.RLIM_INFINITY and soft < enough:
            resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
