"""A study from start to end: the parent run, tunings on valid, cells on test, the lock file, tables and page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import factory, option_sources
from recx.core import project
from recx.core.errors import InputError
from recx.core.exit_codes import DONE, FAILED
from recx.core.fold_names import VALID
from recx.core.metric_names import hint
from recx.core.run_context import RunContext
from recx.core.system.atomic import write_text
from recx.core.system.locks import turn
from recx.core.system.plain_files import read_text
from recx.core.system.screen import echo
from recx.jobs.study import lock
from recx.jobs.study.cells import Cell, CellOutcome, Key, Pair
from recx.jobs.study.plan import Choice, Local, Plan, merged
from recx.jobs.study.side_by_side import Job, Workers
from recx.jobs.study.tables import StudyTables, tables_of
from recx.jobs.study.work import CellJob, Place, TuningJob
from recx.jobs.sweep.journal import Trial

if TYPE_CHECKING:
    from recx.core.trackers import Run

HOME = Path("outputs", "studies")
STARTED, HELD = "started.json", ".lock"
"""The file with the id of a study, by which its tracked run is found again; what is locked while it runs."""


@dataclass(frozen=True)
class StudyResult:
    """A finished study.

    Attributes:
        folder: Its folder.
        outcomes: What came of each cell.
        tables: What they say together.
    """

    folder: Path
    outcomes: Sequence[CellOutcome]
    tables: StudyTables

    @property
    def exit_code(self) -> int:
        """``FAILED`` if a cell failed, else ``DONE``."""
        return FAILED if any(one.reason for one in self.outcomes) else DONE


def run(plan: Plan, local: Local, workers: Workers, *, resume: bool = False) -> StudyResult:
    """Run a study, or what is missing of it.

    Args:
        plan: The study.
        local: What belongs to this machine.
        workers: How many jobs run at a time, and where.
        resume: Whether to go on with the study of this name.

    Raises:
        InputError: There is no study to resume, or there is one already, or it is running, or it says other than then.
    """
    folder = HOME / plan.name
    with _held(folder, plan.name):
        _begin(plan, local, folder, resume)
        with _tracked(plan, local, folder) as (parent, context):
            place = Place(folder.absolute(), Path.cwd(), local, context, project.current())
            chosen, outcomes = _run(plan, place, workers)
            tables = _write(plan, chosen, outcomes, folder)
            _record(tables, plan.name, folder, parent)
    return StudyResult(folder, outcomes, tables)


@contextmanager
def _held(folder: Path, name: str) -> Iterator[None]:
    try:
        with turn(folder / HELD, wait=False):
            yield
    except BlockingIOError:
        raise InputError(
            f"study {name}: another process is running it: wait, or start another with name=OTHER"
        ) from None


def _begin(plan: Plan, local: Local, folder: Path, resume: bool) -> None:
    """Write the lock file of a new study, or compare that of an earlier start."""
    before = (folder / lock.FILE).is_file()
    if before and not resume:
        raise InputError(
            f"study {plan.name}: {folder} holds one of that name: `python -m recx study {plan.name} resume` goes on "
            "with it, name=OTHER starts another"
        )
    if resume and not before:
        raise InputError(f"study {plan.name}: none was started in {HOME}: leave out resume")
    if not before:
        foreign = sorted(path.name for path in folder.iterdir() if path.name != HELD)
        if foreign:
            raise InputError(
                f"study {plan.name}: {folder} holds other files ({', '.join(foreign[:3])}): give name=OTHER"
            )
        write_text(folder / STARTED, json.dumps({"id": f"{plan.name}_{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"}) + "\n")
    else:
        content = lock.check_same(plan, folder)
        for sentence in lock.differences(content):
            echo(f"{sentence}: cells that are done stay as they are")
        if content.get("options") != option_sources.content_hash():
            _check_unedited(plan, local, folder)
    if not before:
        lock.write(plan, plan.chosen, plan.expected, folder)


def _check_unedited(plan: Plan, local: Local, folder: Path) -> None:
    """Raise InputError if the option files now give other settings to a cell that is done."""
    from recx.jobs.sweep.edited import hash_of

    place = Place(folder, Path.cwd(), local, RunContext(), project.current())
    for cell in plan.cells:
        for trial in place.journal(cell).trials():
            own = trial.number == cell.seed and not trial.reason
            if own and hash_of(local.composed(trial.overrides)) != trial.settings:
                raise InputError(
                    f"study {plan.name}: the option files were edited since chain {cell.chain} ran in world "
                    f"{cell.world}: a table must not mix both: put the files back, or start anew with name=OTHER"
                )


@contextmanager
def _tracked(plan: Plan, local: Local, folder: Path) -> Iterator[tuple[Run, RunContext]]:
    """Yield the tracked run of the study, and what the runs of its cells belong to."""
    from recx.core.trackers import SweepTracker

    study = str(json.loads(read_text(folder / STARTED))["id"])
    tracker = factory.build(plan.config["tracker"], "tracker")
    parameters = {
        "study": plan.name,
        **{f"{kind}s": ", ".join(_names(plan, kind)) for kind in ("chain", "world", "seed")},
        "baseline": plan.baseline or "",
        "objective": plan.metrics[0],
        "fold": "test",
    }
    start = tracker.sweep if isinstance(tracker, SweepTracker) else tracker.run
    with start(plan.name, parameters, RunContext(sweep=study, name=f"study {plan.name}")) as parent:
        yield parent, RunContext(getattr(parent, "run_id", ""), study)


def _names(plan: Plan, kind: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(cell, kind)) for cell in plan.cells))


def _run(plan: Plan, place: Place, workers: Workers) -> tuple[dict[Pair, Choice], list[CellOutcome]]:
    """Run tunings and cells; return what was chosen, and what came of each cell.

    A cell starts when its settings are known. The seeds of a chain do not start together: what they share, such as the
    data, is in the stage cache when the second one starts.
    """
    chosen, trials = dict(plan.chosen), dict[Key, Trial]()
    waiting = {one.pair for one in plan.tunings} - chosen.keys()
    tunings = [TuningJob(one, place) for one in plan.tunings if one.pair in waiting]

    def jobs_of(cells: Iterable[Cell]) -> list[Job]:
        known = [_complete(cell, chosen.get(cell.pair, Choice())) for cell in cells if not _why_not(cell, chosen)]
        return [CellJob(cell, place) for cell in sorted(known, key=lambda cell: plan.seeds.index(cell.seed))]

    def ended(job: Job, result: Any) -> list[Job]:
        if isinstance(job, TuningJob):
            chosen[job.plan.pair] = result
            echo(f"tuned {job.plan.chain} in {job.plan.world}: {_choice(result, plan.metrics[0])}", flush=True)
            return jobs_of(cell for cell in plan.cells if cell.pair == job.plan.pair)
        assert isinstance(job, CellJob)
        trials[job.cell.key] = result
        of = f"{len(trials)} of {len(plan.cells)}: {job.cell.chain} in {job.cell.world}, seed {job.cell.seed}"
        echo(f"{of}: {_result(result, plan.metrics[0])}", flush=True)
        return []

    at_first = jobs_of(cell for cell in plan.cells if cell.pair not in waiting)
    _announce(plan, place, tunings)
    workers.run([*tunings, *at_first], ended)
    return chosen, [_outcome_of(cell, chosen, trials, plan) for cell in plan.cells]


def _announce(plan: Plan, place: Place, tunings: Sequence[TuningJob]) -> None:
    chains, worlds, seeds = (len(_names(plan, kind)) for kind in ("chain", "world", "seed"))
    done = sum(
        trial.objective is not None
        for cell in plan.cells
        for trial in place.journal(cell).trials()
        if trial.number == cell.seed
    )
    more = f"; tuned before: {len(tunings)} on valid" if tunings else ""
    before = f", {done} of them done before" if done else ""
    echo(f"{chains} chains × {worlds} worlds × {seeds} seeds: {len(plan.cells)} cells{before}{more}", flush=True)


def _why_not(cell: Cell, chosen: Mapping[Pair, Choice]) -> str:
    """Return why a cell cannot run, since its settings could not be tuned; "" if it can."""
    return chosen[cell.pair].reason if cell.pair in chosen else ""


def _choice(choice: Choice, metric: str) -> str:
    return choice.reason or f"{' '.join(choice.overrides)} ({VALID}{metric} = {choice.value:.4f})"


def _result(trial: Trial, metric: str) -> str:
    if trial.objective is None:
        return f"failed: {trial.reason}"
    return f"{metric} = {trial.objective:.4f} in {trial.seconds:.1f} s"


def _complete(cell: Cell, choice: Choice) -> Cell:
    """Return a cell with all that its run is composed of."""
    return replace(cell, overrides=merged(cell.overrides, choice.overrides, ["fold=test", f"seed={cell.seed}"]))


def _outcome_of(cell: Cell, chosen: Mapping[Pair, Choice], trials: Mapping[Key, Trial], plan: Plan) -> CellOutcome:
    complete = _complete(cell, chosen.get(cell.pair, Choice()))
    if cell.key not in trials:
        return CellOutcome(complete, None, None, math.nan, 0, _why_not(cell, chosen))
    return outcome(complete, trials[cell.key], plan.metrics, plan.expected.get(cell.key, ""))


def outcome(cell: Cell, trial: Trial, metrics: Sequence[str], expected: str = "") -> CellOutcome:
    """Return what came of a cell.

    Args:
        cell: The cell.
        trial: The result of its run.
        metrics: The figures that are compared, which are kept of its evaluation.
        expected: The hash that its data must have; "": any.
    """
    from recx.experiment.saved_runs import SavedRun

    found = CellOutcome(cell, None, None, trial.seconds, trial.memory, trial.reason)
    if trial.reason:
        return found
    saved = SavedRun(Path(trial.folder))
    try:
        if expected and saved.data_hash != expected:
            return replace(
                found, reason=f"its data is not that of the lock file (hash {saved.data_hash}, not {expected})"
            )
        whole = saved.evaluation
    except InputError as error:
        return replace(found, reason=str(error))
    lacking = next((name for name in metrics if name not in whole.means), None)
    if lacking is not None:
        return replace(found, reason=f"metrics: the run has no {lacking}: {hint(lacking, whole.means)}")
    values = {name: column for name, column in whole.values.items() if name in metrics}
    scalars = {name: number for name, number in whole.scalars.items() if name in metrics}
    return replace(found, folder=saved.folder, evaluation=replace(whole, values=values, scalars=scalars))


def _write(plan: Plan, chosen: Mapping[Pair, Choice], outcomes: Sequence[CellOutcome], folder: Path) -> StudyTables:
    """Write the files of a finished study; return its tables."""
    from recx.experiment.saved_nouns import nouns_of_configs
    from recx.experiment.saved_runs import SavedRun
    from recx.jobs.study.output import SUMMARY, write_outputs

    runs = {one.cell.key: SavedRun(one.folder) for one in outcomes if one.folder is not None}
    nouns = nouns_of_configs(run.config for run in runs.values())
    tables = tables_of(outcomes, plan.metrics, plan.baseline, average=plan.average, nouns=nouns)
    write_outputs(plan.name, tables, folder)
    for place in (folder, folder / SUMMARY):  # for people, and among the files that a tracker gets
        lock.write(plan, chosen, {**plan.expected, **{cell: run.data_hash for cell, run in runs.items()}}, place)
    return tables


def _record(tables: StudyTables, name: str, folder: Path, parent: Run) -> None:
    """Hand a finished study to its tracker, and print it."""
    from recx.jobs.study.output import SUMMARY, print_study
    from recx.jobs.study.paper import paper_table
    from recx.jobs.study.sentences import sentences
    from recx.report.paper_table import of_markdown
    from recx.report.terminal.console import console_of_stdout

    failed = sum(bool(reason) for reason in tables.runs["reason"])
    parent.log_tags({"recx.failed": str(failed), "recx.folder": str(folder.absolute())})
    for metric, table in tables.pivot.items():
        parent.log_table(metric.replace("/", "_"), table.to_dict("list"))
    parent.log_files(folder / SUMMARY)
    parts = [f"**study {name}**"]
    for metric in tables.metrics:
        said = "\n".join(f"- {sentence}" for sentence in sentences(tables, metric))
        parts += [said, of_markdown(paper_table(name, tables, metric))]
    parent.describe("\n\n".join(parts))
    print_study(console_of_stdout(), tables, folder)
    if parent.address:
        echo(f"address {parent.address}")
