"""What an option file may have Hydra do: nothing that runs code or opens a file outside of the run's folder.

Parts have a rule of their own (``recx.config.factory``). This one is for Hydra's own part of a configuration, which
Hydra acts on itself: logging, callbacks, launcher, sweeper, variables of the environment. It is checked as soon as a
configuration is composed, of every trial too, before Hydra acts on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from recx.core.errors import InputError
from recx.core.secrets import is_secret

Path = tuple[str | int, ...]

LOG_FILE = "${hydra.runtime.output_dir}/${hydra.job.name}.log"
"""Where Hydra's own logging option writes."""
COMMANDS = re.compile(r"setup|python|srun_args|additional_parameters|runtime_env|env_setup|\w*commands|file_mounts")
"""Settings of launchers that hold programs to run."""
SECTIONS: tuple[Path, ...] = (
    *((name,) for name in ("callbacks", "job_logging", "hydra_logging", "sweeper", "launcher")),
    ("job", "env_set"),
)
"""The parts that Hydra acts on."""
MADE = (("sweeper", "_target_"), ("launcher", "_target_"))
"""The objects that Hydra makes, only of the classes of its plugins."""
_SAMPLERS = ("optuna.samplers.", "hydra_plugins.hydra_optuna_sweeper.")
_STREAMS = ("ext://sys.stdout", "ext://sys.stderr")
_PLAIN = re.compile(r"[\w.-]*[\w-][\w.-]*", re.ASCII)


def check(config: DictConfig) -> None:
    """Check Hydra's part of a composed configuration.

    Raises:
        InputError: It would run code, or open a file elsewhere.
    """
    typed = [one.lstrip("+").partition("=")[0] for one in config.hydra.overrides.hydra]
    name, subdir = OmegaConf.select(config.hydra, "job.name"), OmegaConf.select(config.hydra, "output_subdir")
    if name is not None and not _PLAIN.fullmatch(str(name)):
        raise InputError(f"hydra.job.name={name}: it names a file in the run's folder: use letters, digits, _ . -")
    if subdir not in (None, ".hydra"):
        raise InputError(
            f"hydra.output_subdir={subdir}: the folder of Hydra's files in that of a run is .hydra, or null"
        )
    for path, value in (leaf for section in SECTIONS for leaf in _leaves(config.hydra, section)):
        key = ".".join(map(str, ("hydra", *path)))
        match path:
            case ("callbacks", *_) if path[1:] or value is not None:
                raise InputError(
                    f"{key}={value}: a callback of Hydra runs code that nobody chose: leave hydra.callbacks out"
                )
            case ("job_logging" | "hydra_logging", *inner):
                if not _is_harmless(inner, value, files=path[0] == "job_logging"):
                    raise InputError(
                        f"{key}={value}: logging goes to the console or to the run's own log file only: choose "
                        "hydra/job_logging=NAME and hydra/hydra_logging=NAME, such as none, default or colorlog"
                    )
            case ("sweeper", "sampler", "_target_") if str(value).startswith(_SAMPLERS):
                pass
            case (*_, "_target_") if path not in MADE:
                raise InputError(
                    f"{key}={value}: Hydra makes only its sweeper, with one of Optuna's samplers, and its launcher "
                    "here: choose them by hydra/sweeper=NAME and hydra/launcher=NAME"
                )
            case ("job", "env_set", *_):
                _check_typed(key, typed)
                if is_secret(key) and subdir is not None:
                    raise InputError(
                        f"{key}: Hydra would write it into {subdir}/hydra.yaml: set the variable where you start recx, "
                        "or leave hydra.output_subdir out"
                    )
            case ("launcher", *inner) if value is not None and any(COMMANDS.fullmatch(str(name)) for name in inner):
                _check_typed(key, typed)


def _check_typed(key: str, typed: Sequence[str]) -> None:
    """Raise InputError if a setting that can run programs was not typed on the command line."""
    if not any(f"{key}.".startswith(f"{one}.") for one in typed):
        raise InputError(f"{key}: it can run programs, so no option file may set it: type it on the command line")


def _is_harmless(path: Sequence[str | int], value: object, *, files: bool) -> bool:
    """Return whether a leaf of a configuration of Python's logging, which could call anything, does not.

    Args:
        path: Its keys.
        value: Its value, with interpolations as they were written.
        files: Whether it may write the log file of the run.
    """
    text = str(value)
    match path:
        case ["handlers", _, "class"]:
            return text == "logging.StreamHandler" or (files and text == "logging.FileHandler")
        case ["handlers", _, "stream"]:
            return text in _STREAMS
        case ["handlers", _, "filename"]:
            return files and text == LOG_FILE
        case ["formatters", _, "()"]:
            return text == "colorlog.ColoredFormatter"
        case (
            ["handlers", _, "formatter" | "level"]
            | ["formatters", _, "format" | "datefmt"]
            | ["formatters", _, "log_colors", _]
            | ["version" | "disable_existing_loggers"]
            | ["root" | "loggers", *_]
        ):
            return "://" not in text and "${" not in text
    return value is None


def _leaves(hydra: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the keys and the value of every leaf below a path; interpolations as written, unless they name a node."""
    above, node = None, hydra
    with suppress(OmegaConfBaseException):  # what cannot be resolved yet is no node
        for key in path:
            above, node = node, None
            node = above[key]
    if OmegaConf.is_config(node):
        for key in node if OmegaConf.is_dict(node) else range(len(node)):
            yield from _leaves(hydra, (*path, key))
    elif above is not None:
        yield path, OmegaConf.to_container(above, resolve=False)[path[-1]]  # type: ignore[index]
