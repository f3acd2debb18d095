"""Any program of any environment as a ranker: ``ranker=external ranker.command=[python,model.py]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recx.core.bounds import checked
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.parts.shared.program import Program, RunsProgram, Workplace
from recx.parts.shared.program_files import read_rows, scores_of_rows, write_candidates, write_history, write_target


@dataclass(frozen=True)
@checked("ranker")
class External(RunsProgram):
    """Runs a program that scores the candidates of Parquet files (docs/how-to/external.md).

    It is run once to learn from the candidates of the past fold and their targets, and once for each block of
    requests. Its settings are those of ``RunsProgram``.
    """

    stage: ClassVar[str] = "ranker"

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
