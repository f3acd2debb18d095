"""Past runs: those in the MLflow store under ``outputs``, and those that left only a folder."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.chosen import params
from recx.core.fold_names import VALID
from recx.core.system.own_folder import is_unfinished
from recx.core.system.plain_files import read_text
from recx.tracking import store
from recx.tracking.found_runs import runs_of
from recx.tracking.past_run import BESIDE, NAN, REPLAY, PastRun, configuration_in
from recx.tracking.sqlite_runs import stored_runs

if TYPE_CHECKING:
    from recx.jobs.sweep.journal import Trial

QUALITY = "quality/"
"""Prefix of the figures by which a benchmark compares rankers."""


def past_runs(outputs: Path, *, trials: bool = False, uri: str | None = None) -> list[PastRun]:
    """Return every run, newest first; replays of runs are none.

    Args:
        outputs: The folder of all runs.
        uri: The store whose runs are returned; None: that of ``MLFLOW_TRACKING_URI`` or the one in the folder, with
            the runs that have left only a folder.
        trials: Whether to include runs that are part of another, such as trials of a sweep.

    Raises:
        RecxError: There is a store that cannot be read.
    """
    database = outputs / "mlflow.db"
    if uri or os.environ.get(store.VARIABLE):
        stored = runs_of(store.absolute(uri))
    else:
        stored = stored_runs(database) if database.is_file() else []
    runs = stored if uri else [*stored, *_untracked(outputs, {run.folder for run in stored})]
    runs = [run for run in runs if run.tags.get("recx.role") != REPLAY]
    n_trials = Counter(run.parent for run in runs if not run.is_beside)
    sweeps = {run.id: run for run in runs if run.tags.get("recx.role") == "sweep"}
    best = {run.parent: run for run in runs if run.parent in sweeps and run.folder == sweeps[run.parent].folder}
    parts: dict[str, list[PastRun]] = defaultdict(list)
    for run in runs:
        parts[run.parent].append(run)
    shown = []
    for run in runs:
        if run.id in sweeps:
            figures = run.figures or (best[run.id].figures if run.id in best else {})
            shown.append(replace(run, trials=n_trials[run.id], figures=figures))
        elif run.parent in sweeps and trials:
            shown.append(replace(run, varied=tuple(sweeps[run.parent].tags.get("recx.varied", "").split(", "))))
        elif trials or not run.parent:
            figures = {**run.figures, **_best_ranker(parts[run.id])}
            shown.append(replace(run, trials=n_trials[run.id], figures=figures))
    return sorted(shown, key=lambda run: (-run.start, run.id))


def _best_ranker(rankers: Sequence[PastRun]) -> Mapping[str, float]:
    """Return the quality and the latency of the best ranker of a benchmark; {} if these are not rankers of one."""
    figures = [run.figures for run in rankers if any(map(_is_quality, run.figures))]
    if not figures:
        return {}
    first = next(filter(_is_quality, figures[0]))
    best = max(figures, key=lambda of_run: of_run.get(first, -math.inf))
    return {name: value for name, value in best.items() if _is_quality(name) or name.startswith("latency/")}


def _is_quality(name: str) -> bool:
    return name.removeprefix(VALID).startswith(QUALITY)


def _untracked(outputs: Path, stored: Collection[str]) -> Iterator[PastRun]:
    """Yield the runs of folders that are not in the store."""
    sweeps: dict[Path, list[PastRun]] = defaultdict(list)
    for pattern in ("*/*/metrics.json", "*/*/benchmark.json", "sweeps/*/*/metrics.json"):
        for path in outputs.glob(pattern):
            if str(path.parent.absolute()) in stored or is_unfinished(path.parent):
                continue
            run = _run_of(path, outputs)
            if pattern.startswith("sweeps"):
                sweeps[path.parent.parent].append(run)
            else:
                yield run
    for folder, finished in sweeps.items():
        yield from _runs_of_sweep(folder, finished, outputs)


def _run_of(last: Path, outputs: Path) -> PastRun:
    """Return the run whose folder holds ``last``, the file that is written last."""
    folder, metrics = last.parent, _metrics(last.parent)
    seconds = metrics.get("time/total", NAN)
    end = last.stat().st_mtime

    def read() -> Mapping[str, str]:
        return params(configuration_in(folder))

    return PastRun(
        id=folder.relative_to(outputs).as_posix(),
        experiment=folder.name.partition("_")[2] or str(configuration_in(folder).get("name", "")),
        status="finished",
        start=end - (seconds if seconds == seconds else 0.0),
        seconds=seconds,
        folder=str(folder.absolute()),
        figures=metrics,
        read=read,
        tags=_rankers(folder) if last.name == "benchmark.json" else {},
    )


def _rankers(folder: Path) -> Mapping[str, str]:
    """Return the tag with the names of the rankers of a benchmark; {} if its configuration is damaged."""
    try:
        return {"recx.rankers": ", ".join(configuration_in(folder)["benchmark"]["rankers"])}
    except (KeyError, TypeError):
        return {}


def _runs_of_sweep(folder: Path, finished: Sequence[PastRun], outputs: Path) -> Iterator[PastRun]:
    """Yield a sweep, with the figures of its best trial if it chose one, and its trials as parts of it."""
    from recx.jobs.sweep.journal import TrialJournal
    from recx.jobs.sweep.summary import differing

    trials = TrialJournal(folder / "trials").trials()
    by_name = {Path(run.folder).name: run for run in finished}
    best = _best(by_name, trials)
    some = best or finished[0]
    ended = (folder / "summary" / "sweep.csv").is_file()
    yield replace(
        some,
        id=folder.relative_to(outputs).as_posix(),
        name=f"sweep {folder.name}",
        status="finished" if ended else "running" if _is_running(folder) else "killed",
        start=min(run.start for run in finished),
        seconds=max(run.start + run.seconds for run in finished) - min(run.start for run in finished),
        folder=some.folder if best else str(folder.absolute()),
        figures=some.figures if best else {},
        tags={"recx.role": "sweep", "recx.sweep": folder.name, "recx.varied": ", ".join(differing(trials))},
    )
    for name, run in by_name.items():
        yield replace(run, parent=folder.relative_to(outputs).as_posix(), name=name if name in BESIDE else "")
    for trial in trials:
        if Path(trial.folder).name not in by_name:
            yield _without_figures(trial, folder, outputs, some)


def _best(by_name: Mapping[str, PastRun], trials: Sequence[Trial]) -> PastRun | None:
    """Return the run that a sweep chose; None where it only compares its trials on the test fold."""
    if "best" in by_name:
        return by_name["best"]
    done = [trial for trial in trials if trial.objective is not None and Path(trial.folder).name in by_name]
    best = max(done, key=lambda trial: trial.objective or 0.0, default=None)
    run = None if best is None else by_name[Path(best.folder).name]
    return run if run and run.settings.get("allow_tuning_on_test") == "true" else None


def _without_figures(trial: Trial, folder: Path, outputs: Path, other: PastRun) -> PastRun:
    """Return a trial that failed or was pruned, of the same experiment as another run of its sweep."""
    place = folder / Path(trial.folder).name
    end = (folder / "trials" / f"{trial.number}.json").stat().st_mtime
    return PastRun(
        id=place.relative_to(outputs).as_posix(),
        experiment=other.experiment,
        status="failed" if trial.reason else "pruned",
        start=end - trial.seconds,
        seconds=trial.seconds,
        folder="",
        figures={},
        read=dict,
        name=" ".join(trial.overrides),
        parent=folder.relative_to(outputs).as_posix(),
        reason=trial.reason,
    )


def _is_running(folder: Path) -> bool:
    """Return whether a process holds the lock of the sweep."""
    from recx.core.system.locks import turn
    from recx.jobs.sweep.plan import LOCK

    if not (folder / LOCK).is_file():
        return False
    try:
        with turn(folder / LOCK, wait=False):
            return False
    except BlockingIOError:
        return True


def _metrics(folder: Path) -> Mapping[str, float]:
    try:
        stored = json.loads(read_text(folder / "metrics.json"))
        return {name: NAN if value is None else float(value) for name, value in stored.items()}
    except Exception:  # missing or damaged, which may raise anything: the run is listed without figures
        return {}
