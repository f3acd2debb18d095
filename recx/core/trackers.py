"""What a tracker must be able to do, which records runs, and the run that it yields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from recx.core.run_context import RunContext

MODEL = "model"
"""The folder, in that of a run, with the chain that it has kept."""


class Run(Protocol):
    """A run that is being tracked."""

    @property
    def address(self) -> str | None:
        """Where a person can look at this run, or the command that shows it; None if there is neither."""

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log numbers by name; those of ``fold=valid`` are called ``valid/…``.

        Args:
            metrics: Full name -> value.
        """

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Log series by name, one value per step.

        Args:
            curves: Name -> its value at each step.
        """

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Log a table, given as columns by name."""

    def log_tags(self, tags: Mapping[str, str]) -> None:
        """Log texts by name.

        Args:
            tags: Name -> text.
        """

    def log_dataset(self, name: str, digest: str, source: str) -> None:
        """Log which data the run has read: its name, the hash of its content, and its file or folder ("": made up).

        Args:
            name: The name of the data.
            digest: The hash of its content.
            source: Its file or folder.
        """

    def describe(self, text: str) -> None:
        """Log the summary of the run, in Markdown.

        Args:
            text: Markdown.
        """

    def log_files(self, folder: Path, *, inner: bool = True) -> None:
        """Log the files of a folder and, if ``inner``, of the folders in it."""


@dataclass(frozen=True)
class Field:
    """One column or parameter of what a model takes or returns.

    Attributes:
        name: Its name.
        kind: ``long``, ``double``, ``boolean``, ``string``, or ``any``: whatever JSON can say.
        needed: Whether it must be given.
        default: The value of a parameter that is not given.
    """

    name: str
    kind: str
    needed: bool = True
    default: Any = None


@dataclass(frozen=True)
class Verdict:
    """Whether a model is better than another one, and why."""

    better: bool
    why: str


@dataclass(frozen=True)
class ModelForm:
    """What others need to know of a model to load and to ask it.

    Attributes:
        loader: A module of recx: its ``_load_pyfunc(folder)`` returns an object with ``predict(frame, params=None)``.
        requirements: What must be installed, such as ``numpy==2.4.6``.
        inputs: The columns of the frame that it takes.
        params: The parameters.
        outputs: The columns of the frame that it returns.
        example: A frame to try: column -> values.
    """

    loader: str
    requirements: Sequence[str]
    inputs: Sequence[Field]
    params: Sequence[Field]
    outputs: Sequence[Field]
    example: Mapping[str, Sequence[Any]]


class Contest(Protocol):
    """Decides which of the models of one name is to be used, by the files that their runs have left."""

    @property
    def files(self) -> Sequence[str]:
        """Names of the files of a run that are needed."""

    def verdict(self, champion: Path | None) -> Verdict:
        """Return whether this model is better than the chosen one.

        Args:
            champion: A folder with those of the files that the run of the chosen model has; None: none is chosen yet.
        """


@dataclass(frozen=True, eq=False)
class KeptModel:
    """The chain that a run has kept, for trackers that keep models.

    Attributes:
        folder: Its files.
        size: Bytes of all of them.
        full: Whether the histories of users are among them.
        form: How it is loaded and asked.
        contest: Compares it with others.
    """

    folder: Path
    size: int
    full: bool
    form: ModelForm
    contest: Contest


@runtime_checkable
class ModelRun(Protocol):
    """A run of a tracker that keeps models, not only their files."""

    def log_model(self, model: KeptModel) -> None:
        """Log the chain that the run has kept; the files of the run are logged already.

        Args:
            model: The chain, in a folder.
        """


class Tracker(Protocol):
    """Records runs."""

    def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[Run]:
        """Yield a new run.

        Args:
            name: The experiment that the run is one of.
            params: The composed configuration; ``recx.plugin.chosen_params(params)`` is what runs are compared by.
            context: The run or sweep that it belongs to, and what is varied in it.
        """


@runtime_checkable
class SweepTracker(Protocol):
    """A tracker that keeps the trials of a sweep together.

    The trials' own runs get the parent's ``run_id`` and the sweep's id in their ``RunContext``.
    """

    def sweep(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[Run]:
        """Yield the run of the whole sweep: a new one, or the one that was started with this id.

        Args:
            name: As of ``run``.
            params: What all trials have in common.
            context: The id of the sweep, and as its name what is varied.
        """
