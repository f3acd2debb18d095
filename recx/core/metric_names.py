"""Names of metrics as papers and other tools write them, such as ``HR@10``, and recx's own name for each."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from recx.core.errors import did_you_mean

OTHER_NAMES = {
    **dict.fromkeys(("hr", "hitrate", "hitratio", "hits", "h", "success"), "hit"),
    **dict.fromkeys(("r", "rec"), "recall"),
    **dict.fromkeys(("rcap", "recallcap", "cappedrecall", "caprecall"), "recall_capped"),
    **dict.fromkeys(("p", "prec"), "precision"),
    **dict.fromkeys(("f1", "f1score", "fscore"), "f"),
    **dict.fromkeys(("n", "ndcgcut", "normalizeddcg"), "ndcg"),
    **dict.fromkeys(("ap", "averageprecision", "meanaverageprecision"), "map"),
    "mapcut": "map_trec",
    **dict.fromkeys(("rr", "reciprank", "reciprocalrank", "meanreciprocalrank", "arhr"), "mrr"),
    "itemcoverage": "coverage",
    **dict.fromkeys(("arp", "averagepopularity", "averagerecommendationpopularity"), "popularity"),
    **dict.fromkeys(("ild", "intralistdiversity"), "diversity"),
    **dict.fromkeys(("rsp", "poprsp"), "pop_rsp"),
    **dict.fromkeys(("reo", "popreo"), "pop_reo"),
    **dict.fromkeys(("ckl", "calibration"), "miscalibration"),
}
"""A name elsewhere, in lower case and without separators -> ours without ``_at_k``."""
LOWER_IS_BETTER = re.compile(
    r"(time|data)/|.*(logloss|lost_in_|pop_rsp|pop_reo|miscalibration|aurc|_tokens|trace_cost|cost_per_success"
    r"|normalised_entropy|calibration_error)"
)
CUT = re.compile(r"(.+?)(?:(?:@|_at_|[._ ]|(?<=[a-z]{2}))([1-9][0-9]*))?")


def spelled(name: str) -> str:
    """Return the name that a metric of another spelling would have here: ``hit_at_10`` for ``HR@10``."""
    stage, slash, bare = name.strip().rpartition("/")
    low = re.sub(r"\s*@\s*", "@", bare.lower().replace("-", "_"))
    found = CUT.fullmatch(low) if _plain(low) not in OTHER_NAMES else None
    figure, k = found.groups() if found else (low, None)
    ours = OTHER_NAMES.get(_plain(figure), figure.strip().replace(" ", "_"))
    return f"{stage}{slash}{ours}_at_{k}" if k else f"{stage}{slash}{ours}"


def split_name(name: str) -> tuple[str, str, int | None]:
    """Return the stage, the metric and the cut (None if there is none) of a figure such as ``ranking/ndcg_at_5``."""
    stage, _, metric = name.rpartition("/")
    found = re.fullmatch(r"(.+)_at_(\d+)", metric)
    return (stage, found[1], int(found[2])) if found else (stage, metric, None)


def by_stage(means: Mapping[str, float]) -> dict[str, dict[str, dict[float, float]]]:
    """Return figures as a table shows them: stage -> metric -> cut (infinity: uncut) -> value."""
    blocks: dict[str, dict[str, dict[float, float]]] = {}
    for name, value in means.items():
        stage, metric, k = split_name(name)
        blocks.setdefault(stage, {}).setdefault(metric, {})[math.inf if k is None else k] = value
    return blocks


def lower_is_better(name: str) -> bool:
    """Return whether a lower value of a figure is better."""
    return LOWER_IS_BETTER.match(name) is not None


def hint(name: str, known: Collection[str]) -> str:
    """Return the end of an error message about a metric that is not known: what it is called here, or what is near."""
    ours = spelled(name)
    named = [one for one in known if one == ours or one.endswith(f"/{ours}")]
    wanted = [one for one in named if one.startswith("end_to_end/")] or named
    return f"it is called {wanted[0]} here" if wanted else did_you_mean(name, known)


def _plain(name: str) -> str:
    return re.sub("[_ ]", "", name)
