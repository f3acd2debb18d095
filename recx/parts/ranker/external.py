"""Any program of any environment as a ranker: ``ranker=external ranker.command=[python,model.py]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from recx.core.bounds import Seed, checked
from recx.core.system.durations import Duration
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.parts.shared.program import NOT_KEPT, Program, Workplace
from recx.parts.shared.program_files import read_rows, scores_of_rows, write_candidates, write_history, write_target


@dataclass(frozen=True)
@checked("ranker")
class External:
    """Runs a program that scores the candidates of Parquet files (docs/external.md).

    It is run once to learn from the candidates of the past fold and their targets, and once for each block of
    requests. Nothing but this command line, or an option file of the person's own project, can name the command (see
    ``recx.core.project.check_command``).

    Attributes:
        command: The program and its arguments, without a shell; the folder with the files follows them.
        settings: Settings of the program, which it finds in ``settings.json``.
        uses: Files and folders that the program reads besides the files among its arguments; for the stage cache, they
            count by content.
        timeout: The longest time that a run of the program may take; None: any.
        seed: Seed of the program's random numbers.
    """

    command: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    timeout: Duration | None = None
    seed: Seed = 0
    files: ClassVar = ("uses",)

    @property
    def _program(self) -> Program:
        return Program("ranker.command", self.command, self.settings, self.seed, self.timeout)

    @property
    def depends_on(self) -> tuple[object, ...]:
        """What counts for the stage cache: the program, its scripts and the packages of its environment."""
        return self._program.depends_on

    @property
    def loaded(self) -> dict[str, Any]:
        """What the protocol card says of the program."""
        return self._program.loaded

    def preflight(self) -> None:
        """Check that the program is there and may be run (raises as ``Program.check`` does)."""
        self._program.check()

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedExternal:
        """Let the program learn to put the targets first.

        Raises:
            InputError: The program is not there, or may not be run.
            RecxError: The program fails.
        """
        self.preflight()
        assert fold.target is not None
        program, workplace = self._program, Workplace()
        with workplace.task() as folder:
            write_history(folder, fold.history, fold.requests)
            write_candidates(folder, candidates)
            write_target(folder, fold.target)
            program.run(folder, "fit", workplace.model)
        return FittedExternal(program, workplace)


@dataclass(frozen=True, eq=False)
class FittedExternal:
    """A program that has learnt.

    Attributes:
        program: The program.
        workplace: Holds what it has learnt.
    """

    program: Program
    workplace: Workplace
    not_kept: ClassVar[str] = NOT_KEPT

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates in the order of the program's scores.

        Raises:
            RecxError: The program fails, or does not give each candidate one finite score.
        """
        if not len(candidates):
            return candidates
        with self.workplace.task() as folder:
            write_history(folder, history, requests)
            write_candidates(folder, candidates)
            self.program.run(folder, "rank", self.workplace.model)
            rows = read_rows(folder, self.program.key)
            return candidates.reorder(scores_of_rows(rows, candidates, requests, history.n_items, self.program.key))
