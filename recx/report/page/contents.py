"""Everything that a run's page shows, as one plain mapping: saved as ``report.json``, rendered by ``page.render``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.protocols import Featured
from recx.core.ragged import rows_of_groups
from recx.core.system.serialize import plain, title
from recx.core.types import Longs
from recx.experiment.experiment import Result
from recx.parts.shared.design_matrix import design_matrix, names_of
from recx.report.page.report_data import ReportData
from recx.report.page.sampled_features import Contributions
from recx.report.page.section_examples import SEED, chosen_requests, chosen_users, examples
from recx.report.page.section_figures import answer, curves_of, intervals, metric_rows
from recx.report.page.section_run import story_of_the_run
from recx.report.page.section_slices import columns_of, groups_of, slices_of
from recx.report.page.section_training import distributions, learnt

VERSION = 2
"""Of the form of ``report.json``; pages are made again only from stories of this one."""
SAMPLE, SAMPLED_ROWS = 200, 30_000
"""Users, and rows at most, whose features make the histograms."""


def contents(
    result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any], advice: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the story of a run. What there is nothing to tell of is left out.

    folder: of the run, whose files are written already. config: the composed configuration. card: the protocol card.
    advice: sentences on what the figures call for.
    """
    held = ReportData.of(result, config)
    told: dict[str, Any] = {
        "version": VERSION,
        "name": str(config.get("name", folder.name)),
        "about": title(config),
        "folder": folder.name,
        "run": story_of_the_run(result, config, card),
        "learnt": learnt(result),
        "doctor": _doctor(result),
        "advice": list(advice),
    }
    users = chosen_requests(result) if held is None else chosen_users(held)
    contributions = None if held is None else Contributions.of(result, folder, held.list_of_user[users])
    if held is not None:
        objective = str(config.get("objective", ""))
        assert result.report is not None
        values, groups = list(result.report.values.values()), groups_of(held)
        ends = intervals([*values, *columns_of(held, groups)])
        rows = metric_rows(result.report, ends[: len(values)])
        told |= {
            "objective": objective,
            "metrics": rows,
            "answer": answer(held, rows, objective),
            "curves": curves_of(held),
            "slices": slices_of(held, groups, ends[len(values) :]),
        }
        told["learnt"] |= _features(held)
    told["examples"] = examples(result, held, users, contributions)
    whole: dict[str, Any] = plain({name: what for name, what in told.items() if what})
    return whole


def _drawn(held: ReportData) -> Longs:
    """Return a sample of the judged users' lists, drawn by a fixed seed."""
    typical = max(float(held.before.lists.lengths.mean()), 1.0)
    n = min(SAMPLE, held.n_users, max(int(SAMPLED_ROWS / typical), 1))
    return np.sort(held.list_of_user[np.random.default_rng(SEED).choice(held.n_users, n, replace=False)])


def _features(held: ReportData) -> dict[str, Any]:
    """Return how the features of targets differ from those of other candidates, over a sample of users."""
    ranker, fold = held.result.experiment.ranker, held.result.split.fold
    if not isinstance(ranker, Featured) or not ranker.features:
        return {}
    drawn = _drawn(held)
    candidates = held.result.candidates.take(drawn)
    matrix = design_matrix(ranker.features, candidates, fold.history, fold.requests[drawn])
    judged = held.before
    places = np.searchsorted(held.list_of_user, drawn)
    target = judged.gain[rows_of_groups(judged.lists.indptr, places)] >= judged.rel_threshold
    weights = held.result.weights or held.result.importances
    found = distributions(names_of(ranker.features, candidates), matrix, target, weights)
    return {"features": found, "features_of": len(drawn)} if found else {}


def _doctor(result: Result) -> list[dict[str, Any]]:
    told = ("name", "count", "of", "verdict", "why", "share")
    return [{name: getattr(finding, name) for name in told} for finding in result.findings]
