"""Past runs: what the MLflow store under ``outputs`` knows of, and the folders of those that no store knows of."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

NAN = float("nan")
NO_MATTER = ("cache", "report", "runtime", "tracker")
"""Settings that change no figure of a run."""
LONGEST_VALUE = 30
RANKER = r"benchmark\.rankers\.[^.]+\._target_"


@dataclass(frozen=True, eq=False)
class PastRun:
    """One line of the table of runs.

    id: what `recx compare` and the others take. name: what the run is called in the store, "" where there is none.
    status: finished, failed, killed, running or pruned. start: unix seconds. seconds: NaN while it runs. folder: its
    files, "" where it left none. parent: id of the run that this one is a part of; trials: how many trials are parts of
    it. read: gives the settings.
    """

    id: str
    experiment: str
    status: str
    start: float
    seconds: float
    folder: str
    metrics: Mapping[str, float]
    read: Callable[[], Mapping[str, str]]
    name: str = ""
    parent: str = ""
    reason: str = ""
    trials: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The composed configuration: dotted name -> text, read when it is first asked for."""
        return self.read()

    @cached_property
    def parts(self) -> str:
        """What the run is known by: its retriever and ranker, such as ``union + linear``, or what it compared."""
        compared = [name.split(".")[2] for name in self.settings if re.fullmatch(RANKER, name)]
        if compared:
            return f"benchmark of {', '.join(compared)}"
        found = (option(self.settings, group) for group in ("retriever", "ranker"))
        return " + ".join(name for name in found if name)


def option(settings: Mapping[str, str], group: str) -> str:
    """Return the part that was chosen in a group, such as ``item_knn``; "" where there is none."""
    return settings.get(f"{group}._target_", "").split(".")[-2:][0]


def past_runs(outputs: Path, *, trials: bool = False) -> list[PastRun]:
    """Return every run, newest first; what is a part of another (a trial of a sweep) only with ``trials``.

    Raises:
        RecxError: there is a store and it cannot be read.
    """
    database = outputs / "mlflow.db"
    stored: list[PastRun] = []
    if database.is_file():
        from recx.tracker.stored_runs import stored_runs

        stored = stored_runs(database)
    known = {run.folder for run in stored if run.folder}
    found = [*stored, *_untracked(outputs, known)]
    counted = Counter(run.parent for run in found if run.name != "best")
    whole = [replace(run, trials=counted[run.id]) for run in found if trials or not run.parent]
    return sorted(whole, key=lambda run: (-run.start, run.id))


def differing(runs: Sequence[PastRun]) -> dict[str, str]:
    """Return run id -> what sets it apart from most of the runs here that have the same experiment and parts.

    A value that more than half of them have goes without saying. ``+x`` and ``-x``: only this run has, or lacks, x.
    """
    alike: dict[tuple[str, str], list[PastRun]] = defaultdict(list)
    for run in runs:
        alike[run.experiment, run.parts].append(run)
    return {run.id: " ".join(words) for group in alike.values() for run, words in _apart(group)}


def _apart(group: Sequence[PastRun]) -> Iterator[tuple[PastRun, list[str]]]:
    trees = _trees([run.settings for run in group])
    every = sorted({node for tree in trees for node in tree})
    counted = {node: Counter(tree.get(node) for tree in trees).most_common(1)[0] for node in every}
    usual = {node: value for node, (value, times) in counted.items() if 2 * times > len(group)}
    open_nodes = [node for node in every if counted[node][1] < len(group)]
    for run, tree in zip(group, trees, strict=True):
        words: list[str] = []
        said: tuple[str, ...] = ()
        for node in open_nodes:
            value = tree.get(node)
            if node.startswith(said) or (node in usual and value == usual[node]):
                continue
            if value is None and node not in usual:
                continue
            words.append(f"-{node}" if value is None else f"{node}={_short(value)}" if value else f"+{node}")
            said = (*said, f"{node}.")
        yield run, words


def _trees(every: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return of each run the settings that are not the same in all, and "" for every name that holds such settings.

    A part stands for its group: ``ranker=linear``.
    """
    same = set.intersection(*(set(settings.items()) for settings in every))
    held = {above for name, _ in same for above in _above(name)}
    trees = []
    for settings in every:
        tree: dict[str, str] = {}
        for name, value in settings.items():
            if (name, value) in same or name.split(".")[0] in NO_MATTER:
                continue
            tree.update({above: "" for above in _above(name) if above not in held and above not in tree})
            if name.endswith("._target_"):
                tree[name.removesuffix("._target_")] = value.split(".")[-2:][0]
            else:
                tree[name] = value
        trees.append(tree)
    return trees


def _above(name: str) -> list[str]:
    """Return the names that hold a name: ``a`` and ``a.b`` for ``a.b.c``."""
    words = name.split(".")
    return [".".join(words[:depth]) for depth in range(1, len(words))]


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"


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
    from recx.sweep.book import Book
    from recx.sweep.summary import differing as varied

    told = Book(folder / "trials").trials()
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
    from recx.locks import turn

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

    from recx.plain import flat

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
    try:
        return flat(yaml.load(path.read_text(encoding="utf-8"), loader))
    except (OSError, ValueError, AttributeError, yaml.YAMLError):
        return {}
