"""``python -m recx serve RUN``: answer requests with a run's model, on this machine unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo
from recx.jobs.serve.limits import Limits

NEEDED = ("fastapi", "h11", "pydantic", "starlette", "uvicorn")


def run(arguments: Sequence[str]) -> int:
    """Serve a model until Ctrl-C or SIGTERM.

    Returns:
        The exit code: 0 after SIGTERM.

    Raises:
        InputError: The run has no model, an argument cannot be used, or the port is taken.
        KeyboardInterrupt: Ctrl-C.
    """
    chosen = parser().parse_args(arguments)
    limits = _limits(chosen.max_body, chosen.max_users, chosen.timeout)
    if not 1 <= chosen.workers <= 64:
        raise InputError(f"--workers {chosen.workers}: it must be a whole number from 1 to 64")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the server needs {', '.join(missing)}: install recx-lab again, with its extra 'serve' "
            "(python -m recx help install)"
        )

    from recx.experiment.model.found import model_of
    from recx.jobs.serve.process import Workers, counters_of, until_terminated
    from recx.jobs.serve.settings import Settings, check_token, hosts_of, listening, token_of

    token = token_of(chosen.token_file)
    with listening(chosen.host, chosen.port) as listener, counters_of(chosen.workers) as counters:
        address, port = listener.getsockname()[:2]
        check_token(token, chosen.host, address)
        folder = model_of(chosen.run, uri=chosen.uri).absolute()
        settings = Settings(
            folder, chosen.run, chosen.host, chosen.workers, limits, token, hosts_of(chosen.host, address)
        )
        page = f"http://{f'[{address}]' if ':' in address else address}:{port}"
        echo(f"loading {folder} …", flush=True)
        with until_terminated():
            Workers(settings, listener, counters).run(
                lambda: echo(f"serving on {page}, described at {page}/docs   (Ctrl-C ends it)", flush=True)
            )
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx serve", description="Answer requests with a run's model.", allow_abbrev=False)
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on; 0: a free one (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (%(default)s)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="what requests must bring (RECX_TOKEN)")
    parser.add_argument("--max-body", default="1MB", metavar="SIZE", help="largest body (%(default)s)")
    parser.add_argument("--max-users", type=int, default=1000, metavar="N", help="users per request (%(default)s)")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds per request (%(default)s)")
    parser.add_argument("--uri", help=URI)
    return parser


def _limits(body: str, users: int, seconds: float) -> Limits:
    """Return the limits that were given, checked."""
    from recx.core.system.sizes import n_bytes

    largest = n_bytes(body, "--max-body")
    if not 1_000 <= largest <= 10**9:
        raise InputError(f"--max-body {body}: it must be from 1kB to 1GB")
    if not 1 <= users <= 100_000:
        raise InputError(f"--max-users {users}: it must be a whole number from 1 to 100,000")
    if not 0.1 <= seconds <= 3600:
        raise InputError(f"--timeout {seconds:g}: it must be a number of seconds from 0.1 to 3600")
    return Limits(body=largest, users=users, seconds=seconds)
