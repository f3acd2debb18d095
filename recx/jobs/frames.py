"""Data frames given from Python instead of files, as the overrides of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recx.config.overrides import quoted
from recx.core.chosen import option
from recx.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from recx.storage.readers.in_memory import Frame, HeldFrame

Columns = Mapping[str, str | int | None]
SETTINGS = {"data": "path", **{name: name for name in ("valid", "test", "slates", "items", "users")}}
"""Argument -> the setting of ``dataset`` that names its file."""
OF_TABLES = ("+experiment=table",)
"""What a run of frames adds if it chooses neither an experiment nor a primary configuration of its own."""


@dataclass(frozen=True)
class GivenFrames:
    """Frames that stand for files.

    Attributes:
        frames: The frames.
        words: The overrides by which a run reads them.
    """

    frames: Sequence[HeldFrame] = ()
    words: Sequence[str] = ()

    def at_hand(self) -> AbstractContextManager[None]:
        """Make the frames known by their names."""
        if not self.frames:
            return nullcontext()
        from recx.storage.readers.in_memory import held

        return held(self.frames)

    def checked(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a composed configuration, if its dataset is one that reads frames.

        Raises:
            InputError: It reads files of its own.
        """
        if not self.frames:
            return config
        from recx.config.factory import locate
        from recx.parts.dataset.table import Table

        if issubclass(locate(config["dataset"]["_target_"], "dataset"), Table):
            return config
        raise InputError(
            f"dataset={option(config, 'dataset')} reads files of its own, and data frames are read by dataset=table: "
            "add that word, or leave out the experiment that chooses another"
        )


def given_frames(
    tables: Mapping[str, Frame | None], columns: Columns | None, words: Sequence[str], added: Sequence[str] = ()
) -> GivenFrames:
    """Return frames with the overrides that name them.

    Args:
        tables: Argument (a key of ``SETTINGS``) -> its frame; None: it is not given.
        columns: Role (user, item, time, weight, fold) -> the column of ``data``, and of ``valid`` and ``test``.
        words: The other overrides.
        added: Overrides that are added if no word chooses an experiment or a dataset.

    Raises:
        InputError: Something given is no frame, a role is unknown, or an override says the same as an argument.
    """
    given = {name: frame for name, frame in tables.items() if frame is not None}
    if columns is not None and "data" not in given:
        raise InputError("columns= names the columns of data=, which is not given: give the data frame of the events")
    if not given:
        return GivenFrames()
    from recx.parts.dataset.table import FOLD, ROLES
    from recx.storage.readers.in_memory import HeldFrame

    roles = (*ROLES, FOLD)
    frames = {name: HeldFrame.of(frame, name) for name, frame in given.items()}
    settings: dict[str, Any] = {f"dataset.{SETTINGS[name]}": frame.name for name, frame in frames.items()}
    for role, column in (columns or {}).items():
        if role not in roles:
            raise InputError(f"columns={{{role!r}: …}}: there is no such role: {did_you_mean(str(role), roles)}")
        settings[f"dataset.{role}"] = column
    typed = {word.lstrip("+~").partition("=")[0]: word for word in words}
    for key in settings:
        if key in typed:
            raise InputError(f"{typed[key]}: an argument from Python sets {key} too: leave one of them out")
    added = () if {"experiment", "dataset"} & set(typed) else added
    texts = [f"{key}=null" if value is None else quoted(f"{key}={value}") for key, value in settings.items()]
    return GivenFrames(list(frames.values()), [*added, *texts])
