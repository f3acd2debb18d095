"""What a person chose, of everything that Hydra composed: the options, and the settings that are not theirs.

A run has some three hundred settings, most of which say what the chosen option files say anyway. These few are what two
runs are compared by; they stand in ``config.yaml`` under ``chosen``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from recx.config import option_sources
from recx.config.hydra_internals import key_of, parse
from recx.core import project
from recx.core.errors import InputError

Compose = Callable[[Sequence[str]], DictConfig]
NO_PART = "none"
"""The option by which a group has no part, as it has by default, so that a sweep can name it beside others."""
WITHOUT = "without"
"""Under this name stand the settings that the option files have and the configuration lacks, such as features."""


def chosen(config: DictConfig, hydra: Any, resolved: Mapping[str, Any], compose: Compose) -> dict[str, dict[str, Any]]:
    """Return the options and the settings that a person chose.

    Args:
        config: The composed configuration.
        hydra: Hydra's part of it.
        resolved: The configuration as plain values.
        compose: Composes the configuration of overrides.

    Raises:
        InputError: A filter is chosen twice.

    Returns:
        ``options``: group -> the word that chooses its option; for a part that no option file holds, its class.
        ``settings``: dotted name -> value of each setting that differs from the option files, or was typed, and
        ``without``. One that refers to another setting, such as ``${seed}``, differs only where that is replaced.
    """
    choices = {str(group): word for group, word in hydra.runtime.choices.items() if not {"@", "/"} & set(str(group))}
    _refuse_twice(hydra.overrides.task)
    choices = {**_filters(resolved.get("filter")), **choices}
    of_parts = {name: str(part["_target_"]).rpartition(".")[2] for name, part in resolved.items() if _is_part(part)}
    options = {group: word for group, word in {**of_parts, **choices}.items() if word not in (None, NO_PART)}
    here, usual = _leaves(OmegaConf.to_container(config, resolve=False)), _usual(config, choices, compose)
    keys = [key for key in here if key not in usual or here[key] != usual[key]]
    keys += [key for key in _typed(hydra.overrides.task, choices, here) if key not in keys]
    settings = {key: value for key in keys for value in _values(resolved, key) if key.partition(".")[0] != "hydra"}
    missing = " ".join(_missing(usual, here))
    settings |= {WITHOUT: missing} if missing else {}
    return {"options": dict(sorted(options.items())), "settings": settings}


def _refuse_twice(overrides: Sequence[str]) -> None:
    """Check that no filter is chosen twice, of which Hydra would keep one."""
    for override in parse(list(overrides)):
        words: Any = override.value()
        for word in words if key_of(override) == "filter" and isinstance(words, list) else ():
            if words.count(word) > 1:
                raise InputError(
                    f"filter={words}: {word} is in the list twice, and would be applied once: leave it out, or add it "
                    f"under another name, such as +filter.{word}_again={{_target_: …}}"
                )


def _filters(filters: Any) -> dict[str, str]:
    """Return the word that chooses several filters, which Hydra does not report as a choice; {} if there are none."""
    known = option_sources.options() if isinstance(filters, Mapping) else {}
    names = [name for name in filters or () if f"filter/{name}" in known]
    return {"filter": f"[{','.join(names)}]"} if names else {}


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and "_target_" in value


def _usual(config: DictConfig, choices: Mapping[str, Any], compose: Compose) -> Mapping[str, Any]:
    """Return the settings as the chosen option files have them; as they are here if these do not compose alone."""
    # Groups that were added, such as experiment, are no part of the configuration.
    words = tuple(f"{group}={word}" for group, word in choices.items() if group in config and word is not None)
    own = project.current()
    try:
        return _composed(compose, words, own.folders, own.config_name, option_sources.content_hash())
    except InputError:
        return _leaves(OmegaConf.to_container(config, resolve=False))


@lru_cache(maxsize=16)
def _composed(
    compose: Compose, words: tuple[str, ...], folders: tuple[Path, ...], config_name: str, content: str
) -> Mapping[str, Any]:
    """Return the flat settings of options; the arguments after ``words`` are what these depend on."""
    return _leaves(OmegaConf.to_container(compose(words), resolve=False))


def _leaves(nested: Any, prefix: str = "") -> dict[str, Any]:
    """Return dotted name -> value, interpolations as written."""
    named: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping) and value:
            named.update(_leaves(value, f"{prefix}{key}."))
        elif prefix or key != "hydra":
            named[f"{prefix}{key}"] = value
    return named


def _typed(overrides: Sequence[str], choices: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that overrides set, each by the names of its leaves."""
    for key in map(key_of, parse(list(overrides))):
        if key not in choices:
            yield from (name for name in here if name == key or name.startswith(f"{key}."))


def _values(resolved: Any, key: str) -> Iterator[Any]:
    """Yield the value of a dotted name, unless it is not there."""
    node = resolved
    for name in key.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return
        node = node[name]
    yield node


def _missing(usual: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the option files have and the configuration lacks, by the shortest names."""
    above = {key[:end] for key in here for end in _ends(key)}
    found: dict[str, None] = {}
    for key in usual:
        if key not in above:
            found.setdefault(next(key[:end] for end in _ends(key) if key[:end] not in above), None)
    yield from (key for key in found if not key.startswith("hydra"))


def _ends(key: str) -> list[int]:
    """Return where the names above a dotted name, and the name itself, end."""
    return [*(place for place, sign in enumerate(key) if sign == "."), len(key)]
