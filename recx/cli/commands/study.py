"""``python -m recx study NAME [resume] [KEY=VALUE ...]``: run chains in worlds with several seeds, and compare them."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser

RESUME = "resume"
"""The word that goes on with a study."""


def run(arguments: Sequence[str]) -> int:
    """Run a study, or what is missing of it.

    Returns:
        ``FAILED`` if a cell failed, else ``DONE``.

    Raises:
        InputError: The study or a word is wrong, or the study was started already.
    """
    chosen = parser().parse_intermixed_args(arguments)

    from recx.jobs.study.start import Request, start

    words = [word for word in chosen.words if word != RESUME]
    return start(chosen.study, Request.of(words), resume=RESUME in chosen.words).exit_code


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx study", description="Run each chain of a study in each world with each seed.")
    parser.add_argument("study", metavar="NAME", help="a study of conf/study, or the path of its file or lock file")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="KEY=VALUE",
        help="resume; jobs=N cells at a time; data=DIR; name=NAME; chains=A,B, worlds=A,B, seeds=0,1: only these; "
        "ray=local, auto or HOST:PORT; or overrides of all cells",
    )
    return parser
