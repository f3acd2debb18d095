"""The command line: ``python -m recx`` or ``recx``.

Arguments with ``=`` compose and run an experiment (Hydra); a command such as ``list`` comes first. Every error is
reported in one sentence on stderr, with an exit code of ``recx.core.exit_codes``.
"""

from __future__ import annotations

import errno
import gc
import os
import stat
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING

from recx.cli.commands import COMMANDS, module_of
from recx.cli.commands.help import print_help
from recx.core.distribution import check_distribution
from recx.core.errors import InputError, RecxError, did_you_mean, unexpected
from recx.core.exit_codes import DONE, FAILED, INTERRUPTED, UNREAD
from recx.core.project import CONFIG_NAME, Project, entered
from recx.core.secrets import hidden_override
from recx.core.system.screen import echo, one_line, tolerant
from recx.core.system.signals import stoppable
from recx.core.version import __version__

if TYPE_CHECKING:
    from argparse import Namespace


FLAGS = {
    "--help, -h": "show what recx is, and the usual commands",
    "--version": "print the version of recx",
    "--config-dir, -cd": "a folder of option files of yours, the home of your own parts; repeatable; of every command",
    "--config-name, -cn": "a primary configuration of yours, of the name in such a folder; of every command",
}
"""The flags that mean what recx says; all others are Hydra's own."""
REFUSED = {
    "experimental_rerun": (
        "--experimental-rerun: a run of recx keeps its own config.yaml and no .hydra folder: repeat its command, which "
        "its report.html shows"
    ),
    "config_path": (
        "--config-path={value}: recx's own option files always come first: add a folder of yours with --config-dir, "
        "and choose a primary configuration in it with --config-name"
    ),
}
"""Flags of Hydra that mean nothing here, by their names in its parser, and why."""


def main() -> int:
    """Run the command line.

    Returns:
        The exit code.
    """
    _in_utf8()
    os.umask(os.umask(0o077) | stat.S_IWOTH)  # nothing that is written is for everybody to change
    # Importing MLflow and its dependencies allocates half a million objects, none of them garbage: at its default
    # threshold the collector scans them so often that it takes a tenth of a short run.
    gc.set_threshold(100_000, 20, 20)
    sys.stdout = sys.stdout or StringIO()  # None under a service that closes it
    for stream in filter(None, (sys.stdout, sys.stderr)):
        tolerant(stream)
    try:
        return _code_of(sys.argv[1:])
    except BrokenPipeError:  # the process that reads the output, such as `head`, has exited
        for stream in filter(None, (sys.stdout, sys.stderr)):  # Python flushes both once more when it ends
            with suppress(OSError):  # one that is no file
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return UNREAD


def _code_of(arguments: Sequence[str]) -> int:
    """Return the exit code of a command; an error is reported on stderr."""
    try:
        with stoppable():
            code = _dispatch(arguments)
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except RecxError as error:
        return _fail(str(error), error.exit_code)
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        return _fail(f"not enough memory{what}: use less data, a smaller n_candidates or a machine with more", FAILED)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        reason = os.strerror(error.errno) if error.errno else str(error)
        way_out = "check the disk and its permissions, or run in another folder"
        if error.errno == errno.EMFILE:
            way_out = "allow this process more of them (ulimit -n 4096)"
        return _fail(f"{file}{reason}: {way_out}", FAILED)
    except Exception as error:
        return _fail(unexpected(error), FAILED)


def _in_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale names another encoding, in which files' names get lost."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"  # for the processes of a launcher too
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _fail(message: str, code: int) -> int:
    if os.environ.get("RECX_DEBUG") == "1":
        echo(traceback.format_exc(), to=sys.stderr)
    echo(one_line(" ".join(message.split())), to=sys.stderr)
    return code


