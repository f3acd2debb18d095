"""Past runs: what the MLflow store under ``outputs`` knows of, and the folders of those that no store knows of."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from recx.tracking.past_run import NAN, PastRun
from recx.tracking.sqlite_runs import stored_runs


def past_runs(outputs: Path, *, trials: bool = False) -> list[PastRun]:
    """Return every run, newest first; what is a part of another (a trial of a sweep) only with ``trials``.

    Raises:
        RecxError: there is a store and it cannot be read.
    """
    database = outputs / "mlflow.db"
    stored = stored_runs(database) if database.is_file() else []
    known = {run.folder for run in stored if run.folder}
    found = [*stored, *_untracked(outputs, known)]
    counted = Counter(run.parent for run in found if run.name != "best")
    whole = [replace(run, trials=counted[run.id]) for run in found if trials or not run.parent]
    return sorted(whole, key=lambda run: (-run.start, run.id))


def _untracked(outputs: Path, known: Iterable[str]) -> Iterator[PastRun]:
    """Yield the runs of folders that no store knows of; those of a sweep beneath one line of the sweep."""
    skipped = set(known)
    for path in [*outputs.glob("*/*/metrics.json"), *outputs.glob("*/*/benchmark.json")]:
        if str(path.parent.absolute()) not in skipped:
            yield _of_folder(path.parent, outputs, path)
    sweeps: dict[Path, list[PastRun]] = defaultdict(list)
    for path in outputs.glob("sweeps/*/*/metrics.json"):
        if str(path.parent.absolute()) not in skipped:
            sweeps[path.parent.parent].append(_of_folder(path.parent, outputs, path))
    for folder, trials in sweeps.items():
        yield from _of_sweep(folder, trials, outputs)


def _of_folder(folder: Path, outputs: Path, last: Path) -> PastRun:
    """Return the run of a folder; ``last``: the file that is written last."""
    metrics = _metrics(folder)
    seconds = metrics.get("time/total", NAN)
    end = last.stat().st_mtime

    def read() -> Mapping[str, str]:
        return _settings(folder / "config.yaml")

    return PastRun(
        id=folder.relative_to(outputs).as_posix(),
        experiment=folder.name.partition("_")[2] or read().get("name", ""),
        status="finished",
        start=end - (seconds if seconds == seconds else 0.0),
        seconds=seconds,
        folder=str(folder.absolute()),
        metrics=metrics,
        read=read,
    )


def _of_sweep(folder: Path, trials: Sequence[PastRun], outputs: Path) -> Iterator[PastRun]:
    """Yield a sweep as its best trial, and its trials with it as their parent."""
    from recx.jobs.sweep.journal import TrialJournal
    from recx.jobs.sweep.summary import differing as varied

    told = TrialJournal(folder / "trials").trials()
    by_folder = {run.folder: run for run in trials}
    done = [trial for trial in told if trial.objective is not None]
    best = max(done, key=lambda trial: trial.objective or 0.0, default=None)
    final = by_folder.get(str((folder / "best").absolute()))
    chosen = final or by_folder.get(str(Path(best.folder).absolute()) if best else "") or trials[0]
    tags = {"recx.role": "sweep", "recx.sweep": folder.name, "recx.varied": ", ".join(varied(told))}
    ended = (folder / "summary" / "sweep.csv").is_file()
    status = "finished" if ended else "running" if _at_work(folder) else "killed"
    yield replace(chosen, name=f"sweep {folder.name}", status=status, tags=tags)
    yield from (replace(run, parent=chosen.id) for run in trials if run is not chosen)


def _at_work(folder: Path) -> bool:
    """Return whether a process holds the sweep."""
    from recx.core.system.locks import turn

    if not (folder / ".lock").is_file():
        return False
    try:
        with turn(folder / ".lock", wait=False):
            return False
    except BlockingIOError:
        return True


def _metrics(folder: Path) -> Mapping[str, float]:
    try:
        stored = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        return {name: NAN if value is None else float(value) for name, value in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # damaged: the line stands there without figures


def _settings(path: Path) -> Mapping[str, str]:
    import yaml

    from recx.core.system.serialize import flat

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
    try:
        return flat(yaml.load(path.read_text(encoding="utf-8"), loader))
    except (OSError, ValueError, AttributeError, yaml.YAMLError):
        return {}
