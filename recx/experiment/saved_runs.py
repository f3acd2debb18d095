"""The files of a run: writing them into its folder, and reading them back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.chosen import chain, data_name
from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.fold_names import VALID, inside, outside
from recx.core.system.atomic import write_text
from recx.core.system.own_folder import is_finished, is_unfinished
from recx.core.system.plain_files import read_text
from recx.core.system.serialize import plain
from recx.evaluation.rules import rules
from recx.experiment.files import SLICE, write_per_user, write_table
from recx.experiment.list_files import EARLIER, FILE, ListTable, in_order_of_retriever, most_kept
from recx.experiment.saved_tables import check_whole, reading, table
from recx.experiment.tracked_runs import tracked_folder

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.experiment import Result

JUDGED = ("retrieval/", "ranking/", "end_to_end/", "funnel/")
"""Prefixes of quality figures; the others are counts, seconds and what the ranker learned."""
FIGURES = ("config.yaml", "protocol.json", "per_user.parquet", "metrics.json")
"""What a trial of a sweep keeps."""
BENCHMARK = "benchmark.json"
"""The file of a benchmark of rankers in its folder, which also has one subfolder per ranker."""


def save(result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any]) -> None:
    """Write a run's files, each under a temporary name first; ``metrics.json`` is the last.

    Args:
        result: The run.
        folder: The run's folder.
        config: The composed configuration (plain values), written as ``config.yaml``.
        card: The protocol card, written as ``protocol.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_lists(result, folder, config)
    for name, columns in result.tables.items():
        (folder / "tables").mkdir(exist_ok=True)
        write_table(folder / "tables" / f"{name}.csv", columns)
    save_figures(result, folder, config, card)


def save_lists(result: Result, folder: Path, config: Mapping[str, Any]) -> None:
    """Write as much of a run's lists as the configuration says (``lists``).

    Args: as for ``save``.
    """
    most = most_kept(config.get("lists", "all"))
    if most != 0:
        ListTable(result.recommendations, result.candidates, result.interactions).write(folder / FILE, most)


def save_figures(result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any]) -> None:
    """Write what a trial of a sweep keeps: configuration, protocol card, figures per user and overall.

    Args: as for ``save``.
    """
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.yaml", yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True))
    write_text(folder / "protocol.json", _json(card))
    if result.report is not None:
        write_per_user(folder / "per_user.parquet", result.report, result.experiment.fold)
    write_text(folder / "metrics.json", _json(outside(result.metrics, result.experiment.fold)))


@dataclass(frozen=True)
class SavedRun:
    """The files of a finished run, each read at its first use.

    Attributes:
        folder: The run's folder.
    """

    folder: Path

    def _repr_html_(self) -> str:
        from recx.core.html_table import sentences, stages, title

        about, figures, faults = "", dict[str, float](), []
        try:
            figures = {name: value for name, value in self.metrics.items() if name.startswith(JUDGED)}
            with reading(self.folder / "config.yaml"):
                about = f"fold {self.fold}, {chain(self.config)} on {data_name(self.config)}"
        except InputError as error:
            faults.append(str(error))
        return str(title(str(self.folder), about) + sentences(faults) + stages(figures))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The composed configuration."""
        from recx.core.yaml_files import parse_yaml

        with reading(self.folder / "config.yaml") as path:
            return dict(parse_yaml(path, read_text(path)))

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every figure by its full name, without ``valid/``; NaN where a figure does not exist."""
        with reading(self.folder / "metrics.json") as path:
            stored = inside(json.loads(read_text(path)))
            return {name: float("nan") if value is None else float(value) for name, value in stored.items()}

    @cached_property
    def protocol(self) -> dict[str, Any]:
        """The protocol card."""
        with reading(self.folder / "protocol.json") as path:
            return dict(json.loads(read_text(path)))

    @property
    def fold(self) -> str:
        """The fold that the run is of: ``test``, ``valid`` or ``predict``."""
        with reading(self.folder / "config.yaml"):
            return str(self.config["fold"])

    @property
    def threads(self) -> object:
        """Number of threads of the run; None: all."""
        with reading(self.folder / "config.yaml"):
            return self.config["runtime"]["threads"]

    @property
    def data_hash(self) -> str:
        """Hash of the run's data (see ``recx.experiment.protocol_card``)."""
        with reading(self.folder / "protocol.json"):
            return str(self.protocol["data_hash"])

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """The lists of the retriever: user, rank from 1, item, score, columns; raw ids.

        Raises:
            InputError: The run did not keep whole lists, or its file is missing or damaged.
        """
        self.check_whole()
        if self.is_earlier or "retriever_rank" not in self.recommendations:  # so are an earlier benchmark's rankers
            return table(self.folder / EARLIER)
        with reading(self.folder / FILE):
            return in_order_of_retriever(self.recommendations)

    @cached_property
    def recommendations(self) -> pd.DataFrame:
        """The candidates in the ranker's order, or of each list the first that the run kept; raw ids.

        Columns: user, rank from 1, item, score, retriever_rank, retriever_score (these two except in a run of an
        earlier recx), and those of the lists.

        Raises:
            InputError: The run kept no lists, or its file is missing or damaged.
        """
        self._check_kept()
        return table(self.folder / FILE)

    @property
    def is_earlier(self) -> bool:
        """Whether an earlier recx wrote the run, with the candidates in a file of their own."""
        return os.path.lexists(self.folder / EARLIER)

    def check_whole(self) -> None:
        """Check that the run kept its lists, and each of them whole.

        Raises:
            InputError: It did not; the message says what it kept.
        """
        self._check_kept()
        check_whole(self.folder / FILE)

    def _check_kept(self) -> None:
        there, settings = os.path.lexists(self.folder / FILE), self.folder / "config.yaml"
        if not there and settings.is_file() and most_kept(self.config.get("lists", "all")) == 0:
            raise InputError(f"{self.folder}: this run kept no lists (lists=off): run it again with lists=all")

    @cached_property
    def per_user(self) -> pd.DataFrame:
        """One row per evaluated user: raw id and one column per metric, NaN where a stage leaves the user out."""
        return table(self.folder / "per_user.parquet").rename(columns=lambda name: name.removeprefix(VALID))

    @cached_property
    def evaluation(self) -> Evaluation:
        """The figures under their full names, such as ``end_to_end/ndcg_at_5``.

        Raises:
            InputError: A file of the run is missing or damaged.
        """
        frame = self.per_user
        texts = [name for name in frame.columns if name != "user" and frame[name].dtype.kind not in "fiu"]
        if "user" not in frame or frame["user"].duplicated().any() or texts:
            raise InputError(
                f"{self.folder / 'per_user.parquet'} must have one row per user and only numbers besides the id: run "
                "the experiment again"
            )
        columns = {str(name): frame[name].to_numpy(dtype=np.float64) for name in frame.columns if name != "user"}
        values = {name: column for name, column in columns.items() if not name.startswith(SLICE)}
        slices = {name.removeprefix(SLICE): column for name, column in columns.items() if name.startswith(SLICE)}
        others = {name: number for name, number in self.metrics.items() if name not in values}
        return Evaluation(
            name=self.folder.name,
            users=frame["user"].to_numpy(),
            values=values,
            scalars={name: number for name, number in others.items() if name.startswith(JUDGED)},
            notes={name.removeprefix("data/"): n for name, n in others.items() if name.startswith("data/")},
            rules=rules(self.protocol),
            slices=slices,
            about=chain(self.config) if (self.folder / "config.yaml").is_file() else "",
        )