def _dispatch(arguments: Sequence[str]) -> int:
    check_distribution()
    folders, config_name, arguments = _project_flags(arguments)
    overrides = [hidden_override(argument) for argument in arguments if not argument.startswith("-")]
    with entered(Project.of(folders, overrides, config_name)):
        first = arguments[0] if arguments else ""
        if first in COMMANDS:
            return int(module_of(first).run(arguments[1:]))
        if not {"-h", "--help"}.isdisjoint(arguments):
            print_help()
            return DONE
        if "--version" in arguments:
            echo(f"recx-lab {__version__}")
            return DONE
        if first and not first.startswith(("-", "+", "~")) and "=" not in first:
            near = did_you_mean(first, COMMANDS)
            raise InputError(f"unknown command {first!r}, which is not a KEY=VALUE override either: {near}")
        return _run_hydra(arguments)


def _project_flags(arguments: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Take --config-dir and --config-name, which every command has, out of the arguments.

    Returns:
        The folders, the name of the primary configuration, and the other arguments.

    Raises:
        InputError: A flag has no value.
    """
    folders, config_name, others, pending = [], CONFIG_NAME, list[str](), list(arguments)
    while pending:
        flag, equals, value = pending.pop(0).partition("=")
        if flag not in ("--config-dir", "-cd", "--config-name", "-cn"):
            others.append(f"{flag}{equals}{value}")
            continue
        if not equals:
            value = pending.pop(0) if pending else ""
        if not value:
            raise InputError(f"{flag} has no value: give a folder of option files (--config-dir) or a name in it")
        if flag in ("--config-dir", "-cd"):
            folders.append(value)
        else:
            config_name = value.removesuffix(".yaml")
    return folders, config_name, others


def _run_hydra(arguments: Sequence[str]) -> int:
    """Let Hydra compose the configuration and run the job, or the jobs of a sweep."""
    from recx.config.overrides import check_single, readable
    from recx.config.put_aside import put_aside
    from recx.jobs.hydra_job import run

    parsed = _parsed(arguments)
    flags = [argument for argument in arguments if argument not in parsed.overrides]
    overrides = put_aside(readable(parsed.overrides))
    mode = next((override for override in overrides if _sets("hydra.mode", override)), None)
    if mode is not None:
        if mode not in ("hydra.mode=RUN", "hydra.mode=MULTIRUN") or (mode == "hydra.mode=RUN" and parsed.multirun):
            raise InputError(f"{mode}: write -m for a sweep, and nothing for a single run")
        overrides.remove(mode)
        if mode == "hydra.mode=MULTIRUN" and not parsed.multirun:
            flags, parsed.multirun = ["-m", *flags], True
    if any(_sets("hydra.verbose", override) for override in overrides):
        overrides = ["hydra/job_logging=stdout", "hydra/hydra_logging=default", *overrides]  # ours are silent
    if parsed.multirun and not any((parsed.cfg, parsed.info, parsed.shell_completion, parsed.hydra_help)):
        from recx.jobs.sweep.run import sweep

        return sweep(overrides, lambda trials: run([*flags, *trials])).exit_code
    if not parsed.cfg:
        check_single(overrides)
    run([*flags, *overrides])
    return DONE


def _parsed(arguments: Sequence[str]) -> Namespace:
    """Return Hydra's flags and the overrides; raise InputError for what means nothing here."""
    from recx.cli.commands.parser import Parser
    from recx.config.hydra_internals import flags_parser

    parser = flags_parser()
    parser.__class__ = Parser
    parser.prog, parser.allow_abbrev = "recx", False  # --config-d would name a folder that _project_flags passes over
    parsed = parser.parse_intermixed_args(arguments)
    for override in parsed.overrides:
        if "=" not in override.lstrip("=") and not override.startswith("~"):
            raise InputError(f"{override!r} is not a KEY=VALUE override: write for example ranker.l2=0.1")
    for name, why in REFUSED.items():
        if (value := getattr(parsed, name)) is not None:
            raise InputError(why.format(value=value))
    return parsed


def _sets(key: str, override: str) -> bool:
    return override.lstrip("+").startswith(f"{key}=")
