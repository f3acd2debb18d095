"""The page of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from recx.core.resampling import FEW_USERS, Procedure
from recx.core.system.serialize import plain
from recx.jobs.sweep.conclusion import Conclusion
from recx.jobs.sweep.pooled import Pooled
from recx.jobs.sweep.sentences import sentences
from recx.jobs.sweep.variants import Variant
from recx.report.charts.svg import Chart
from recx.report.page.render import render


def html_of(conclusion: Conclusion, title: str, words: str, folder: str, charts: Sequence[Chart]) -> str:
    """Return the page: cautions, conclusion, figures, and a table of all settings.

    Args:
        conclusion: What the sweep says.
        title: What was swept.
        words: Its overrides.
        folder: The name of its folder.
        charts: Its figures.
    """
    variants = conclusion.variants
    rows = [
        {
            **conclusion.standing(one),
            "rank": conclusion.rank(one) if one.done else None,
            "trial": one.name,
            "role": conclusion.roles(one),
            "text": one.text,
            "objective": one.objective,
            "spread": one.spread,
            "seconds": one.seconds,
            "reason": one.reason,
            "apart": conclusion.differs(one),
        }
        for one in variants
    ]
    page = plain(
        {
            "title": title,
            "words": words,
            "folder": folder,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "objective": conclusion.objective,
            "warnings": list(cautions(conclusion)),
            "conclusion": sentences(conclusion),
            "rows": rows,
            "tested": conclusion.tested,
            "repeats": any(one.runs > 1 for one in variants),
            "pooled": [
                _pooled(one, conclusion.pooled[one.name]) for one in conclusion.done if one.name in conclusion.pooled
            ],
            "failures": any(one.reason for one in variants),
            "nouns": vars(conclusion.nouns),
            "procedure": Procedure().in_words(_users(conclusion)),
        }
    )
    return render({**page, "charts": charts}, "sweep.html.jinja")


def _pooled(one: Variant, pooled: Pooled) -> dict[str, Any]:
    """Return the figures of a variant over its seeds or folds, for the page."""
    columns = [name for name in pooled.table if name.startswith(f"{pooled.repeat.name} ")]
    rows = [pooled.row(metric) for metric in pooled.table["metric"]]
    return {
        "text": one.text,
        "name": pooled.repeat.name,
        "trend": bool(pooled.repeat.trend),
        "heads": [(name, True) for name in columns],
        "rows": [{**row, "runs": [row[name] for name in columns]} for row in rows],
    }


def cautions(conclusion: Conclusion) -> Iterator[str]:
    """Yield what to know before the figures of a sweep are relied on."""
    missing = [trial for one in conclusion.variants for trial in one.trials if trial.missing]
    failed = sum(bool(trial.reason) for trial in missing)
    if failed:
        yield f"{failed} trial{'s' * (failed > 1)} failed and {'are' if failed > 1 else 'is'} not judged"
    if len(missing) > failed:
        pruned = len(missing) - failed
        yield f"{pruned} trial{'s' * (pruned > 1)} pruned before the end: not tested, though tried"
    yield from dict.fromkeys(one.missing for one in conclusion.pooled.values() if one.missing)
    if not conclusion.chooses:
        yield "these figures are of the test fold: to choose by them would be tuning on test"
    users = _users(conclusion)
    if conclusion.tested and users < FEW_USERS:
        yield f"fewer than {FEW_USERS} {conclusion.nouns.users}, so intervals and tests say little"
    if len(conclusion.alike) > 1:
        yield (
            f"{len(conclusion.alike)} settings are not told apart from the best: another sample of "
            f"{conclusion.nouns.users} might put another of them first"
        )


def _users(conclusion: Conclusion) -> int:
    """Return the number of users that the tests rest on; 0 where nothing is tested."""
    return int(max((row["users"] for row in conclusion.standings.values() if row["users"] == row["users"]), default=0))
