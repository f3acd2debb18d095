"""Everything that a run's page shows, as one plain mapping: saved as ``report.json``, rendered by ``page.render``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recx.experiment import Result
from recx.plain import plain, title
from recx.ragged import rows_of_groups
from recx.report.page.held import Held
from recx.report.page.sampled import Sampled
from recx.report.page.story_examples import SEED, chosen_requests, chosen_users, examples
from recx.report.page.story_figures import answer, curves_of, intervals, metric_rows
from recx.report.page.story_learnt import distributions, learnt
from recx.report.page.story_run import story_of_the_run
from recx.report.page.story_slices import columns_of, groups_of, slices_of
from recx.types import Longs

VERSION = 2
"""Of the form of ``report.json``; pages are made again only from stories of this one."""
SAMPLE, SAMPLED_ROWS = 200, 30_000
"""Users, and rows at most, whose features make the histograms."""


def story(
    result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any], advice: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the story of a run. What there is nothing to tell of is left out.

    folder: of the run, whose files are written already. config: the composed configuration. card: the protocol card.
    advice: sentences on what the figures call for.
    """
    held = Held.of(result, config)
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
    sampled = Sampled.of(result, folder, _lists(held, users))
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
        told["learnt"] |= _features(held, sampled)
    told["examples"] = examples(result, held, users, sampled)
    whole: dict[str, Any] = plain({name: what for name, what in told.items() if what})
    return whole


def _lists(held: Held | None, users: Longs) -> Longs:
    """Return the lists whose features are needed: the examples' and a sample of all; none when predicting."""
    if held is None:
        return np.zeros(0, dtype=np.int64)
    return np.union1d(held.list_of_user[users], _drawn(held))


def _drawn(held: Held) -> Longs:
    """Return a sample of the judged users' lists, drawn by a fixed seed."""
    typical = max(float(held.before.lists.lengths.mean()), 1.0)
    n = min(SAMPLE, held.n_users, max(int(SAMPLED_ROWS / typical), 1))
    return np.sort(held.list_of_user[np.random.default_rng(SEED).choice(held.n_users, n, replace=False)])


def _features(held: Held, sampled: Sampled | None) -> dict[str, Any]:
    """Return how the features of targets differ from those of other candidates, over a sample of users."""
    if sampled is None:
        return {}
    drawn = _drawn(held)
    at = np.searchsorted(sampled.lists, drawn)
    rows = rows_of_groups(sampled.candidates.indptr, at)
    judged = held.before
    places = np.searchsorted(held.list_of_user, drawn)
    target = judged.gain[rows_of_groups(judged.lists.indptr, places)] >= judged.rel_threshold
    weights = held.result.weights or held.result.importances
    found = distributions(sampled.names, sampled.matrix[rows], target, weights)
    return {"features": found, "features_of": len(drawn)} if found else {}


def _doctor(result: Result) -> list[dict[str, Any]]:
    return [
        {
            **{name: getattr(finding, name) for name in ("name", "count", "of", "verdict", "why")},
            "share": finding.share,
        }
        for finding in result.findings
    ]
