"""One process of a server: ``python -m recx.jobs.serve.worker``, started by ``recx.jobs.serve.process``.

The first line of its input is the job. It answers with one line, once it can serve or has failed; then it serves until
its input is closed, so it never outlives the process that started it, or until SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from recx.core.errors import RecxError, reason, unexpected
from recx.core.project import Project, entered
from recx.core.system.screen import echo
from recx.core.system.threads import limited_to

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from recx.jobs.serve.limits import Limits
    from recx.jobs.serve.server import Server

LONGEST_END = 7.0
"""Seconds after which a worker ends in any case."""
SWITCH = 0.0005
"""Seconds after which Python lets the thread that talks to clients run beside the one that uses the model."""


def main() -> int:
    """Serve until the end.

    Returns:
        The exit code: 1 if the model cannot be served.
    """
    job = json.loads(sys.stdin.readline())
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        own = job["project"]
        with nullcontext() if own is None else entered(Project.from_json(own)), limited_to(1):
            app, limits = _application(job)
            _serve(app, limits, socket.socket(fileno=job["socket"]), lambda: _say(answer, {"ready": True}))
        code = 0
    except RecxError as error:
        _say(answer, {"error": reason(error), "code": error.exit_code})
        code = 1
    except Exception as error:
        if os.environ.get("RECX_DEBUG") == "1":
            echo(traceback.format_exc(), to=sys.stderr)
        _say(answer, {"error": unexpected(error), "code": 1})
        code = 1
    sys.stderr.flush()
    os._exit(code)  # without waiting for a request that took too long


def _say(answer: Any, what: Mapping[str, Any]) -> None:
    with suppress(BrokenPipeError):  # whoever started it has died, so its input is closed and it ends
        answer.write(json.dumps(what) + "\n")
        answer.flush()


def _application(job: Mapping[str, Any]) -> tuple[ASGIApp, Limits]:
    """Load the model, answer a first request, and return the application."""
    from recx.experiment.model.model import Model
    from recx.jobs.serve.answers import Answers
    from recx.jobs.serve.app import application
    from recx.jobs.serve.counters import Counters
    from recx.jobs.serve.settings import Settings

    settings = Settings.from_json(job["settings"])
    answers = Answers(Model.of(settings.folder), settings.run, settings.limits)
    answers.warm_up()
    counters = Counters.shared(job["counters"], settings.workers, job["worker"])
    counters.started()
    return application(answers, counters, settings.token, settings.hosts), settings.limits


def _serve(app: ASGIApp, limits: Limits, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a socket until SIGTERM or the end of the input."""
    from recx.jobs.serve.server import Server

    server = Server.of(app, limits, listener, ready)
    signal.signal(signal.SIGTERM, lambda *_: _stop(server))
    sys.setswitchinterval(SWITCH)
    threading.Thread(target=_stop_with_starter, args=[server], daemon=True).start()
    asyncio.run(server.serve([listener]))


def _stop_with_starter(server: Server) -> None:
    sys.stdin.read()
    _stop(server)


def _stop(server: Server) -> None:
    """Finish open requests, and end in any case."""
    server.should_exit = True
    guard = threading.Timer(LONGEST_END, os._exit, [1])
    guard.daemon = True
    guard.start()


if __name__ == "__main__":
    sys.exit(main())
