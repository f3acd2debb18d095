"""Serves the blocks of requests as tasks on a Ray cluster, of one machine or many."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

from recx.core.bounds import NonNegativeInt, PositiveInt, checked
from recx.core.errors import InputError, RecxError
from recx.core.progress import say
from recx.core.system.threads import available
from recx.core.types import Requests
from recx.experiment.engine.cluster import LOCAL, check_reachable, cluster, first_line, no_answer
from recx.experiment.engine.worker import send, served

T = TypeVar("T")
AHEAD = 2
"""Blocks in flight for each that can be served at a time: a worker finds the next while a result is on its way."""
PATIENCE = 10.0
"""Seconds without a result after which it is checked whether there are machines left."""


@dataclass(frozen=True)
@checked("engine")
class Ray:
    """The fitted parts and the history lie once in the memory of each machine, and its workers read them in place.

    Attributes:
        address: HOST:PORT of the cluster's head, or auto for the cluster of this machine; None: Ray is started on this
            machine, for the time that blocks are served.
        num_cpus: Cores that a block occupies, and threads that serve it.
        max_retries: How often a block is served again whose worker died.
    """

    address: str | None = None
    num_cpus: PositiveInt = 1
    max_retries: NonNegativeInt = 3

    def preflight(self) -> None:
        """Check that Ray can be used, before any data is read.

        Raises:
            InputError: Ray is not installed, this process uses it already, or no server answers at the address.
        """
        if find_spec("ray") is None:
            raise InputError(
                "engine=ray needs Ray: install recx-lab again, with its extra 'ray' (python -m recx help install)"
            )
        ray = sys.modules.get("ray")
        if ray is not None and ray.is_initialized():
            raise InputError(
                "engine=ray: this process works for Ray already, as a trial of hydra/launcher=ray does, and its blocks "
                "would wait for the cores that it occupies: choose engine=local, or another launcher"
            )
        check_reachable(str(self.address), "engine")

    def each(self, work: Callable[[Requests], T], blocks: Iterable[Requests]) -> Generator[T, None, None]:
        """Yield the result of ``work`` for each block, in order, while the cluster serves the next ones.

        Args:
            work: What serves a block; it is sent to each machine once.
            blocks: The blocks; they are taken as results are wanted.

        Raises:
            InputError: The work cannot be sent, no machine has enough cores, or a worker cannot load the work.
            RecxError: Ray failed, or a block was lost too often. An error of the work itself is raised as it is.
        """
        init = {"address": self.address or LOCAL, "include_dashboard": False, "log_to_driver": False}
        init |= {"logging_level": "critical", **({} if self.address else {"num_cpus": available()})}
        with cluster(init, "engine"), _in_one_sentence():
            yield from self._streamed(work, blocks)

    def _streamed(self, work: Callable[[Requests], T], blocks: Iterable[Requests]) -> Iterator[T]:
        import ray

        sent = send(work)
        task = ray.remote(served).options(num_cpus=self.num_cpus, max_retries=self.max_retries)
        tasks = (task.remote(sent, self.num_cpus, block) for block in blocks)
        coming: deque[Any] = deque()
        cores, look_again = _cores(), 0.0
        while True:
            if time.monotonic() >= look_again:
                before, cores, look_again = cores, _cores(), time.monotonic() + PATIENCE
                if len(cores) < len(before):
                    say("  a machine of the cluster is lost: others serve its blocks again")
            coming.extend(islice(tasks, max(0, self._most_in_flight(cores) - len(coming))))
            if not coming:
                return
            if ray.wait([coming[0]], timeout=PATIENCE)[0]:
                yield deepcopy(ray.get(coming.popleft()))  # the copy gives its place in Ray's memory to others

    def _most_in_flight(self, cores: Sequence[float]) -> int:
        """Return how many blocks may be on their way; raise RecxError if no machine has the cores for one."""
        number = sum(int(n // self.num_cpus) for n in cores)
        if not number:
            raise RecxError(
                f"engine.num_cpus={self.num_cpus}: none of the machines in the cluster ({len(cores)}) offers as many "
                "cores: let others join it (`ray start --address=HOST:PORT`), or set a lower number"
            )
        return AHEAD * number


def _cores() -> list[float]:
    """Return the cores of each machine in the cluster; raise RecxError if the cluster is gone."""
    import ray

    nodes: Any = ray.nodes
    head = ray.get_runtime_context().gcs_address
    silent = no_answer(head)
    if silent is not None:  # of which Ray itself says nothing for a minute, and then ends the process
        raise RecxError(f"engine=ray: the head of the cluster, {head}, does not answer any more ({silent})")
    return [node["Resources"].get("CPU", 0.0) for node in nodes() if node["Alive"]]


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Raise what the work raised, and any failure of Ray itself as one sentence."""
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayError, RayTaskError, WorkerCrashedError

    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, Exception) and not isinstance(error.cause, RayError):
            raise error.cause from error
        raise RecxError(f"engine=ray: {first_line(error.cause)}") from error
    except (NodeDiedError, OutOfMemoryError, WorkerCrashedError) as error:
        raise RecxError(
            "engine=ray: the worker of a block died each time that the block was served (out of memory, killed or "
            "crashed): raise engine.num_cpus, so that fewer blocks share the memory of a machine"
        ) from error
    except RayError as error:
        raise RecxError(f"engine=ray: Ray stopped serving requests: {first_line(error)}") from error
    except OSError as error:
        raise RecxError(f"engine=ray: the cluster is gone ({error}): start it again, and the run") from error