def load(run: str | Path = "last", outputs: str | Path = "outputs", uri: str | None = None) -> SavedRun:
    """Return a finished run.

    Args:
        run: Its folder, its MLflow run id or name, or ``last`` for the one that finished last here; ``best:EXPERIMENT``
            and the addresses of registered models as in ``recx.experiment.model.found``.
        outputs: The folder that holds the runs.
        uri: The MLflow store to look in; None: that of ``MLFLOW_TRACKING_URI``, and the one in ``outputs``. The files
            of a run whose folder is not on this machine are fetched from there.

    Raises:
        InputError: There is no such run, or it did not finish; when a file is read: it is missing or damaged.
    """
    outputs = Path(outputs)
    if str(run) == "last":
        return SavedRun(last(outputs))
    folder = folder_of(run, outputs)
    if folder is not None:
        return SavedRun(_finished_in(folder))
    tracked = tracked_folder(str(run), outputs, uri)
    if tracked is not None:
        return load(tracked, outputs)
    near = did_you_mean(str(run), ["last", *(str(folder.relative_to(outputs)) for folder in _finished(outputs)[-20:])])
    raise InputError(
        f"no run {str(run)!r}, neither a folder nor the id or name of an MLflow run under {outputs}: {near}"
    )


def folder_of(run: str | Path, outputs: Path) -> Path | None:
    """Return the folder that a run is named by, as it is or below ``outputs``; None if there is none."""
    return next((folder for folder in (Path(run), outputs / run) if folder.is_dir()), None)


def _finished_in(folder: Path) -> Path:
    """Return the folder of the run in a folder: of a sweep, that of its best run."""
    if (folder / BENCHMARK).is_file():
        raise InputError(f"{folder} holds a benchmark, not a run: {_rankers(folder)}")
    if is_finished(folder):
        return folder
    if is_finished(folder / "best"):
        return folder / "best"
    why = "it ended before it was complete" if (folder / "metrics.json").is_file() else "it has no metrics.json"
    raise InputError(f"{folder} does not hold a finished run, since {why}: choose another folder")


def last(outputs: Path, *others: str) -> Path:
    """Return the folder of the run that finished last.

    Args:
        outputs: The folder that holds the runs.
        *others: Patterns of further files whose folders count too.

    Raises:
        InputError: Nothing has finished there.
    """
    finished = _finished(outputs, *others)
    if not finished:
        raise InputError(f"no run has finished under {outputs}: start one with `python -m recx +experiment=news`")
    return finished[-1]


def _rankers(benchmark: Path) -> str:
    found = sorted(path.parent for path in benchmark.glob("*/metrics.json"))
    return f"name a ranker, {' or '.join(map(str, found))}" if found else "none of its rankers finished"


def _finished(outputs: Path, *others: str) -> list[Path]:
    """Return the folders of the finished runs and of the files of other patterns, oldest first."""
    patterns = ("*/*/metrics.json", "sweeps/*/*/metrics.json", *others)
    found = [path for pattern in patterns for path in outputs.glob(pattern) if not is_unfinished(path.parent)]
    return [path.parent for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))]


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n"
