"""The end of a sweep: its conclusion, what was chosen on the test fold beside the baseline, and what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.chosen import data_name
from recx.core.exit_codes import DONE, FAILED
from recx.core.fold_names import outside_name
from recx.core.run_context import RunContext
from recx.core.secrets import hidden
from recx.core.system.screen import echo
from recx.experiment.saved_nouns import nouns_of_configs
from recx.experiment.saved_runs import SavedRun
from recx.jobs.sweep import plan
from recx.jobs.sweep.baseline import AS_IT_IS, BESIDE, FIRST, named, own_of
from recx.jobs.sweep.checks import compares_on_test
from recx.jobs.sweep.conclusion import Conclusion, OnTest, seen_on_test, standings_of
from recx.jobs.sweep.importance import conditional, importances
from recx.jobs.sweep.journal import Trial, TrialJournal
from recx.jobs.sweep.pooled import pooled_of
from recx.jobs.sweep.simplest import simplest
from recx.jobs.sweep.summary import differing
from recx.jobs.sweep.trial import TrialRunner, axes_of
from recx.jobs.sweep.variants import Variant, variants_of

if TYPE_CHECKING:
    from recx.core.trackers import Run

FINAL = "final"
"""The journal, in the folder of a sweep, of the runs beside its trials."""
BEST, BASELINE, OWN = range(3)
"""Their numbers there: what was chosen, and the baseline, both on test; the experiment as it is, like a trial."""


@dataclass(frozen=True)
class Outcome:
    """A finished sweep.

    Attributes:
        trials: All its trials, sorted by number.
        table: The table of its trials (see ``recx.jobs.sweep.summary.table``).
        exit_code: ``FAILED`` if a trial failed, else ``DONE``.
    """

    trials: Sequence[Trial]
    table: Mapping[str, Sequence[Any]]
    exit_code: int


def finish(current: plan.Sweep, parent: Run, context: RunContext) -> Outcome:
    """Conclude from the trials, run what was chosen and the baseline on test, and write and print the summary.

    Args:
        current: The sweep.
        parent: Its tracked run.
        context: What the runs beside its trials belong to.
    """
    from recx.jobs.sweep.output import print_sweep, write_sweep
    from recx.jobs.sweep.sentences import sentences
    from recx.report.markdown import of_sweep
    from recx.report.terminal.console import console_of_stdout

    trials = TrialJournal(current.folder / "trials").trials()
    failed = sum(bool(trial.reason) for trial in trials)
    conclusion, final = _on_test(current, _concluded(current, trials, context), context)
    title = hidden(f"sweep of {', '.join(current.varied)} on {data_name(current.config)}")
    words = hidden(" ".join(current.overrides))
    tables = write_sweep(conclusion, trials, title, words, current.folder)
    parent.log_tags({"recx.failed": str(failed), **_tags(conclusion, trials, final)})
    for name, columns in tables.items():
        parent.log_table(name, columns)
    if len(conclusion.variants) == 1:  # the sweep is one chain over seeds or folds, and its figures are those of all
        for pooled in conclusion.pooled.values():
            parent.log_metrics(dict(zip(pooled.table["metric"], pooled.table["mean"], strict=True)))
    parent.log_files(current.folder / "summary")
    if folder := _folder_of_chosen(conclusion, final):  # what was chosen is what others look for in the sweep
        parent.log_tags({"recx.folder": str(folder.absolute())})
    parent.describe(of_sweep(f"{title}: {words}", sentences(conclusion), tables["settings"], conclusion.objective))
    print_sweep(console_of_stdout(), conclusion, current.folder)
    if final and conclusion.chosen:
        result = final.reason or f"{current.config['objective']} = {final.objective:.4f}"
        echo(f"chosen trial ({conclusion.chosen.done[0].number}), once on test: {result}   {final.folder}")
    if parent.address:
        echo(f"address {parent.address}")
    return Outcome(trials, tables["trials"], FAILED if failed or (final and final.reason) or not trials else DONE)


def _concluded(current: plan.Sweep, trials: Sequence[Trial], context: RunContext) -> Conclusion:
    """Return the conclusion from the sweep's own fold."""
    objective, fold = (str(current.config[key]) for key in ("objective", "fold"))
    chooses = not compares_on_test(current.config)
    baseline, why, variants = _baseline(current, trials, context)
    done = [one for one in variants if one.done]
    rows, untested = standings_of(variants, objective, fold, baseline, done[0] if done and chooses else None)
    found = Conclusion(
        variants=variants,
        objective=outside_name(objective, fold),
        chooses=chooses,
        baseline=baseline,
        why_baseline=why,
        standings=rows,
        untested=untested,
        importances=importances(trials),
        conditional=conditional(trials),
        pooled={one.name: found for one in done if (found := pooled_of(one.done)) is not None},
        nouns=nouns_of_configs(SavedRun(Path(one.done[0].folder)).config for one in variants if one.done),
    )
    best = found.best
    if best is None:
        return found
    if current.choose == plan.BEST or not found.alike:
        only = len(found.done) == 1
        return replace(found, chosen=best, why_chosen="the only one that there is" if only else "the best mean")
    chosen, how = simplest(found.alike)
    of = f"the simplest of {len(found.alike)} that are not told apart from the best"
    itself = " and the best mean" if chosen is best else ""
    return replace(found, chosen=chosen, why_chosen=f"{of}{itself}{how and f': {how}'}")


