"""Turns the errors of Hydra and OmegaConf into one sentence that says how to correct the configuration."""

from __future__ import annotations

import inspect
import re
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import hydra
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException
from yaml import MarkedYAMLError

from recx.config import factory, option_sources
from recx.config.hydra_internals import (
    ALREADY_CHOSEN,
    AMBIGUOUS,
    CHOSEN_TWICE,
    NOT_AN_OPTION,
    NOT_GLOBAL,
    NOT_QUOTED,
    NOTHING_CHOSEN,
)
from recx.config.overrides import quoted
from recx.core.errors import InputError, did_you_mean

_NO_FOLDER = r"provider=hydra\.searchpath"
_NOISE = ("full_key:", "object_type=", "reference_type=", "See https://", "Config search path", "provider=")

OF_PLUGINS = {
    "colorlog": "pip install hydra-colorlog",
    "submitit_local": "install recx-lab again, with its extra 'slurm' (python -m recx help install)",
    "submitit_slurm": "install recx-lab again, with its extra 'slurm' (python -m recx help install)",
}
"""Option of a Hydra plugin that may be missing -> how to install it."""


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of Hydra and OmegaConf inside the context into an ``InputError`` of one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=_NO_FOLDER, category=UserWarning)  # Hydra would pass it over
            yield
    except UserWarning as error:
        raise InputError(
            f"hydra.searchpath: {str(error).partition('path=')[2].removesuffix('.')}: name a folder of option files"
        ) from error
    except (HydraException, OmegaConfBaseException, MarkedYAMLError) as error:
        raise explanation(error) from error
    except ValueError as error:
        if str(error).startswith(NOT_AN_OPTION):
            raise InputError(
                "a group takes the name of an option, not null, a number, true or false: see `python -m recx list` (of "
                "no re-ranker it is reranker=none)"
            ) from error
        if str(error).startswith(NOT_QUOTED):
            raise InputError(
                "a defaults list takes options by name, but YAML reads on and off as true and false: write - override "
                '/cache: "off", with the quotes'
            ) from error
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        if not Path(raised_in).is_relative_to(Path(hydra.__file__).parent):
            raise
        raise InputError(f"{error}: `python -m recx --hydra-help` shows these flags") from error


def explanation(error: BaseException) -> InputError:
    """Return the error to show to the user instead of this one."""
    if isinstance(error, MissingConfigException):
        return InputError(_unknown_option(error))
    if isinstance(error, OverrideParseException):
        example = quoted(error.override) if "=" in error.override else "dataset.path='a,b.csv'"
        return InputError(
            f"{error.override!r} cannot be read: write KEY=VALUE, such as ranker.l2=0.1; if the value is one text, put "
            f'it into quotes inside those of the shell: "{example}"'
        )
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark
        where = f"{mark.name}, line {mark.line + 1}" if mark else "an option file"
        return InputError(f"{where}: it is not valid YAML ({error.problem}): correct the file")
    if isinstance(error, ConfigCompositionException):
        return InputError(_not_composed(error))
    if isinstance(error, OmegaConfBaseException):
        return InputError(_of_value(error))
    return InputError(_one_line(str(error)))


def _unknown_option(error: MissingConfigException) -> str:
    group, _, option = (error.missing_cfg_file or "").rpartition("/")
    known = [other.rpartition("/") for other in option_sources.options()]
    if group.startswith("hydra/") and option in OF_PLUGINS:
        return f"{group}={option}: the Hydra plugin that has this option is not installed: {OF_PLUGINS[option]}"
    plugin = next((name for name, brings in option_sources.PLUGINS.items() if f"{group}/{option}" in brings), None)
    if plugin is not None:
        return (
            f"{group}={option}: the plugin that has this option, {plugin}, is not installed: run `pip install -c "
            f"constraints.txt -e plugins/{plugin}` in recx's folder (python -m recx help install)"
        )
    if not group:
        near = did_you_mean(option, [stem for folder, _, stem in known if not folder])
        return f"--config-name={option}: there is no such primary configuration: {near}"
    in_group = error.options or [stem for folder, _, stem in known if folder == group]
    if in_group:
        return f"{group}={option}: there is no such option: {did_you_mean(option, in_group)}"
    groups = {folder for folder, _, _ in known if folder}
    absolute = group.removeprefix("experiment/")
    if absolute in groups:
        return f"{group}={option}: there is no group {group!r}: write - override /{absolute}: {option}, with the slash"
    return f"{group}={option}: there is no group {group!r}: {did_you_mean(group, groups)}"


def _not_composed(error: ConfigCompositionException) -> str:
    if isinstance(error.__cause__, OmegaConfBaseException):
        return _of_value(error.__cause__)
    text = str(error)
    quoted = text.split("'")[1] if "'" in text else ""
    if AMBIGUOUS in text:
        return f"{quoted}: for one run after the other add -m, for a list write KEY=[A,B], for one text quote the value"
    if NOTHING_CHOSEN in text:
        return f"{quoted}=…: no option is selected for this group yet: write +{quoted}=NAME"
    if ALREADY_CHOSEN in text or CHOSEN_TWICE in text:
        group = text.split(ALREADY_CHOSEN)[-1].split(CHOSEN_TWICE)[0].split(".")[0]
        return (
            f"+{group}=…: an option is already selected for this group: write {group}=NAME, without the plus, or in a "
            f"defaults list - override /{group}: NAME"
        )
    if NOT_GLOBAL in text:
        return _not_overridden(text)
    return _one_line(text)


def _not_overridden(text: str) -> str:
    """Return the sentence about a line of a defaults list that overrides nothing."""
    found = re.search(r"(?s)In '(.*?)':.* override '(/?)(.*?): (.*?)'.* for '(.*?)'", text)
    if found is None:
        return _one_line(text)
    file, slash, group, option, key = found.groups()
    where = f"{file}: override {slash}{group}: {option}"
    if not slash:
        return f"{where}: a group begins with a slash here: write override /{group}: {option}"
    groups = {name.rpartition("/")[0] for name in option_sources.options()} - {""}
    if group.partition("@")[0] not in groups and not group.startswith("hydra/"):
        return f"{where}: there is no group {group!r}: {did_you_mean(group, groups)}"
    if "@" in key:
        return f"{where}: the first line of an experiment's file must be: # @package _global_"
    return f"{where}: no option is selected for this group: write /{group}: {option}, without override"


def _of_value(error: OmegaConfBaseException) -> str:
    key = error.full_key or str(error.key)
    if isinstance(error, MissingMandatoryValue):
        return f"{key} has no value: give {key}=VALUE"
    if isinstance(error, ConfigKeyError | AttributeError):
        parent, _, name = key.rpartition(".")
        if name in settings_of(error.parent_node, parent):
            return (
                f"{key}: the option file lacks this setting: add the line {name}: VALUE to it, or write ++{key}=VALUE"
            )
        what = f"{parent} has no setting {name!r}" if parent else f"there is no key {name!r}"
        return f"{key}: {what}: {did_you_mean(name, _keys(error.parent_node))}"
    return f"{key}: {_one_line(str(error))}"


def settings_of(node: object, key: str) -> Iterable[str]:
    """Return the settings of the class of a part, if the node is one whose class can be found."""
    target = node.get("_target_") if isinstance(node, DictConfig) else None
    with suppress(InputError):
        return inspect.signature(factory.locate(target, key)).parameters if target else ()
    return ()


def _keys(node: object) -> Iterable[str]:
    keys = getattr(node, "keys", None)
    return [str(key) for key in keys() if not str(key).startswith("_")] if keys else []


def _one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(_NOISE))
