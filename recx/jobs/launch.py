"""Runs a composed experiment: threads, parts, folder, tracker, files, printed summary.

Nothing that imports numpy is imported before the number of threads is set: the thread pools of numpy, FAISS and other
libraries read it when they are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError, RecxError, reason
from recx.core.metric_names import hint
from recx.core.run_context import ALONE, RunContext
from recx.core.secrets import hidden_in
from recx.core.system.own_folder import OwnFolder
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from recx.core.trackers import Run, Tracker
    from recx.experiment.chosen_by import ChosenBy
    from recx.experiment.experiment import Experiment, Result
    from recx.experiment.report_writers import ReportWriter
    from recx.storage.cache.settings import StageCache


FILES = (
    *("config.yaml", "protocol.json", "metrics.json", "per_user.parquet"),
    *("recommendations.parquet", "report.json", "report.html", "figures", "tables", "model", "valid"),
    *("submission.csv", "detailed_results.csv", "detailed_results.parquet"),
    *("candidates.parquet", "retriever", "ranker"),  # of an earlier recx
)
"""The files and folders of a run."""
IN_TABLES = ("data/", "num_queries", "weight/", "weight_low/", "weight_high/", "importance/")
"""Prefixes of what a tracker gets as tables: in a chart of figures, nobody would find these among a hundred."""


def folder_of_run(path: Path) -> OwnFolder:
    """Return the folder of a run, which must be new, empty or of an earlier run."""
    return OwnFolder(path, FILES)


def launch(config: Mapping[str, Any], own: OwnFolder, *, trial: bool = False, context: RunContext = ALONE) -> Result:
    """Run the experiment of a plain configuration, track it, and write its files to a folder.

    The folder holds a finished run only once everything is written and tracked. A tracker that fails at the end does
    not undo a run whose files are complete.

    Args:
        config: See ``recx.config.compose.plain``.
        own: The folder for the files.
        trial: Whether it is one of a sweep, which is silent and writes only its configuration, its figures and its
            protocol card.
        context: What the tracked run belongs to.

    Raises:
        InputError: The configuration, the folder or the data cannot be used.
        RecxError: A part violated its protocol, or the tracker failed.
        Pruned: The trial was ended early (see ``recx.core.pruning``).
    """
    if config.get("benchmark") is not None:
        raise InputError(
            "benchmark: it runs several chains, but here only one can run: leave out -m (from Python, call "
            "recx.jobs.benchmark.run.benchmark(config, folder))"
        )
    with limited_to(config["runtime"]["threads"]) as threads:
        from recx.core.mapped import temporary_in
        from recx.core.progress import shown_on
        from recx.experiment import build, protocol_card
        from recx.experiment.advice import advice
        from recx.experiment.chosen_by import ChosenBy
        from recx.experiment.scores import check_probabilities
        from recx.report.terminal.console import console_of_stdout, print_summary
        from recx.storage.cache.full_disk import with_room

        plan, console, complete, failure = build.plan(config), console_of_stdout(), False, None
        check_probabilities(plan.experiment)
        config = hidden_in(config)  # from here on it is only shown
        with own.held():
            try:
                with _tracked(plan.tracker, config, context) as run, nullcontext() if trial else shown_on(console):
                    with temporary_in(own.path):
                        result = _run(plan.experiment, plan.cache, threads, trial)
                    card, sentences = protocol_card.card(result, config), advice(result.metrics, result.findings)
                    chosen = ChosenBy(Path(context.chosen_by)) if context.chosen_by else None
                    output = Output(result, own, config, card, sentences, None if trial else plan.report, chosen)
                    with_room(own.path, lambda: output.write(whole=not trial))
                    complete = True
                    with_room(own.path, lambda: output.record(run))
                    own.seal()
            except Exception as error:
                if trial or not complete:
                    raise
                failure = error
                own.seal()
        if not trial:
            print_summary(console, result, own.path, run, sentences)
        if failure is not None:
            raise RecxError(f"{reason(failure)}; the run itself is complete, its files are in {own.path}") from failure
        return result


@dataclass(frozen=True)
class Output:
    """What a run leaves behind."""

    result: Result
    own: OwnFolder
    config: Mapping[str, Any]
    card: Mapping[str, Any]
    sentences: Sequence[str]
    report: ReportWriter | None
    chosen: ChosenBy | None

    def write(self, *, whole: bool) -> None:
        """Write the files of a run; only configuration, figures and protocol card if it need not be whole."""
        from recx.core.progress import say
        from recx.core.system.sizes import readable
        from recx.experiment import permutation, saved_runs
        from recx.experiment.files import write_table
        from recx.experiment.model.keep import keep
        from recx.report.charts import figures
        from recx.report.page.report_data import cut_of
        from recx.report.page.write import write

        result, folder = self.result, self.own.path
        self.own.begin()
        if not whole:
            saved_runs.save_figures(result, folder, self.config, self.card)
            return
        size = keep(result, folder, self.config, self.card)
        if size is not None:
            say(f"  the model is kept, {readable(size)}")
        if self.chosen is not None:
            self.chosen.copy_to(folder)
        saved_runs.save(result, folder, self.config, self.card)
        figures.write(result.tables, folder)
        if self.report is not None:
            self.own.add(self.report.write(result, folder))
        lost = permutation.importance(result, cut_of(str(self.config.get("objective", "")), result.metrics))
        if lost:
            (folder / "tables").mkdir(exist_ok=True)
            write_table(folder / "tables" / "permutation_importance.csv", lost)
        write(result, folder, self.config, self.card, self.sentences, lost)

    def record(self, run: Run) -> None:
        """Hand the run to its tracker: figures to compare as metrics, all else as tables and files."""
        from recx.core.chosen import data_name
        from recx.core.fold_names import outside
        from recx.core.run_context import OBJECTIVE
        from recx.core.trackers import MODEL, ModelRun
        from recx.experiment import protocol_card
        from recx.experiment.model.form import kept_model
        from recx.experiment.report_writers import TableWriter
        from recx.report.markdown import of_run
        from recx.storage.readers.in_memory import is_in_memory

        result, metrics, fold = self.result, self.result.metrics, self.result.experiment.fold
        if isinstance(self.report, TableWriter):
            run.log_table("detailed_results", self.report.table(result))
        run.log_metrics(outside({name: x for name, x in metrics.items() if not name.startswith(IN_TABLES)}, fold))
        if self.chosen is not None:
            run.log_metrics(self.chosen.figures)
            run.log_tags({OBJECTIVE: str(self.config["objective"])})
        run.log_curves(outside(result.curves, fold))
        for name, columns in _tables(result).items():
            run.log_table(name, columns)
        path = (self.config.get("dataset") or {}).get("path") or []
        paths = [path] if isinstance(path, str) else path
        as_they_are = [one for one in paths if "://" in one or is_in_memory(one)]
        source = ", ".join(one if one in as_they_are else str(Path(one).expanduser().absolute()) for one in paths)
        run.log_dataset(data_name(self.config), str(self.card["data_hash"]), source)
        run.log_tags(protocol_card.tags(self.card))
        run.describe(of_run(result, self.config, self.sentences))
        run.log_files(self.own.path)
        kept = self.own.path / MODEL
        if isinstance(run, ModelRun) and kept.is_dir():
            run.log_model(kept_model(result, kept, self.config))


def _tables(result: Result) -> dict[str, Mapping[str, Sequence[Any]]]:
    """Return what a tracker keeps as tables: counts, the weights or importances of features, and confused items."""
    counted = ("data/", "num_queries")
    counts = {name.removeprefix("data/"): x for name, x in result.metrics.items() if name.startswith(counted)}
    tables: dict[str, Mapping[str, Sequence[Any]]] = {"counts": {"count": list(counts), "value": list(counts.values())}}
    if "weights" in result.tables:
        tables["weights"] = {name: column.tolist() for name, column in result.tables["weights"].items()}
    confused = result.tables.get("confused_items", {})
    if any(map(len, confused.values())):
        tables["confused_items"] = {name: column.tolist() for name, column in confused.items()}
    if result.importances:
        tables["importances"] = {"feature": list(result.importances), "share": list(result.importances.values())}
    return tables


@contextmanager
def _tracked(tracker: Tracker, config: Mapping[str, Any], context: RunContext) -> Iterator[Run]:
    """Yield the tracker's run; that of a pruned trial finishes normally, with a tag and its last values."""
    from recx.core.pruning import Pruned

    pruned = None
    with tracker.run(config["name"], config, context) as run:
        try:
            yield run
        except Pruned as stop:
            run.log_curves({"pruning/reached": list(stop.course.values())})
            run.log_tags({"recx.pruned": str(stop)})
            pruned = stop
    if pruned is not None:
        raise pruned


