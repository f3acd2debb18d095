"""A run in an MLflow store, written through a client and the run's id, never through MLflow's global state."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recx.core.errors import RecxError
from recx.core.progress import say
from recx.core.system.own_folder import files_of_run
from recx.core.system.sizes import readable
from recx.core.trackers import MODEL, KeptModel
from recx.tracking.fetched_runs import MANIFEST, TAG, described, hash_of

if TYPE_CHECKING:
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

T = TypeVar("T")
BATCH = {"params": 100, "metrics": 1000, "tags": 100}
"""How many of each MLflow accepts in one call."""
LONGEST_PARAM, LONGEST_TAG = 6_000, 5_000
SHORTEST_DIGEST = 8
"""Digits of the hash of a dataset, as MLflow's own have; the whole hash is a tag of the run."""


@dataclass(frozen=True)
class MlflowRun:
    """A run in an MLflow store; everything is written in as few calls as MLflow allows.

    Attributes:
        client: Client of the store.
        run_id: MLflow's id of the run.
        address: Where its page is, or the command that opens it.
        limit: Bytes of the largest file that is copied; None: all are.
        preface: Markdown before the summary.
        histories: Whether models with the histories of users are logged.
        register: The name under which models are registered; None: they are not.
        tables: The tables that were logged.
        figures: The figures that were logged.
    """

    client: MlflowClient
    run_id: str
    address: str
    limit: int | None = None
    preface: str = ""
    histories: bool = False
    register: str | None = None
    tables: list[str] = field(default_factory=list)
    figures: list[Metric] = field(default_factory=list)

    def log_params(self, params: Mapping[str, str]) -> None:
        """Write settings by name; texts over 6,000 characters are cut, and named in a tag."""
        from mlflow.entities import Param

        named = self._allowed(params, "params")
        cut = [name for name, text in named.items() if len(text) > LONGEST_PARAM]
        if cut:
            self.log_tags({"recx.cut_params": ", ".join(cut)})
        self._write("params", [Param(name, text[:LONGEST_PARAM]) for name, text in named.items()])

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Write figures by name; NaN is kept."""
        self.figures.extend(self._figures({name: [value] for name, value in metrics.items()}, first=0))

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Write figures by epoch: name -> its value after each epoch."""
        self._figures(curves, first=1)

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write a table that MLflow's pages show: column name -> one value per row."""
        import pandas as pd

        table = pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in columns.items()})
        text = table.to_json(orient="split", index=False, date_format="iso")
        self.tables.append(f"{allowed_name(name)}.json")
        # What client.log_table does, without asking the store for what is there: a run's tables are written once.
        self.client.log_text(self.run_id, str(text), self.tables[-1])
        shown = [{"path": path, "type": "table"} for path in self.tables]
        self.client.set_tag(self.run_id, "mlflow.loggedArtifacts", json.dumps(shown))

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Write texts by name."""
        from mlflow.entities import RunTag

        named = self._allowed(tags, "tags").items()
        self._write("tags", [RunTag(name, str(text)[:LONGEST_TAG]) for name, text in named])

    def log_dataset(self, name: str, digest: str, source: str) -> None:
        """Write which data the run has read, as an input of the run: its name, the hash of its content, its source."""
        from mlflow.entities import Dataset, DatasetInput
        from mlflow.exceptions import MlflowException

        where = {"uri": source} if source else {}
        given = Dataset(name[:500], digest[:SHORTEST_DIGEST], "local" if source else "code", json.dumps(where))
        try:
            self.client.log_inputs(self.run_id, [DatasetInput(given)])
        except MlflowException:  # another run of the same data has just written it: now it is there
            self.client.log_inputs(self.run_id, [DatasetInput(given)])

    def describe(self, text: str) -> None:
        """Write what the run's page says first, in Markdown."""
        self.log_tags({"mlflow.note.content": "\n\n".join(filter(None, (self.preface, text)))})

    def log_files(self, folder: Path, *, inner: bool = True) -> None:
        """Copy the files of the run's folder but its model, and name the large ones that are not; tag where it is.

        A list of the files with their hashes goes with them, so that another machine can fetch and check them.

        Args:
            folder: The run's folder.
            inner: Whether to copy its subfolders too.
        """
        large, copied = [], {}
        for place in map(Path, files_of_run(folder)):
            path = folder / place
            if not path.is_file() or path.is_symlink() or not (inner or place.parent == Path()):
                continue
            if place.parts[0] == MODEL:  # see ``log_model``
                continue
            if self.limit is not None and path.stat().st_size > self.limit:
                large.append(str(place))
            else:
                copied[place.as_posix()] = path
                self.client.log_artifact(self.run_id, str(path), None if place.parent == Path() else str(place.parent))
        left = {"recx.only_in_folder": ", ".join(large)} if large else {}
        if large:
            say(f"  only in {folder}, since larger than tracker.upload_limit: {', '.join(large)}")
        manifest = described(copied)
        self.client.log_text(self.run_id, manifest, MANIFEST)
        self.log_tags({"recx.folder": str(folder.absolute()), TAG: hash_of(manifest), **left})

    def log_model(self, model: KeptModel) -> None:
        """Log the kept chain as a model of MLflow and, if that is asked for, register it.

        A large one, and one with histories of which nobody said that they may be there, stays in the run's folder.
        """
        from recx.tracking.mlflow_model import ModelLog
        from recx.tracking.registry import Registry

        log = ModelLog(self.client, self.client.get_run(self.run_id), model)
        linked, where = log.links(), f"  the model is only in {model.folder}"
        missing = f", and no version of {self.register}" if self.register else ""
        if model.full and not self.histories:
            say(f"{where}{missing}, since it holds histories (model=full): tracker.upload_histories=true logs it")
            return
        if not linked and self.limit is not None and model.size > self.limit:
            say(f"{where}{missing}, since {readable(model.size)} are more than tracker.upload_limit")
            return
        logged = log.log(self.figures, linked=linked)
        if self.register:
            Registry(self.client, self.register).register(logged, model.contest)

    def _figures(self, curves: Mapping[str, Sequence[float]], first: int) -> list[Metric]:
        """Write figures by step, from a first step on, and return them."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        named = self._allowed(curves, "metrics").items()
        figures = [Metric(name, float(y), now, x) for name, ys in named for x, y in enumerate(ys, first)]
        self._write("metrics", figures)
        return figures

    def _write(self, kind: str, entries: Sequence[Any]) -> None:
        for start in range(0, len(entries), BATCH[kind]):
            batch: Any = {kind: entries[start : start + BATCH[kind]]}
            self.client.log_batch(self.run_id, **batch)

    def _allowed(self, named: Mapping[str, T], kind: str) -> dict[str, T]:
        """Return the values under names that MLflow accepts; a tag lists the names that had to change.

        Raises:
            RecxError: Two names become one.
        """
        changed = {name: allowed_name(name) for name in named if allowed_name(name) != name}
        allowed = {changed.get(name, name): value for name, value in named.items()}
        if len(allowed) < len(named):
            raise RecxError(
                f"some of these names of {kind} would equal others in MLflow: {', '.join(changed)}: rename them"
            )
        if changed:
            renamed = ", ".join(f"{name} -> {new}" for name, new in changed.items())
            self.client.set_tag(self.run_id, f"recx.renamed.{kind}", renamed[:LONGEST_TAG])
        return allowed


def allowed_name(name: str) -> str:
    """Return the name with ``_`` for characters that MLflow rejects, without doubled, leading and trailing slashes."""
    return re.sub(r"/{2,}", "/", re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)).strip("/") or "_"
