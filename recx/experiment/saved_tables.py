"""Reading back the tables of a run's folder, of which its lists may be kept in part (the setting ``lists``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.system.plain_files import check_plain
from recx.experiment.list_files import CUT
from recx.storage.readers.content import refuse_bomb

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def reading(path: Path) -> Iterator[Path]:
    """Turn every error while a run's file is read into one sentence."""
    if not os.path.lexists(path):
        raise InputError(f"{path.parent} has no {path.name}: this run did not write it")
    try:
        check_plain(path)
        yield path
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} is damaged and cannot be read ({type(error).__name__}): run the experiment again"
        ) from error


def table(path: Path) -> pd.DataFrame:
    """Return a table of a run."""
    import pandas as pd
    import pyarrow.parquet as pq

    with reading(path):
        refuse_bomb(path, pq.read_metadata(path))
        return pd.read_parquet(path)


def check_whole(path: Path) -> None:
    """Check that the lists of a run are whole in its file.

    Raises:
        InputError: The run kept the first of each list only, or the file is missing or damaged.
    """
    import pyarrow.parquet as pq

    with reading(path):
        most = (pq.read_metadata(path).metadata or {}).get(CUT, b"").decode()
    if most:
        raise InputError(
            f"{path.parent}: this run kept the first {most} of each list (lists=top:{most}), and here whole lists are "
            "needed: run it again with lists=all"
        )
