"""Any program of any environment as a retriever: ``retriever=external retriever.command=[python,model.py]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.protocols import Seen
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.program import Program, RunsProgram, Workplace
from recx.parts.shared.program_files import lists_of_rows, read_rows, write_history
from recx.parts.shared.top_k import Eligibility


@dataclass(frozen=True)
@checked("retriever")
class External(RunsProgram):
    """Runs a program that reads events from Parquet files and writes lists into one (docs/how-to/external.md).

    It is run once to learn from the events, and once for each block of requests. Its settings are those
    of ``RunsProgram``, and one more.

    Attributes:
        seen: Whether items that the user has clicked are dropped or kept.
    """

    seen: Seen = "drop"
    stage: ClassVar[str] = "retriever"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedExternal:
        """Let the program learn from the events.

        Raises:
            InputError: The program is not there, or may not be run.
            RecxError: The program fails.
        """
        self.preflight()
        return fit_program(self._program, self.seen, history)


@dataclass(frozen=True, eq=False)
class FittedExternal:
    """A program that has learnt.

    Attributes:
        program: The program.
        seen: Whether items that the user has clicked are dropped or kept.
        workplace: Holds what it has learnt.
    """

    program: Program
    seen: Seen
    workplace: Workplace

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the lists of the program, checked and without what may not be shown, which is counted.

        Args:
            history: The past events, of all users.
            requests: The requests, in the order of the lists.
            k: The length of a list, at most.

        Raises:
            RecxError: The program fails, or its lists are not valid.
        """
        if not len(requests):
            none = np.zeros(0, dtype=np.int32)
            return RankedLists(requests.user, np.zeros(1, dtype=np.int64), none, none.astype(np.float32))
        with self.workplace.task() as folder:
            write_history(folder, history, requests)
            self.program.run(folder, "retrieve", self.workplace.model, k=k, seen=self.seen)
            rows = read_rows(folder, self.program.key)
            eligibility = Eligibility(history, self.seen)
            return lists_of_rows(rows, history, requests, k, eligibility, self.program.key)


def fit_program(program: Program, seen: Seen, history: Interactions) -> FittedExternal:
    """Return a program that has learnt from the events (raises RecxError if it fails).

    Args:
        program: The program, which has a task ``fit``.
        seen: Whether items may be shown that a user has seen: ``drop`` or ``keep``.
        history: The events to learn from.

    Raises:
        RecxError: The program fails.
    """
    workplace = Workplace()
    with workplace.task() as folder:
        write_history(folder, history)
        program.run(folder, "fit", workplace.model, seen=seen)
    return FittedExternal(program, seen, workplace)
