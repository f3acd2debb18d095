"""Counts and latencies of all workers in one small shared file, and their text for Prometheus."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ENDPOINTS = ("recommend", "rank", "similar", "health", "metadata", "metrics", "docs", "other")
CODES = (200, 400, 401, 404, 405, 408, 413, 415, 422, 431, 499, 500, 501, 503, 504)
"""The statuses of answers; 499: the client went away, as nginx counts it."""
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the classes of latencies in seconds; one more class has none."""
WIDTH = len(CODES) + len(BOUNDS) + 2
"""Numbers per worker and endpoint: a count per status, a count per class of latencies, and the sum of seconds."""
TEXT = "text/plain; version=0.0.4; charset=utf-8"


def size(workers: int) -> int:
    """Return the bytes of the file for a number of workers."""
    return workers * (1 + len(ENDPOINTS) * WIDTH) * 8


@dataclass(frozen=True, eq=False)
class Counters:
    """The counts of all workers, of which each writes its own row only.

    Attributes:
        starts: How often each worker was started [n_workers].
        counts: What each counted since the server was started [n_workers, n_endpoints, WIDTH].
        worker: The number of this worker.
    """

    starts: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    worker: int

    @classmethod
    def shared(cls, file: int, workers: int, worker: int) -> Counters:
        """Return the counters in an open file of ``size(workers)`` bytes that all workers share."""
        numbers = np.frombuffer(mmap.mmap(file, size(workers)), dtype=np.float64)
        counts = numbers[workers:].reshape(workers, len(ENDPOINTS), WIDTH)
        return cls(numbers[:workers], counts, worker)

    @classmethod
    def alone(cls) -> Counters:
        """Return counters of one worker that shares them with nobody."""
        return cls(np.ones(1), np.zeros((1, len(ENDPOINTS), WIDTH)), 0)

    def started(self) -> None:
        """Count a start of this worker."""
        self.starts[self.worker] += 1

    def count(self, endpoint: str, code: int, seconds: float) -> None:
        """Count an answer.

        Args:
            endpoint: One of ``ENDPOINTS``.
            code: One of ``CODES``.
            seconds: From the request's headers to the end of the answer.
        """
        row = self.counts[self.worker, ENDPOINTS.index(endpoint)]
        row[CODES.index(code)] += 1
        row[len(CODES) + int(np.searchsorted(BOUNDS, seconds))] += 1
        row[-1] += seconds

    def text(self) -> str:
        """Return the sums of all workers in the text format of Prometheus."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        total = self.counts.sum(axis=0)
        yield from _head("recx_requests_total", "counter", "Answers by endpoint and status, of all workers.")
        for name, row in zip(ENDPOINTS, total, strict=True):
            for code, n in zip(CODES, row, strict=False):
                if n:
                    yield f'recx_requests_total{{endpoint="{name}",code="{code}"}} {n:.0f}'
        yield from _head("recx_request_seconds", "histogram", "Seconds until the end of the answer, of all workers.")
        for name, row in zip(ENDPOINTS, total, strict=True):
            if row.any():
                yield from _histogram(name, row[len(CODES) : -1], float(row[-1]))
        yield from _head("recx_workers", "gauge", "Number of workers.")
        yield f"recx_workers {len(self.starts)}"
        yield from _head("recx_worker_starts_total", "counter", "Starts of workers; more than their number: some died.")
        yield f"recx_worker_starts_total {self.starts.sum():.0f}"


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def _histogram(endpoint: str, classes: Sequence[float] | npt.NDArray[np.float64], seconds: float) -> Iterator[str]:
    so_far = np.cumsum(classes)
    for bound, n in zip((*map(str, BOUNDS), "+Inf"), so_far, strict=True):
        yield f'recx_request_seconds_bucket{{endpoint="{endpoint}",le="{bound}"}} {n:.0f}'
    yield f'recx_request_seconds_sum{{endpoint="{endpoint}"}} {seconds:.6f}'
    yield f'recx_request_seconds_count{{endpoint="{endpoint}"}} {so_far[-1]:.0f}'
