"""The command line: ``python -m recx`` or ``recx``.

Words with ``=`` compose and run an experiment (Hydra); a verb in front does something else. Every mistake ends in one
sentence on stderr and an exit code: 1 a run failed, 2 bad input or configuration, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import option_sources
from recx.core.errors import InputError, RecxError, did_you_mean

if TYPE_CHECKING:
    from omegaconf import DictConfig

HELP = """\
recx: recommendation experiments. One run is one chain: dataset -> split -> retriever -> ranker -> evaluator -> tracker.

  python -m recx [GROUP=OPTION ...] [KEY=VALUE ...]    run it
  python -m recx -m KEY=VALUE,VALUE ...                run all combinations: a sweep
  python -m recx -m +sweep=PRESET [resume=last] ...    a sweep that is thought out already; go on with the last one
  python -m recx evaluate LISTS TRUTH [--k 10 ...]     judge lists from files: CSV, TSV, Parquet, TREC
  python -m recx compare RUN RUN ...                   compare runs, with intervals and tests
  python -m recx explain RUN user=ID                   why a run showed a user what it did; --worst 20: whom it lost
  python -m recx report RUN [RUN ...]                  a page to look at: of a run, or of several side by side
  python -m recx doctor [KEY=VALUE ...]                look at the data before any training
  python -m recx runs [--filter WORDS] [--sort COLUMN] the runs that there were, as a table; --latex, --markdown, --csv
  python -m recx list [GROUP]                          what there is to choose from, a line each
  python -m recx new-plugin NAME                       a package of your own parts to start from
  python -m recx cache [--keep 20GB] [--older 30d]     what the stage cache holds, and making it smaller
  python -m recx ui [--port PORT]                      look at all runs in MLflow, on this machine only

Examples
  python -m recx +experiment=news                      a made-up news site, no data needed
  python -m recx +experiment=news dataset.path=DIR     your own clicks
  python -m recx +experiment=news ranker.l2=0.1 seed=3 with other settings
  python -m recx -m +experiment=news ranker=identity,linear
  python -m recx -m +experiment=news +sweep=ranker

Groups and their options
{groups}

  --cfg job        show the whole configuration, and run nothing
  --hydra-help     Hydra's own flags
  RECX_DEBUG=1     show the traceback of an error
"""


def main() -> int:
    """Run the command line and return the exit code."""
    arguments = sys.argv[1:]
    # Importing MLflow and what it needs allocates half a million objects, none of them garbage. With its default
    # threshold the collector searches them so often that it takes a tenth of a short run.
    gc.set_threshold(100_000, 20, 20)
    sys.stdout = sys.stdout or StringIO()  # None where a service closed it
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except RecxError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        reason = os.strerror(error.errno) if error.errno else str(error)
        return _fail(f"{what}{reason}: see to the disk and its permissions, or run in another folder", 1)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}, line {where.lineno}"
        kind = type(error).__name__
        return _fail(f"an error that nobody foresaw, {kind} in {place}: {error} (RECX_DEBUG=1 shows more)", 1)


def _fail(sentence: str, code: int) -> int:
    if os.environ.get("RECX_DEBUG") == "1":
        traceback.print_exc()
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _dispatch(arguments: Sequence[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        return COMMANDS[first](arguments[1:])
    if first == "help" or not {"-h", "--help"}.isdisjoint(arguments):
        return _help()
    if first and not first.startswith(("-", "+", "~")) and "=" not in first:
        verbs = did_you_mean(first, [*COMMANDS, "help"])
        raise InputError(f"{first!r} is no verb of recx and no KEY=VALUE: {verbs}")
    return _run_hydra(arguments)


def _help() -> int:
    names: dict[str, list[str]] = {}
    for option in option_sources.options():
        group, _, name = option.rpartition("/")
        if group:
            names.setdefault(group, []).append(name)
    print(HELP.format(groups="\n".join(f"  {group:<15}{', '.join(options)}" for group, options in names.items())))
    return 0


def _verb(name: str, arguments: Sequence[str]) -> int:
    """Run a verb, whose module is imported only now."""
    return int(import_module(f"recx.cli.commands.{name.replace('-', '_')}").run(arguments))


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    name: partial(_verb, name)
    for name in ("cache", "compare", "doctor", "evaluate", "explain", "list", "new-plugin", "report", "runs", "ui")
}
"""What may stand in front; each has a module in ``recx/verb``."""


def _run_hydra(arguments: Sequence[str]) -> int:
    """Let Hydra compose the configuration and run the job or the jobs of a sweep."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises its errors instead of printing them
    from recx.cli.commands.parser import Parser
    from recx.config.hydra_internals import flags_parser

    parser = flags_parser()
    parser.__class__ = Parser
    parser.prog = "recx"
    given = parser.parse_intermixed_args(arguments)
    for word in given.overrides:
        if "=" not in word.lstrip("=") and not word.startswith("~"):
            raise InputError(f"{word!r} is no KEY=VALUE: write for example ranker.l2=0.1")
    if given.multirun and not any((given.cfg, given.info, given.shell_completion, given.hydra_help)):
        from recx.jobs.sweep.run import sweep

        flags = [word for word in arguments if word not in given.overrides]
        more = [f"hydra.searchpath=['file://{Path(given.config_dir).absolute()}']"] if given.config_dir else []
        return sweep([*given.overrides, *more], lambda words: _hydra([*flags, *words]))
    for word in [] if given.cfg else given.overrides:
        if word.lstrip("+").startswith(("sweep=", "sweep_id=", "resume=", "hydra.mode=")):
            raise InputError(f"{word}: this is for a sweep, which runs many trials: put -m in front")
    _hydra(arguments)
    return 0


def _hydra(arguments: Sequence[str]) -> None:
    import hydra

    from recx.config.compose import prepare
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import forget_configuration

    conf = prepare()
    trusted = [f"{source.package}.*" for source in option_sources.sources()]
    sys.argv = [sys.argv[0], *arguments]  # where Hydra reads them
    try:
        with explained():
            hydra.main(config_path=conf, config_name="config", execution_whitelist=trusted)(_job)()
    except _RunFailed as failed:
        raise failed.error from None
    finally:
        forget_configuration()


class _RunFailed(BaseException):
    """Carries the error of a single run past Hydra, which would print a line of its own on every ``Exception``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def __reduce__(self) -> tuple[type[_RunFailed], tuple[Exception]]:
        return _RunFailed, (self.error,)  # without what Hydra hangs on it, which no other process could ever read


def _job(config: DictConfig) -> float | None:
    """Run one job; return the objective when it is one of a sweep."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from recx.config.compose import plain

    folder = Path(HydraConfig.get().runtime.output_dir)
    try:
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            from recx.jobs.sweep.trial import job

            return job(config)
        _start(plain(config), folder)
        return None
    except Exception as error:
        raise _RunFailed(error) from error
    finally:
        with suppress(OSError):
            folder.rmdir()  # Hydra made it; a run that never began leaves none behind


def _start(config: Mapping[str, Any], folder: Path) -> None:
    """Run what a plain configuration asks for: a benchmark of rankers where there is one, else the one chain."""
    if config.get("benchmark") is not None:
        from recx.jobs.benchmark.run import benchmark, check

        check(benchmark(config, folder))
    else:
        from recx.core.run_context import RunContext
        from recx.jobs.launch import launch

        launch(config, folder, context=RunContext.from_environment())
