"""What happens to the blocks of requests in a worker of Ray, and what is sent to it once."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from recx.core.errors import InputError
from recx.core.project import current
from recx.core.system.threads import limited_to
from recx.core.types import Requests
from recx.experiment.engine.cluster import first_line
from recx.storage.cache.code_version import NoKeyError, version_of
from recx.storage.cache.keys import parts_of

MODULE, DATA = "recx.experiment.engine.worker", "recx.core."


@dataclass(frozen=True)
class Sent:
    """What serves blocks, in Ray's memory, from where each machine fetches it once.

    Attributes:
        place: Its place there.
        modules: The modules of its parts.
        version: The version of their code on the machine that sent it; None: unknown.
        roots: The folders of the person's own code, for ``sys.path``.
    """

    place: Any
    modules: tuple[str, ...]
    version: str | None
    roots: tuple[str, ...]


def send(work: Callable[[Requests], Any]) -> Sent:
    """Put what serves blocks into Ray's memory.

    Raises:
        InputError: It cannot be pickled.
    """
    import ray

    try:
        place = ray.put(work)
    except (TypeError, AttributeError, ImportError, RecursionError) as error:
        what, why = _culprit(work)
        raise InputError(
            f"engine=ray: {what} cannot be sent to other processes ({why}): choose engine=local, or give its class a "
            "__getstate__ that leaves out what cannot be pickled"
        ) from error
    modules = _modules(ray.get(place))  # as workers see it: without the stage cache
    roots = tuple(path for path in sys.path if path in map(str, current().roots))
    return Sent(place, modules, _version(modules), roots)


def _culprit(work: Any) -> tuple[str, str]:
    """Name the first field that cannot be sent, and say why."""
    from ray import cloudpickle

    dumps: Any = cloudpickle.dumps
    for field in fields(work):
        value = getattr(work, field.name)
        try:
            dumps(value)
        except Exception as error:
            return f"the {field.name} ({type(value).__name__})", first_line(error)
    return "what serves the requests", f"a {type(work).__name__}"


def _modules(work: Any) -> tuple[str, ...]:
    """Return the modules of what serves blocks, and of the parts in it; data have none of their own.

    What a notebook or a script defines, in ``__main__``, is sent with its code.
    """
    values = [getattr(work, field.name) for field in fields(work)]
    parts = [inner for value in values if not type(value).__module__.startswith(DATA) for inner in parts_of(value)]
    modules = {MODULE, type(work).__module__, *(type(part).__module__ for part in parts)}
    return tuple(sorted(modules - {"__main__", "builtins"}))


def _version(modules: tuple[str, ...]) -> str | None:
    try:
        return version_of(modules)
    except NoKeyError:
        return None


def served(sent: Sent, threads: int, block: Requests) -> Any:
    """Serve a block in a worker, with this number of threads."""
    with limited_to(threads):
        return _fetched(sent)(block)


_kept: dict[str, Any] = {}
"""What a worker serves blocks with, by its place in Ray's memory; its parts remember what they made of the history."""


def _fetched(sent: Sent) -> Any:
    """Return what serves blocks; its arrays stay in the memory that the workers of a machine share.

    Raises:
        InputError: It cannot be loaded here, or its code is not the same.
    """
    import ray

    name = sent.place.hex()
    if name not in _kept:
        _kept.clear()
        sys.path.extend(path for path in sent.roots if path not in sys.path)
        try:
            work = ray.get(sent.place)
        except Exception as error:
            why = str(error).strip().rpartition("\n")[2]  # Ray puts a traceback before it
            raise InputError(
                f"engine=ray: {socket.gethostname()} cannot load the fitted parts ({why}): all machines need the same "
                "recx and plugins, and your own code at the same path"
            ) from error
        if sent.version is not None and _version(sent.modules) != sent.version:
            raise InputError(
                f"engine=ray: the code of recx, of a plugin or of a library on {socket.gethostname()} is not that of "
                "the machine that started the run: install the same versions on all machines"
            )
        _kept[name] = work
    return _kept[name]
