"""The data of a run, looked at before any training: what ``python -m recx doctor`` and ``recx.doctor`` give."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from recx.core.types import Interactions
    from recx.experiment.doctor import Finding
    from recx.experiment.experiment import Experiment
    from recx.jobs.identified import Identified
    from recx.parts.dataset.known_files import Published


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What was found in the data of a run.

    Attributes:
        users: Number of users.
        items: Number of items.
        events: Number of events.
        split: The word of the split.
        fold: The fold that was examined.
        findings: The counts with their verdicts.
        seems: What the data was taken for, if nobody named a dataset.
    """

    users: int
    items: int
    events: int
    split: str
    fold: str
    findings: Sequence[Finding]
    seems: Identified | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        found = {name: getattr(self, name) for name in ("users", "items", "events", "split", "fold")}
        found["findings"] = [{**asdict(one), "share": one.share} for one in self.findings]
        if self.seems is not None:
            found |= {"data": self.seems.what, "roles": dict(self.seems.roles), "command": self.seems.command}
        return found

    def print_on(self, console: Console) -> None:
        """Print the size of the data, a row for each finding, the reasons of notable ones, and how to run on it."""
        from recx.report.terminal.print_doctor import print_findings

        sizes = f"{self.users:,} users, {self.items:,} items, {self.events:,} events"
        print_findings(console, self.findings, f"{sizes}; split={self.split}, fold={self.fold}")
        if self.seems is not None:
            console.print(f"\nTo run on it:\n\n{self.seems.command}", markup=False, highlight=False, soft_wrap=True)

    def __repr__(self) -> str:
        from rich.console import Console

        shown = StringIO()
        shown.write("" if self.seems is None else f"{self.seems.text}\n\n")
        self.print_on(Console(file=shown, width=100, highlight=False, force_jupyter=False))
        return shown.getvalue().rstrip("\n")


def diagnosis(overrides: Sequence[str], seems: Identified | None = None) -> Diagnosis:
    """Examine the data that a run with these overrides would use, in the current project; nothing is trained.

    Args:
        overrides: The overrides.
        seems: What they were derived from.

    Raises:
        InputError: The configuration or the data cannot be used.
    """
    from recx.config.compose import compose, plain
    from recx.core.system.threads import limited_to

    composed = compose(overrides)
    config, split = plain(composed), str(composed.hydra.runtime.choices["split"])
    with limited_to(config["runtime"]["threads"]):
        from recx.experiment import build
        from recx.experiment.doctor import examined
        from recx.experiment.published import compared

        experiment = _with_loaded(build.plan(config).experiment, seems)
        interactions, folds = experiment.load_and_split()
        findings = examined(experiment, interactions, folds)
        findings += compared(interactions, _published(experiment.dataset))
    size = (interactions.n_users, interactions.n_items, len(interactions))
    return Diagnosis(*size, split, experiment.fold, findings, seems)


@dataclass(frozen=True)
class _Loaded:
    """A dataset that has been loaded.

    Attributes:
        events: What was loaded.
    """

    events: Interactions

    def load(self) -> Interactions:
        return self.events


def _with_loaded(experiment: Experiment, seems: Identified | None) -> Experiment:
    """Return an experiment that does not read once more what was read to see what it is."""
    guess = None if seems is None else seems.guess
    if guess is None or experiment.dataset != replace(guess.table, path=getattr(experiment.dataset, "path", None)):
        return experiment
    return replace(experiment, dataset=_Loaded(guess.events))


def _published(dataset: object) -> Sequence[Published]:
    """Return the published data in the format of a dataset's path, if it has one."""
    from recx.parts.dataset.files import expand_home
    from recx.parts.dataset.recognised_files import known_as

    path = getattr(dataset, "path", None)
    known = None
    if isinstance(path, str):
        with suppress(InputError):  # a pattern, an address, or a folder of several kinds
            known = known_as(expand_home(path))
    return () if known is None else known.format.published
