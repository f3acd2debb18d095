"""The files that runs, sweeps, studies, benchmarks and replays leave, and what the tracked run in MLflow has."""

from __future__ import annotations

from collections.abc import Mapping

from recx.jobs.replay import output as replay
from recx.jobs.study import output as study
from recx.jobs.sweep import output as sweep
from reference_pages.markdown import code, prose, table

FILES, TRACKED = "files-of-a-run", "names-in-mlflow"

RUN: Mapping[str, str] = {
    "config.yaml": "the whole configuration",
    "metrics.json": "full name of a metric -> mean over users; `time/` in seconds, `data/` counts",
    "per_user.parquet": "a row per evaluated user: the metrics, and in `slice/` what groups users",
    "recommendations.parquet": "a row per user and item shown, best first",
    "protocol.json": "the protocol card: what was held out, how it was judged, hashes, versions, counts",
    "report.html": "the page of the run, which needs no network",
    "report.json": "the data of the page, from which `report` writes it again",
    "tables": "small tables as CSV: what the ranker has learnt, curves, calibration",
    "figures": "the charts of the page as SVG",
    "model": "the chain, by which `predict`, `replay` and `serve` go on: `model.json` lists its files by size and hash",
    "valid": "the figures on `fold=valid` of the best run of a sweep",
    "submission.csv": "the lists in the form of a contest, where the experiment asks for it",
    "detailed_results.csv": "a row per task with its candidates and answer, where the experiment asks for it",
    "detailed_results.parquet": "the same as Parquet",
    "candidates.parquet": "of an earlier recx",
    "retriever": "of an earlier recx",
    "ranker": "of an earlier recx",
    ".recx": "marks the folder as one that recx has made",
}
"""A file or folder of a run -> what it has; trials of a sweep have the first of them."""
COLUMNS: Mapping[str, str] = {
    "user": "the id in the data",
    "rank": "the place in the list, from 1",
    "item": "the id in the data",
    "score": "of the ranker; comparable within a list only",
    "retriever_rank": "the place among the candidates, from 1",
    "retriever_score": "of the retriever",
    "SOURCE_rank, SOURCE_score": "of each source of a union; empty where the item is not from there",
}
"""Column of ``recommendations.parquet`` -> what it has."""
PER_USER: Mapping[str, str] = {
    "user": "the id in the data",
    "METRIC": "its value, in a column called by its full name",
    "slice/NAME": "the group of the user, or the number that users are grouped by",
}
"""Column of ``per_user.parquet`` -> what it has."""
TABLES: Mapping[str, Mapping[str, str]] = {
    "weights.csv": {
        "feature": "the feature",
        "weight": "of the standardised feature",
        "low": "lower end of the 95 % interval",
        "high": "upper end",
        "vif": "variance inflation factor",
    },
    "collinear_features.csv": {
        "group": "number of the group",
        "feature": "a feature in it",
        "alone": "its weight alone",
        "together": "that of the group",
    },
    "permutation_importance.csv": {
        "feature": "the feature",
        "ndcg_lost": "NDCG lost where its values are permuted",
        "low": "lower end of the interval",
        "high": "upper end",
    },
}
"""Table in ``tables`` -> column -> what it has."""
OTHERS: Mapping[str, Mapping[str, str]] = {
    "a sweep: `-m`, in `outputs/sweeps/ID`": {
        "0, 1, …": "the folders of the trials",
        "best": "the folder of the run with the best settings, on test",
        "trials": "a file of JSON per trial: settings, figures, seconds",
        "final": "the same of the runs on test",
        "summary": "`sweep.csv` (a row per trial), `settings.csv`, `sweep.json`, `sweep.svg`",
        sweep.PAGE: "the page of the sweep",
        "sweep.json": "what was asked for, by which `resume=` goes on",
        "multirun.yaml": "Hydra's configuration of the sweep",
    },
    "a study: `study`, in `outputs/studies/NAME`": {
        study.PAGE: "the page of the study",
        study.SUMMARY: f"its tables as CSV, LaTeX and Markdown, charts as SVG; `{study.DATA}` has all of them",
        "cells": "the folders of the runs",
        "tunings": "the sweeps that chose settings",
    },
    "a benchmark, in the folder of a run": {
        "benchmark.csv": "a row per ranker: quality, seconds, memory",
        "benchmark.json": "the same with the machine and the conclusions",
        "config.yaml, protocol.json": "as those of a run",
        "curves.svg": "quality over the number of candidates, where it was asked for",
    },
    "`replay`, in `outputs/replays`": {
        replay.CSV: "a row per window: figures, drift, alarms",
        replay.JSON: "the same, with what was asked for",
        replay.PAGE: "the page",
    },
    "all, in `outputs`": {
        "mlflow.db, mlflow-artifacts": "the store of MLflow, where no other is named",
        "cache": "the stage cache, which `cache` shows and prunes",
        "fetched": "files of runs that lie in another store",
        "reports": "pages that `report` writes of several runs",
    },
}
"""Of what and where -> file or folder -> what it has."""
TAGS: Mapping[str, str] = {
    "recx.baseline": "a sweep: the overrides of its baseline",
    "recx.best": "a sweep: the overrides of its best trial",
    "recx.compared": "a registered version: how it compares with the champion",
    "recx.cut_params": "params whose text was too long for MLflow",
    "recx.data": "the hash of the data",
    "recx.failed": "a sweep or study: how many runs failed",
    "recx.files": "the hash of the list of the run's files",
    "recx.folder": "the run's folder",
    "recx.host": "the machine",
    "recx.made_up": "that the data is made up",
    "recx.model": "the logged model, and the hash of its list of files",
    "recx.objective": "the metric that the experiment maximises",
    "recx.only_in_folder": "files that were too large to upload",
    "recx.pid": "the process",
    "recx.pid_started": "when it was started, in clock ticks of the machine",
    "recx.protocol": "the hash of the rules of the evaluation",
    "recx.pruned": "why a trial was stopped early; a sweep: how many were",
    "recx.rankers": "a benchmark: its rankers",
    "recx.reason": "why the run failed",
    "recx.role": "what the run is to others: sweep, trial, best, replay …",
    "recx.spelled": "names that MLflow does not accept, and how they are spelt there",
    "recx.sweep": "the sweep that it belongs to",
    "recx.varied": "a sweep: the settings that it varies",
    "recx.version": "the version of recx",
}
"""Tag -> what it says."""


