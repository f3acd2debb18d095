"""``python -m recx replay RUN --log FILE``: the model of a run, asked window by window of a log that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.exit_codes import ALARM, DONE


def run(arguments: Sequence[str]) -> int:
    """Replay a log against a run's model, write its files and print its figures.

    Returns:
        ``DONE``, or ``ALARM`` where a limit was crossed.

    Raises:
        InputError: The run has no model, or the log or an argument cannot be used.
        RecxError: The MLflow store cannot be opened or written to.
    """
    chosen = parser().parse_args(arguments)

    from recx.core.system.durations import milliseconds
    from recx.jobs.replay.alarms import Limit

    limits = [Limit.of(text) for text in chosen.alarm or ()]
    for flag, text in (("--every", chosen.every), ("--refit", chosen.refit)):
        if text is not None:
            milliseconds(text, flag)

    from recx.core.system.threads import limited_to
    from recx.experiment.model.found import model_of
    from recx.experiment.model.model import Model
    from recx.jobs.replay.output import folder_for, write
    from recx.jobs.replay.run import Wanted, replayed
    from recx.report.terminal.console import console_of_stdout

    settings = (chosen.reference, chosen.refit, limits, chosen.min_history, chosen.moderate, chosen.large)
    wanted = Wanted(chosen.log, chosen.every, *settings)
    model = Model.of(model_of(chosen.run, uri=chosen.uri))
    own = folder_for(str(model.kept.config.get("name")), chosen.output)
    with limited_to((model.kept.config.get("runtime") or {}).get("threads")), own.held():
        from recx.core.progress import shown_on
        from recx.jobs.replay.curves import track
        from recx.jobs.replay.page import sentences
        from recx.report.terminal.print_replay import print_replay

        console = console_of_stdout()
        with shown_on(console):
            made = replayed(model, wanted)
        own.begin()
        said = write(made, own.path)
        own.seal()
        address = None if chosen.no_mlflow else track(made, said, own.path, chosen.uri)
        where = [f"files: {own.path}", *([f"MLflow: {address}"] if address else [])]
        objective = str(model.kept.config.get("objective"))
        print_replay(console, said["windows"], list(sentences(said)), objective, where)
    return ALARM if made.alarms else DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(
        prog="recx replay", description="Watch what the model of a run does on a log that goes on after its fit."
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--log", type=Path, required=True, metavar="FILE", help="events, in the form of the run's data")
    parser.add_argument(
        "--every", default="1d", metavar="TIME", help="the length of a window, such as 6h (%(default)s)"
    )
    parser.add_argument("--refit", metavar="TIME", help="show what fitting the recipe again every 7d would have gained")
    parser.add_argument(
        "--alarm", action="append", metavar="LIMIT", help="such as 'drift/*>0.25': exit code 3 if crossed; repeatable"
    )
    parser.add_argument(
        "--reference",
        choices=("fit", "first"),
        default="fit",
        help="drift is measured from the window before the fit's end, or the first one after it (%(default)s)",
    )
    parser.add_argument("--moderate", type=float, default=0.1, metavar="PSI", help="moderate from here (%(default)s)")
    parser.add_argument("--large", type=float, default=0.25, metavar="PSI", help="large drift above (%(default)s)")
    parser.add_argument(
        "--min-history", type=int, metavar="N", help="events that a user needs to be asked (as the run)"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="the folder of its files (a new one in outputs)")
    parser.add_argument("--no-mlflow", action="store_true", help="write the files only")
    parser.add_argument("--uri", help=URI)
    return parser