def _baseline(
    current: plan.Sweep, trials: Sequence[Trial], context: RunContext
) -> tuple[Variant | None, str, list[Variant]]:
    """Return the baseline, why it is that, and all variants; a search also runs the experiment as it is."""
    objective, fold = (str(current.config[key]) for key in ("objective", "fold"))
    variants = variants_of(trials, objective=objective, fold=fold)
    if not any(one.done for one in variants):
        return None, "", variants
    first = min(variants, key=lambda one: one.trials[0].number)
    if current.baseline:
        found = named(current.baseline, variants)
        why = f"as baseline={current.baseline} says"
        return (found[0], why, variants) if len(found) == 1 else (first, f"{FIRST}: no other {why}", variants)
    own = own_of(variants, lambda more: _composed(current, [*current.base, *more]))
    if own is not None:
        return own, AS_IT_IS, variants
    if not current.optimises:
        return first, FIRST, variants
    trial = _beside(current, OWN, "own", current.base, replace(context, name="baseline", role="baseline"))
    variants = variants_of(trials, trial, objective, fold)
    return next(one for one in variants if trial in one.trials), BESIDE, variants


def _on_test(current: plan.Sweep, found: Conclusion, context: RunContext) -> tuple[Conclusion, Trial | None]:
    """Run what was chosen on valid once on test, the baseline before it; return what came of it."""
    chosen, baseline = found.chosen, found.baseline
    if chosen is None or current.config["fold"] != "valid":
        return found, None
    beside = None
    if baseline is not None and baseline.done and baseline is not chosen:
        where = replace(context, name="baseline on test", role="baseline")
        beside = _beside(current, BASELINE, "baseline", _for_test(baseline.done[0]), where)
    best = chosen.done[0]
    varied = axes_of(best.overrides, current.varied)
    where = replace(context, name=f"best{varied and f', {varied}'}", role="best", chosen_by=best.folder)
    final = _beside(current, BEST, "best", _for_test(best), where, whole=True)
    if final.objective is None:
        return replace(found, on_test=OnTest()), final
    other = Path(beside.folder) if beside and beside.objective is not None else None
    return replace(found, on_test=seen_on_test(Path(final.folder), other, str(current.config["objective"]))), final


def _for_test(trial: Trial) -> list[str]:
    return [*(override for override in trial.overrides if not override.startswith("fold=")), "fold=test"]


def _beside(
    current: plan.Sweep, number: int, name: str, overrides: Sequence[str], context: RunContext, *, whole: bool = False
) -> Trial:
    """Run the chain of some overrides beside the trials, unless that is done."""
    journal = TrialJournal(current.folder / FINAL)
    runner = TrialRunner(number, overrides, current.folder / name, journal, context, whole=whole, prunable=False)
    return runner.run(lambda: _composed(current, overrides))


def _composed(current: plan.Sweep, overrides: Sequence[str]) -> Mapping[str, Any]:
    from recx.config.compose import compose, plain

    path = [override for override in current.overrides if override.startswith("hydra.searchpath=")]
    return plain(compose([*path, *overrides]))


def _tags(found: Conclusion, trials: Sequence[Trial], final: Trial | None) -> dict[str, str]:
    """Return what the parent run says of its trials."""
    pruned = sum(trial.pruned is not None for trial in trials)
    tags = {"recx.varied": ", ".join(differing(trials)), **({"recx.pruned": str(pruned)} if pruned else {})}
    if found.baseline is not None:
        tags["recx.baseline"] = " ".join(found.baseline.trials[0].overrides)
    chosen = _folder_of_chosen(found, final)
    return tags | ({"recx.best": " ".join(found.chosen.done[0].overrides)} if found.chosen and chosen else {})


def _folder_of_chosen(found: Conclusion, final: Trial | None) -> Path | None:
    """Return the folder of what was chosen: of its run on test where there is one; None where that failed."""
    if found.chosen is None:
        return None
    trial = final or found.chosen.done[0]
    return Path(trial.folder) if trial.objective is not None else None
