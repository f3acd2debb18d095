"""A tracker: where the settings and figures of a run are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recx.plugin import RunContext, checked, chosen_params, stoppable


@dataclass(frozen=True)
class KeptRun:
    """A run whose figures are kept until it ends; what it does not record, it ignores."""

    address: str
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        self.metrics.update(metrics)

    def log_tags(self, tags: Mapping[str, str]) -> None:
        self.tags.update(tags)

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None: ...

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None: ...

    def log_dataset(self, name: str, digest: str, source: str) -> None: ...

    def describe(self, text: str) -> None: ...

    def log_files(self, folder: Path, *, inner: bool = True) -> None: ...


@dataclass(frozen=True)
@checked("tracker")  # checks each setting against its annotation
class JsonLog:
    """Appends a line of JSON to a file when a run ends, whether it finished or failed.

    Attributes:
        path: The file.
    """

    path: str = "outputs/runs.jsonl"

    @contextmanager
    def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> Iterator[KeptRun]:
        file = Path(self.path).absolute()
        run, status = KeptRun(str(file)), "failed"
        try:
            with stoppable():  # a run that is stopped from outside ends by an error too
                yield run
            status = "finished"
        finally:
            line = {"name": context.name or name, "status": status, "metrics": run.metrics, "tags": run.tags}
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as log:
                log.write(json.dumps({**line, "params": chosen_params(params)}) + "\n")
