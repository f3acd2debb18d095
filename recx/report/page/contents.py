"""Everything that a run's page shows, as one plain mapping: saved as ``report.json``, rendered by ``page.render``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain as one_after_another
from pathlib import Path
from types import MappingProxyType
from typing import Any

from recx.core.chosen import chain, data_name
from recx.core.nouns import nouns_of
from recx.core.resampling import Procedure
from recx.core.system.own_folder import OUTPUTS
from recx.core.system.serialize import plain
from recx.core.types import Array
from recx.experiment.earlier_best import earlier_best
from recx.experiment.experiment import Result
from recx.experiment.reference_lines import reference_lines
from recx.report.page.report_data import ReportData
from recx.report.page.section_examples import examples
from recx.report.page.section_figures import RESAMPLES, answer, curves_of, intervals, metric_rows
from recx.report.page.section_run import run_data
from recx.report.page.section_slices import columns_of, groups_of, slices_of
from recx.report.page.section_training import confused, learned

VERSION = 3
"""Format of ``report.json``; pages can be rendered again from this version only."""


def contents(
    result: Result,
    folder: Path,
    config: Mapping[str, Any],
    card: Mapping[str, Any],
    advice: Sequence[str] = (),
    lost: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the data of a run's page, without the sections that would be empty.

    Args:
        result: The run.
        folder: Its folder, which contains its other files already.
        config: The composed configuration.
        card: The protocol card.
        advice: Sentences on what the figures suggest to do.
        lost: The permutation importance of the features (see ``recx.experiment.permutation``).
    """
    data = ReportData.of(result, config)
    page: dict[str, Any] = {
        "version": VERSION,
        "name": str(config.get("name", folder.name)),
        "about": chain(config),
        "data": data_name(config),
        "folder": folder.name,
        "nouns": vars(nouns_of(result.experiment.dataset)),
        "run": run_data(result, config, card),
        "learnt": learned(result, data, lost),
        "doctor": [{**vars(finding), "share": finding.share} for finding in result.findings],
        "advice": list(advice),
    }
    if data is not None and result.report is not None:
        objective, groups = str(config.get("objective", "")), groups_of(data, result.report)
        values = list(result.report.values.values())
        ends = intervals(one_after_another(values, columns_of(data, groups)))
        rows = metric_rows(result.report, ends[: len(values)])
        lines = reference_lines(result, "keep" if card.get("seen") == "keep" else "drop")
        earlier = earlier_best(Path(OUTPUTS), folder, card, objective)
        page |= {
            "objective": objective,
            "metrics": rows,
            "intervals": Procedure(resamples=RESAMPLES).in_words(data.n_users)["intervals"],
            "unsure": result.report.warnings,
            "answer": answer(data, rows, objective),
            "references": vars(lines),
            "earlier": {} if earlier is None else vars(earlier),
            "curves": curves_of(data),
            "slices": slices_of(data, groups, ends[len(values) :]),
            "confused": confused(result),
        }
    page["examples"] = examples(result, data, folder)
    return present(**page)


def present(**sections: Any) -> dict[str, Any]:
    """Return the sections of a page that are not empty, as plain values."""
    return dict(plain({name: value for name, value in sections.items() if value}))
