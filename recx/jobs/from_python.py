"""``recx.run`` and ``recx.sweep``: what the command line does, called from Python."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.distribution import check_distribution
from recx.core.errors import InputError
from recx.core.project import CONFIG_NAME, Project, entered
from recx.core.secrets import hidden_override

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.experiment import Result

Folders = str | Path | Sequence[str | Path]


def run(
    overrides: str | Sequence[str] = (),
    *,
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> Result:
    """Run what ``python -m recx OVERRIDES`` runs, including its folder, tracker and printed table.

    It can be called from several threads, in a notebook, and in a program that uses Hydra itself.

    Args:
        overrides: Such as ``["+experiment=news", "ranker.l2=0.1"]``, or one text that is split like a command line.
        config_dir: Folders of option files, like ``--config-dir``; parts may be defined in modules beside a folder.
        config_name: Name of the primary configuration, like ``--config-name``.

    Raises:
        InputError: The configuration or the data cannot be used.
        RecxError: A part violated its protocol.
    """
    from recx.config.compose import compose, plain
    from recx.config.overrides import check_single
    from recx.jobs.launch import folder_of_run, launch

    words = _words(overrides)
    with _project(words, config_dir, config_name):
        check_single(words)
        config = compose(words)
        own = folder_of_run(Path(config.hydra.run.dir).absolute())
        own.check_chosen()
        return launch(plain(config), own)


def sweep(
    overrides: str | Sequence[str] = (),
    *,
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> pd.DataFrame:
    """Run what ``python -m recx -m OVERRIDES`` runs: a sweep, one run after the other or by a launcher.

    Args:
        overrides: Such as ``["+experiment=news", "ranker.l2=0.1,1"]``, or one text that is split like a command line.
        config_dir: Folders of option files, like ``--config-dir``; parts may be defined in modules beside a folder.
        config_name: Name of the primary configuration, like ``--config-name``.

    Returns:
        One row per trial, best first: ``trial``, ``objective`` (NaN where it failed or was pruned), every setting that
        differs, ``seconds``, ``cached`` (stages from the cache), ``reason`` (why there is no objective) and ``folder``
        (for ``recx.results.load``).

    Raises:
        InputError: An override is wrong, the sweep would tune on test, or it is running already.
    """
    import pandas as pd

    from recx.config.put_aside import put_aside
    from recx.jobs import hydra_job
    from recx.jobs.sweep import run as sweeps
    from recx.jobs.sweep.summary import table

    words = _words(overrides)
    with _project(words, config_dir, config_name):
        trials = sweeps.sweep(put_aside(words), lambda of_trials: hydra_job.run(["-m", *of_trials])).trials
    folders = {trial.number: trial.folder for trial in trials}
    frame = pd.DataFrame(table(trials))
    return frame.assign(folder=frame["trial"].map(folders))


def _words(overrides: str | Sequence[str]) -> list[str]:
    from recx.config.overrides import readable

    check_distribution()
    words = readable(overrides)
    for word in words:
        if word.startswith("-"):
            raise InputError(f"{word}: it is a flag of the command line: write config_dir=, config_name= or recx.sweep")
    return words


def _project(words: Sequence[str], config_dir: Folders, config_name: str) -> AbstractContextManager[Project]:
    folders = [config_dir] if isinstance(config_dir, str | Path) else config_dir
    return entered(Project.of(folders, list(map(hidden_override, words)), config_name))