def pages() -> dict[str, str]:
    """Return both pages."""
    return {FILES: _files(), TRACKED: _tracked()}


def _files() -> str:
    parts = ["# Files of a run\n", "A run writes these into `outputs/DATE/TIME_NAME`.\n", _table(RUN)]
    parts += ["## recommendations.parquet\n", _table(COLUMNS, "column")]
    parts += ["## per_user.parquet\n", _table(PER_USER, "column")]
    for name, columns in TABLES.items():
        parts += [f"## tables/{name}\n", _table(columns, "column")]
    for what, files in OTHERS.items():
        parts += [f"## Of {what}\n", _table(files)]
    return "\n".join(parts)


def _tracked() -> str:
    intro = (
        "The experiment of MLflow is called after `name`, or as `tracker.experiment` says; that of replays "
        "`NAME/replay`. The params are the words that chose options, `fold`, `n_candidates` and the settings that "
        "differ from the option files. The metrics are those of `metrics.json` by their full names, without the "
        "counts of `data/`, which are the artifact `counts.json`; curves of training have a value per epoch. "
        "Those of `fold=valid` begin with `valid/`. The artifacts are the files of the run, `counts.json` and "
        "`weights.json` as tables, and `files.json`, their list; the chain is a logged model."
    )
    return "\n".join(["# Names in MLflow\n", f"{intro}\n", "## Tags\n", _table(TAGS, "tag")])


def _table(rows: Mapping[str, str], head: str = "file or folder") -> str:
    def named(names: str) -> str:
        return ", ".join(name if name == "…" else code(name) for name in names.split(", "))

    return table((head, "what it has"), ((named(name), prose(text)) for name, text in rows.items()))
