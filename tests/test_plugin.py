"""The door for authors of parts: its names, and that parts use nothing else of recx."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from recx import plugin

ROOT = Path(__file__).resolve().parents[1]
NAMES = [
    "ANY_GAIN",
    "After",
    "Analyzer",
    "Array",
    "Bools",
    "ClickedItems",
    "Constant",
    "Dataset",
    "Decay",
    "Doubles",
    "Duration",
    "Eligibility",
    "Encoder",
    "Entities",
    "Epochs",
    "Evaluation",
    "Evaluator",
    "EventCounter",
    "Examples",
    "Explainable",
    "Feature",
    "FeatureSet",
    "Featured",
    "Features",
    "Filter",
    "FindsSimilar",
    "FitSummary",
    "FittedEncoder",
    "FittedExternal",
    "FittedFeature",
    "FittedRanker",
    "FittedRetriever",
    "FittedWith",
    "Floats",
    "Fold",
    "FoldName",
    "GroundTruth",
    "HOUR",
    "HasDiagnostics",
    "Inner",
    "InputError",
    "Interactions",
    "Ints",
    "JudgedLists",
    "KeptModel",
    "Learner",
    "Loading",
    "Longs",
    "MOMENT",
    "Metric",
    "ModelRun",
    "NonNegativeFloat",
    "NonNegativeInt",
    "NotKept",
    "NotPerUserError",
    "Notes",
    "Nouns",
    "OfItems",
    "PairValue",
    "PerItem",
    "PerUser",
    "PositiveFloat",
    "PositiveInt",
    "Preflight",
    "Program",
    "Pruned",
    "Pruner",
    "RankedLists",
    "Ranker",
    "RecxError",
    "Requests",
    "Retriever",
    "Run",
    "RunContext",
    "SECOND",
    "Sampling",
    "Saveable",
    "Scoring",
    "Seed",
    "Seen",
    "SeenEvents",
    "Share",
    "Similar",
    "SlateRetriever",
    "Split",
    "Splitter",
    "Stopping",
    "SweepTracker",
    "Total",
    "Tracker",
    "Trainee",
    "Training",
    "UNKNOWN_EVENTS",
    "UNKNOWN_TIME",
    "Unit",
    "Unretrieved",
    "Validation",
    "Vectors",
    "available",
    "bar",
    "blocks",
    "check",
    "check_address",
    "check_names",
    "check_plain",
    "check_room",
    "checked",
    "chosen_params",
    "design_blocks",
    "design_matrix",
    "did_you_mean",
    "fit_program",
    "fitted_parts_of",
    "group_of_rows",
    "indptr_of",
    "max_of_groups",
    "may_be_target",
    "milliseconds",
    "names_of",
    "once_per_input",
    "one_blas_thread",
    "order_in_groups",
    "position_of_rows",
    "python_of",
    "reached",
    "read_text",
    "replacing",
    "rows_of_groups",
    "say",
    "split_by_steps",
    "stoppable",
    "sum_of_groups",
    "texts_of",
    "top_k",
    "track",
    "trained",
    "trained_on",
    "unit",
    "unit_embedding",
    "with_events",
    "with_only",
    "write_text",
]
USERS = {"recx", "recx.results"}
"""What users call, which a part that loads an earlier run calls too."""
PARTS = sorted([*ROOT.glob("plugins/*/recx_*/**/*.py"), *ROOT.glob("examples/project/cafe/*.py")])
TESTS = sorted([*ROOT.glob("plugins/*/tests/*.py"), *ROOT.glob("examples/project/tests/*.py")])


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_the_names_are_those_that_authors_of_parts_know() -> None:
    assert sorted(plugin.__all__) == NAMES  # a name that comes or goes belongs into CHANGELOG.md
    assert all(hasattr(plugin, name) for name in NAMES)


def others_of_recx(files: list[Path], allowed: set[str]) -> set[tuple[str, str]]:
    """Return file and module of each import from recx that is not allowed."""
    pairs = ((str(file.relative_to(ROOT)), name) for file in files for name in imported(file))
    return {(file, name) for file, name in pairs if name.split(".")[0] == "recx" and name not in allowed}


def test_parts_of_plugins_and_projects_use_nothing_else_and_their_tests_the_checks_too() -> None:
    assert len(PARTS) > 20 < len(TESTS)
    assert others_of_recx(PARTS, {"recx.plugin", *USERS}) == set()
    assert others_of_recx(TESTS, {"recx.plugin", "recx.testing", *USERS}) == set()
