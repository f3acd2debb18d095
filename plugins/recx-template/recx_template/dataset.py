"""A dataset: where the events come from.

Where the events depend on more than settings, the files that they name and code, declare it by ``depends_on`` or
``cacheable`` (see ``recx.core.protocols``): the stage cache does not notice it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from recx.plugin import InputError, Interactions, checked


@dataclass(frozen=True)
@checked("dataset")  # checks each setting against its annotation
class JsonLines:
    """A file with one event per line, such as ``{"user": "u1", "item": "a", "time": "2024-05-01T09:30:00Z"}``.

    Attributes:
        path: The file.
    """

    path: str | None = None

    def load(self) -> Interactions:
        import pandas as pd  # here, so that a command that loads nothing does not wait for it

        if self.path is None:
            raise InputError("dataset.path is not set: name the file, such as dataset.path=log.jsonl")
        try:
            frame = pd.read_json(self.path, lines=True, dtype=False)  # ids stay as they are
            time = pd.to_datetime(frame["time"], format="ISO8601", utc=True)
            frame = frame.assign(time=time.dt.tz_localize(None).astype("datetime64[ms]").astype("int64"))
            return Interactions.from_frame(frame[["user", "item", "time"]])  # sorts each user's events by time
        except (KeyError, OSError, ValueError) as error:
            raise InputError(f"{self.path} has no events with user, item and time ({error}): correct it") from error