def _run(experiment: Experiment, settings: StageCache, threads: int, trial: bool) -> Result:
    """Run the chain with the stage cache, which keeps of a trial only what others can use."""
    from recx.core.protocols import HasDiagnostics

    if trial and isinstance(experiment.ranker, HasDiagnostics):
        experiment = replace(experiment, ranker=experiment.ranker.without_diagnostics())
    from recx.experiment.caching import cached
    from recx.storage.cache.store import CACHE

    passing = ("fit_ranker", "rank", "evaluate") if trial else ()
    cache = settings.open(Path(CACHE).absolute(), threads, passing)
    if cache is None:
        return experiment.run()
    with cache.used():
        return replace(cached(experiment, cache).run(), experiment=experiment, hits=cache.hits)


def objective(result: Result, name: str) -> float:
    """Return the metric that a sweep maximizes.

    Args:
        result: The result of a run.
        name: The full name of the metric, such as ``end_to_end/ndcg_at_5``.

    Raises:
        InputError: The run has no metric of that name, or it is not finite.
    """
    metrics = result.metrics
    if name not in metrics:
        raise InputError(f"objective={name}: the run has no such metric: {hint(name, metrics)}")
    value = float(metrics[name])
    if not abs(value) < float("inf"):
        raise InputError(f"objective={name}: it is {value} in this run, so it cannot be compared with other trials")
    return value
