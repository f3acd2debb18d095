"""From overrides to one configuration: search path, schema, composition.

``python -m recx`` lets ``hydra.main`` compose (sweeps, tab completion); ``recx.run`` does the same from Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from recx.config import hydra_rules, option_sources
from recx.config.chosen import NO_PART, chosen
from recx.config.hydra_errors import explained
from recx.config.hydra_internals import alone, checked, parse, register
from recx.config.sweepers.grid import Grid
from recx.config.sweepers.optuna import Search
from recx.core import project
from recx.core.chosen import CHOSEN

_FROM_ENVIRONMENT = re.compile(r"\$\{\s*oc\.env:[^{}]*\}")


@dataclass
class _Runtime:
    threads: Any = None


@dataclass
class Schema:
    """Every key of the top level, so that a typo in a file is an error; ``recx.experiment.build`` checks types."""

    name: Any = None
    seed: Any = None
    fold: Any = None
    n_candidates: Any = None
    refit: Any = None
    seen: Any = None
    objective: Any = None
    allow_tuning_on_test: Any = None
    lists: Any = None
    model: Any = "parts"
    cache: Any = None
    runtime: _Runtime = field(default_factory=_Runtime)
    dataset: Any = None
    filter: Any = None
    split: Any = None
    feature: Any = None
    encoder: Any = None
    retriever: Any = None
    ranker: Any = None
    reranker: Any = None
    engine: Any = None
    evaluator: Any = None
    tracker: Any = None
    report: Any = None
    pruner: Any = None
    benchmark: Any = None


class PluginSearchPath(SearchPathPlugin):
    """Adds the folders of plugins and of the person's project to our search path, without importing anything."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append each folder after our own; leave the search path of another program in this process as it is."""
        if any(str(entry.path).removeprefix("file://") == str(option_sources.CONF) for entry in search_path.get_path()):
            for source in option_sources.sources()[1:]:
                search_path.append(provider=source.package, path=f"file://{source.conf}")


def prepare() -> str:
    """Prepare Hydra for our option files and return the folder that holds them.

    Raises:
        InputError: Two packages contain an option of the same name, or a plugin is broken.
    """
    option_sources.options()
    ConfigStore.instance().store(name="schema", node=Schema, provider="recx", replace=True)
    register(PluginSearchPath, Grid, Search)
    return str(option_sources.CONF)


def compose(overrides: Sequence[str]) -> DictConfig:
    """Return the whole configuration, including Hydra's own part (``hydra``), of the current project.

    Raises:
        InputError: An override, an option or a key is unknown; the message names the closest match.
    """
    import hydra

    with alone(), checked(hydra_rules.check), explained(), hydra.initialize_config_dir(prepare(), job_name="recx"):
        return hydra.compose(project.current().config_name, list(overrides), return_hydra_config=True)


def plain(config: DictConfig, hydra: Any = None) -> dict[str, Any]:
    """Return a configuration, except for Hydra's part, as plain dictionaries and lists with interpolations resolved.

    A number or a truth value from the environment, as in ``seed: ${oc.env:SEED,0}``, is read as on the command line.
    ``chosen`` is added: the options and settings that a person chose (see ``recx.config.chosen``).

    Args:
        config: The composed configuration.
        hydra: Hydra's part, where the configuration lacks it; else None.

    Raises:
        InputError: A value is missing, or refers to an unknown key.
    """
    with explained():
        ours = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        with open_dict(ours), read_write(ours):
            _read_environment(ours, OmegaConf.to_container(ours, resolve=False))
        content = OmegaConf.to_container(ours, resolve=True, throw_on_missing=True)
    assert isinstance(content, dict)
    of_hydra = config.hydra if hydra is None else hydra
    words = of_hydra.runtime.choices
    named = {str(key): None if words.get(key) == NO_PART else value for key, value in content.items()}
    return {**named, CHOSEN: chosen(ours, of_hydra, named, compose)}


def _read_environment(config: Any, written: Any) -> None:
    """Replace each text from an environment variable by the number or truth value that it stands for, if any.

    Args:
        config: A part of a configuration.
        written: The same with interpolations as they were written.
    """
    for key, text in written.items() if isinstance(written, dict) else enumerate(written):
        if isinstance(text, dict | list):
            _read_environment(config[key], text)
        elif isinstance(text, str) and _FROM_ENVIRONMENT.fullmatch(text):
            config[key] = _scalar(str(config[key]))


def _scalar(text: str) -> Any:
    if re.fullmatch(r"[\w.+-]+", text, re.ASCII):
        value = parse([f"key={text}"])[0].value()
        if value is None or isinstance(value, bool | int | float):
            return value
    return text
