"""The command line: ``python -m recx`` or ``recx``.

Arguments with ``=`` compose and run an experiment (Hydra); a command such as ``list`` comes first. Every error is
reported in one sentence on stderr, with an exit code: 1 for a failed run, 2 for bad input or configuration, 130 for
an interrupt.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from recx.config import option_sources
from recx.core.errors import InputError, RecxError, did_you_mean

if TYPE_CHECKING:
    from omegaconf import DictConfig

COMMANDS = ("cache", "compare", "doctor", "evaluate", "explain", "list", "new-plugin", "report", "runs", "ui")
"""The commands; each has a module in ``recx.cli.commands``, which is imported only when it is called."""


def main() -> int:
    """Run the command line.

    Returns:
        The exit code.
    """
    # Importing MLflow and its dependencies allocates half a million objects, none of them garbage: at its default
    # threshold the collector scans them so often that it takes a tenth of a short run.
    gc.set_threshold(100_000, 20, 20)
    sys.stdout = sys.stdout or StringIO()  # None under a service that closes it
    try:
        code = _dispatch(sys.argv[1:])
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the process that reads the output, such as `head`, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except RecxError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        reason = os.strerror(error.errno) if error.errno else str(error)
        return _fail(f"{file}{reason}: check the disk and its permissions, or run in another folder", 1)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        return _fail(f"unexpected error, {place}: {error} (RECX_DEBUG=1 shows the traceback)", 1)


def _fail(message: str, code: int) -> int:
    if os.environ.get("RECX_DEBUG") == "1":
        traceback.print_exc()
    print(" ".join(message.split()), file=sys.stderr)
    return code


def _dispatch(arguments: Sequence[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        return int(import_module(f"recx.cli.commands.{first.replace('-', '_')}").run(arguments[1:]))
    if first == "help" or not {"-h", "--help"}.isdisjoint(arguments):
        return _help()
    if first and not first.startswith(("-", "+", "~")) and "=" not in first:
        near = did_you_mean(first, [*COMMANDS, "help"])
        raise InputError(f"unknown command {first!r}, which is not a KEY=VALUE override either: {near}")
    return _run_hydra(arguments)


def _help() -> int:
    options: dict[str, list[str]] = {}
    for option in option_sources.options():
        group, slash, name = option.rpartition("/")
        if slash:
            options.setdefault(group, []).append(name)
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    print(text.format(groups="\n".join(f"  {group:<15}{', '.join(names)}" for group, names in options.items())))
    return 0


def _run_hydra(arguments: Sequence[str]) -> int:
    """Let Hydra compose the configuration and run the job, or the jobs of a sweep."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors instead of printing them
    from recx.cli.commands.parser import Parser
    from recx.config.hydra_internals import flags_parser

    parser = flags_parser()
    parser.__class__ = Parser
    parser.prog = "recx"
    parsed = parser.parse_intermixed_args(arguments)
    for override in parsed.overrides:
        if "=" not in override.lstrip("=") and not override.startswith("~"):
            raise InputError(f"{override!r} is not a KEY=VALUE override: write for example ranker.l2=0.1")
    if parsed.multirun and not any((parsed.cfg, parsed.info, parsed.shell_completion, parsed.hydra_help)):
        from recx.jobs.sweep.run import sweep

        flags = [argument for argument in arguments if argument not in parsed.overrides]
        path = [f"hydra.searchpath=['file://{Path(parsed.config_dir).absolute()}']"] if parsed.config_dir else []
        return sweep([*parsed.overrides, *path], lambda overrides: _hydra([*flags, *overrides]))
    for override in [] if parsed.cfg else parsed.overrides:
        if override.lstrip("+").startswith(("sweep=", "sweep_id=", "resume=", "hydra.mode=")):
            raise InputError(f"{override}: this is for a sweep, which runs many trials: put -m in front")
    _hydra(arguments)
    return 0


def _hydra(arguments: Sequence[str]) -> None:
    import hydra

    from recx.config.compose import prepare
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import forget_configuration

    conf = prepare()
    trusted = [f"{source.package}.*" for source in option_sources.sources()]
    sys.argv = [sys.argv[0], *arguments]  # Hydra reads its arguments there
    try:
        with explained():
            hydra.main(config_path=conf, config_name="config", execution_whitelist=trusted)(_job)()
    except _RunFailed as failed:
        raise failed.error from None
    finally:
        forget_configuration()


class _RunFailed(BaseException):
    """Carries the error of a run past Hydra, which would print a line of its own for every ``Exception``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def __reduce__(self) -> tuple[type[_RunFailed], tuple[Exception]]:
        return _RunFailed, (self.error,)  # without the attributes that Hydra adds, which cannot be pickled


def _job(config: DictConfig) -> float | None:
    """Run one job: a trial of a sweep, a benchmark or a single experiment; return the objective of a trial."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from recx.config.compose import plain

    folder = Path(HydraConfig.get().runtime.output_dir)
    try:
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            from recx.jobs.sweep.trial import job

            return job(config)
        if config.get("benchmark") is not None:
            from recx.jobs.benchmark.run import benchmark, check

            check(benchmark(plain(config), folder))
        else:
            from recx.core.run_context import RunContext
            from recx.jobs.launch import launch

            launch(plain(config), folder, context=RunContext.from_environment())
        return None
    except Exception as error:
        raise _RunFailed(error) from error
    finally:
        with suppress(OSError):
            folder.rmdir()  # Hydra created it; it is empty where the run never started
