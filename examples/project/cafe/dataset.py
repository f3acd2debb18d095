"""Where the events come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recx.plugin import InputError, Interactions, checked

PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True)
@checked("dataset")  # checks each setting against its annotation
class Orders:
    """Which guest ordered which dish, when: a CSV file with the columns guest, dish and time.

    Attributes:
        path: The file; unless it is absolute, seen from the project's folder, whatever the working directory.
    """

    path: str = "data/orders.csv"

    @property
    def depends_on(self) -> Path:
        """The file, by whose content the stage cache knows whether it must load again."""
        return PROJECT / self.path

    def load(self) -> Interactions:
        import pandas as pd  # here, so that a command that loads nothing does not wait for it

        try:
            orders = pd.read_csv(PROJECT / self.path, dtype=str)
            time = pd.to_datetime(orders["time"], format="ISO8601").astype("datetime64[ms]").astype("int64")
            events = pd.DataFrame({"user": orders["guest"], "item": orders["dish"], "time": time})
        except (KeyError, OSError, ValueError) as error:
            raise InputError(f"{PROJECT / self.path} has no guest, dish and time ({error}): correct it") from error
        return Interactions.from_frame(events)  # sorts each user's events by time
