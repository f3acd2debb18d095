"""The sweep and the parent that a tracked run belongs to.

Within a process this is an argument; a process that runs a trial of another one's sweep gets it by its environment.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

PARENT, SWEEP, RUN_NAME = "RECX_PARENT", "RECX_SWEEP", "RECX_RUN_NAME"


@dataclass(frozen=True)
class RunContext:
    """The relation of a run to other runs.

    Attributes:
        parent: The id of the parent run, or "".
        sweep: The id of the sweep, or "".
        name: What the run's name says beside data and chain: what its sweep varies in it; "": its chosen settings.
        role: What the run is in its sweep: ``best``, ``baseline``, or "" for a trial.
        chosen_by: The folder of the trial of ``fold=valid`` by whose figures the run was chosen, or "".
    """

    parent: str = ""
    sweep: str = ""
    name: str = ""
    role: str = ""
    chosen_by: str = ""

    @classmethod
    def from_environment(cls) -> RunContext:
        """Return the context set by the process that started this one (see ``variables``)."""
        return cls(*(os.environ.get(variable, "") for variable in (PARENT, SWEEP, RUN_NAME)))

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables to set for another process."""
        values = {PARENT: self.parent, SWEEP: self.sweep, RUN_NAME: self.name}
        return {variable: value for variable, value in values.items() if value}


OBJECTIVE = "recx.objective"
"""The tag of a sweep's best run that names the figure by which it was chosen (``valid/`` and the name in the tag)."""

ALONE = RunContext()
"""A run that belongs to no other."""
