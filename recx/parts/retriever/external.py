"""Any program of any environment as a retriever: ``retriever=external retriever.command=[python,model.py]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.protocols import Seen
from recx.core.system.durations import Duration
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.program import NOT_KEPT, Program, Workplace
from recx.parts.shared.program_files import lists_of_rows, read_rows, write_history
from recx.parts.shared.top_k import Eligibility


@dataclass(frozen=True)
@checked("retriever")
class External:
    """Runs a program that reads events from Parquet files and writes lists into one (docs/external.md).

    It is run once to learn from the events, and once for each block of requests. Nothing but this command line, or an
    option file of the person's own project, can name the command (see ``recx.core.project.check_command``).

    Attributes:
        command: The program and its arguments, without a shell; the folder with the files follows them.
        settings: Settings of the program, which it finds in ``settings.json``.
        uses: Files and folders that the program reads besides the files among its arguments; for the stage cache, they
            count by content.
        timeout: The longest time that a run of the program may take; None: any.
        seed: Seed of the program's random numbers.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    command: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    timeout: Duration | None = None
    seed: Seed = 0
    seen: Seen = "drop"
    files: ClassVar = ("uses",)
    gives_probabilities: ClassVar[bool] = False

    @property
    def _program(self) -> Program:
        return Program("retriever.command", self.command, self.settings, self.seed, self.timeout)

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
    not_kept: ClassVar[str] = NOT_KEPT

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the lists of the program, checked and without what may not be shown, which is counted.

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
    """Return a program that has learnt from the events (raises RecxError if it fails)."""
    workplace = Workplace()
    with workplace.task() as folder:
        write_history(folder, history)
        program.run(folder, "fit", workplace.model, seen=seen)
    return FittedExternal(program, seen, workplace)
