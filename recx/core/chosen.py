"""What runs are compared by: the chosen options, the settings that are not theirs, and the names made of both.

They come from ``chosen`` in a run's configuration, which ``recx.config.chosen`` writes when it is composed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from recx.core.system.serialize import flat

CHOSEN = "chosen"
"""The key of a configuration."""
NO_MATTER = ("cache", "engine", "lists", "report", "runtime", "tracker")
"""Settings that do not affect a run's figures."""
TOP = ("fold", "n_candidates")
"""Settings that every run is compared by."""
MADE_UP = "made up"
NAMED = ("dataset.path", "fold", "name", "objective")
"""Settings that the name of a run has no need to repeat."""
MOST, LONGEST = 4, 60
"""Settings in a run's name, and characters of them all."""


def option(config: Mapping[str, Any], group: str) -> str:
    """Return the word that chose the part of a group, or the module of a part that was not chosen by one."""
    word = config.get(CHOSEN, {}).get("options", {}).get(group)
    if word is not None:
        return str(word)
    part = config.get(group)
    target = str(part.get("_target_", "")) if isinstance(part, Mapping) else ""
    module, name = target.split(".")[-2:] if "." in target else ("", "")
    return name.lower() if module == group else module  # a plugin of one part may name its module after the group


def chain(config: Mapping[str, Any]) -> str:
    """Return the retriever, the ranker and the re-ranker, such as ``union_news + linear``; "" if there is none."""
    return " + ".join(filter(None, (option(config, group) for group in ("retriever", "ranker", "reranker"))))


def data_name(config: Mapping[str, Any]) -> str:
    """Return the name of the data and its filters, such as ``clicks.csv, k_core``.

    The data is named by its file or folder, or by the dataset's word, which may say ``made up``.
    """
    dataset, name = config.get("dataset"), option(config, "dataset")
    if isinstance(dataset, Mapping):
        target, path = str(dataset.get("_target_", "")), dataset.get("path")
        generated = path is None if "path" in dataset else ".synthetic" in target
        name = f"{name} ({MADE_UP})" if generated else _file_name(path) or name
    return ", ".join([name, *(config.get("filter") or ())])


def _file_name(path: Any) -> str:
    """Return the name of a file, or of the first of a list of them."""
    first, *more = path if isinstance(path, list | tuple) and path else [path]
    return Path(str(first or "")).name + (f" and {len(more)} more" if more else "")


def run_name(config: Mapping[str, Any], varied: str = "") -> str:
    """Return a name that says what is varied, chain and data, such as ``union_news + linear, ranker.l2=0.1 on day1``.

    Pages show the beginnings of names, so that what sets runs apart comes first: in a sweep, what it varies.

    Args:
        config: The plain configuration.
        varied: What a sweep varies in this run; "": the run's settings that are not those of the option files.
    """
    of_chain = ", ".join(filter(None, (chain(config), "" if varied else _settings(config))))
    of_all = " on ".join(filter(None, (of_chain, data_name(config))))
    return ": ".join(filter(None, (varied, of_all)))


def params(config: Mapping[str, Any]) -> dict[str, str]:
    """Return what a person compares runs by as name -> text: options, fold, cut of the candidates, chosen settings.

    Args:
        config: The composed configuration of a run.
    """
    found = config.get(CHOSEN)
    if found is None:
        return flat(config)  # no configuration of a chain, such as the few words of a sweep
    top = {key: config[key] for key in TOP if key in config}
    named = {**found["options"], **flat(top), **flat(found["settings"])}
    return {key: text for key, text in named.items() if key.partition(".")[0] not in (*NO_MATTER, "name")}


def shared(config: Mapping[str, Any], varied: Collection[str]) -> dict[str, Any]:
    """Return what the trials of a sweep have in common of the configuration of one of them.

    Args:
        config: The plain configuration of a trial.
        varied: The groups and settings that differ between trials.
    """

    def differs(key: str) -> bool:
        return any(f"{key}.".startswith(f"{name}.") for name in varied)

    kept = {kind: {key: x for key, x in named.items() if not differs(key)} for kind, named in config[CHOSEN].items()}
    return {**{key: value for key, value in config.items() if key not in varied}, CHOSEN: kept}


def _settings(config: Mapping[str, Any]) -> str:
    """Return the chosen settings as text, as many as a name can hold."""
    settings = flat(config.get(CHOSEN, {}).get("settings", {}))
    texts = [f"{key}={text}" for key, text in settings.items() if key.partition(".")[0] not in NO_MATTER]
    texts = [text for text in texts if text.partition("=")[0] not in NAMED]
    shown = texts[:MOST]
    while len(" ".join(shown)) > LONGEST:
        shown.pop()
    return " ".join([*shown, *(["…"] if len(shown) < len(texts) else [])])
