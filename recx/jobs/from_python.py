"""``recx.run``, ``recx.sweep``, ``recx.study`` and ``recx.doctor``: what the command line does, called from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.distribution import check_distribution
from recx.core.errors import InputError
from recx.core.project import CONFIG_NAME, Project, entered
from recx.core.secrets import hidden_override
from recx.jobs.frames import OF_TABLES, SETTINGS, Columns, GivenFrames, given_frames

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.experiment import Result
    from recx.jobs.doctor import Diagnosis
    from recx.jobs.study.run import StudyResult
    from recx.storage.readers.in_memory import Frame

Folders = str | Path | Sequence[str | Path]


def run(
    overrides: str | Sequence[str] = (),
    *,
    data: Frame | None = None,
    valid: Frame | None = None,
    test: Frame | None = None,
    slates: Frame | None = None,
    items: Frame | None = None,
    users: Frame | None = None,
    columns: Columns | None = None,
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> Result:
    """Run what ``python -m recx OVERRIDES`` runs, including its folder, tracker and printed table.

    It can be called from several threads, in a notebook, and in a program that uses Hydra itself.

    Args:
        overrides: Such as ``["+experiment=news", "ranker.l2=0.1"]``, or one text that is split like a command line.
        data: A data frame of events (pandas, Polars, PyArrow), which ``dataset=table`` reads like a file with the same
            content (``dataset.path``); without an experiment or a dataset, ``+experiment=table`` is run.
        valid: A data frame of the valid events, with the columns of ``data``, which then holds those of train
            (``dataset.valid``), for ``split=given``.
        test: A data frame of the test events, like ``valid`` (``dataset.test``).
        slates: A data frame of candidate lists for ``retriever=given``, with columns user, item and, optionally, score
            or rank (``dataset.slates``).
        items: A data frame with one row per item, like ``dataset.items``.
        users: A data frame with one row per user, like ``dataset.users``.
        columns: Role -> column of ``data``, such as ``{"user": "uid"}``, like ``dataset.user``: user, item, time,
            weight, fold (and of ``valid`` and ``test``); None: there is no such column.
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
    given = _given((data, valid, test, slates, items, users), columns, words, _added(config_name))
    with given.at_hand(), _project(words, config_dir, config_name):
        check_single(words)
        config = compose([*given.words, *words])
        own = folder_of_run(Path(config.hydra.run.dir).absolute())
        own.check_chosen()
        return launch(given.checked(plain(config)), own)


def sweep(
    overrides: str | Sequence[str] = (),
    *,
    data: Frame | None = None,
    valid: Frame | None = None,
    test: Frame | None = None,
    slates: Frame | None = None,
    items: Frame | None = None,
    users: Frame | None = None,
    columns: Columns | None = None,
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> pd.DataFrame:
    """Run what ``python -m recx -m OVERRIDES`` runs: a sweep, one run after the other or by a launcher.

    Args:
        overrides: Such as ``["+experiment=news", "ranker.l2=0.1,1"]``, or one text that is split like a command line.
        data: A data frame of events, as of ``run``; its trials run in this process (no ``hydra/launcher``).
        valid: A data frame of the valid events.
        test: A data frame of the test events.
        slates: A data frame of candidate lists.
        items: A data frame of the items.
        users: A data frame of the users.
        columns: Role -> column of ``data``.
        config_dir: Folders of option files, like ``--config-dir``; parts may be defined in modules beside a folder.
        config_name: Name of the primary configuration, like ``--config-name``.

    Returns:
        One row per trial, best first: ``trial``, ``objective`` (NaN where it failed or was pruned), every setting that
        differs, ``seconds``, ``cached`` (stages from the cache), ``reason`` (why there is no objective), ``difference``
        (from the baseline) with its 95 % interval ``low`` to ``high``, ``p``, ``p_holm`` (adjusted over the trials),
        ``p_best`` (against the best, adjusted) and ``folder`` (for ``recx.results.load``).

    Raises:
        InputError: An override is wrong, the sweep would tune on test, or it is running already.
    """
    import pandas as pd

    from recx.config.put_aside import put_aside
    from recx.jobs import hydra_job
    from recx.jobs.sweep import run as sweeps

    words = _words(overrides)
    given = _given((data, valid, test, slates, items, users), columns, words, _added(config_name))
    with given.at_hand(), _project(words, config_dir, config_name):
        of_all = put_aside([*given.words, *words])
        outcome = sweeps.sweep(of_all, lambda of_trials: hydra_job.run(["-m", *of_trials]))
    folders = {trial.number: trial.folder for trial in outcome.trials}
    frame = pd.DataFrame(dict(outcome.table))
    return frame.assign(folder=frame["trial"].map(folders))


def study(
    study: str | Path | Mapping[str, Any],
    overrides: str | Sequence[str] = (),
    *,
    resume: bool = False,
    jobs: int | None = None,
    data: str | Path | None = None,
    name: str | None = None,
    chains: Sequence[str] = (),
    worlds: Sequence[str] = (),
    seeds: Sequence[int] = (),
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> StudyResult:
    """Run what ``python -m recx study NAME`` runs: chains in worlds with several seeds.

    Args:
        study: The name of a study in ``conf/study``, the path of its file or of a lock file, or what such a file says.
        overrides: Overrides of all cells, and those of the study that name code, which must be repeated.
        resume: Whether to go on with the study of this name.
        jobs: How many cells run at a time, in processes of their own; 1: in this process; None: one for each core.
        data: The folder that ``{data}`` stands for in the study.
        name: Its name, and that of its folder in ``outputs/studies``; None: that of its file.
        chains: Only these chains; empty: all.
        worlds: Only these worlds; empty: all.
        seeds: These seeds instead of those of the study.
        config_dir: Folders of option files, like ``--config-dir``.
        config_name: Name of the primary configuration, like ``--config-name``.

    Returns:
        What came of each cell, with values per user.

    Raises:
        InputError: The study is wrong, was started already, or is another now than the one to resume.
    """
    from recx.jobs.study.plan import Selection
    from recx.jobs.study.start import Request, start

    words = _words(overrides)
    folder = None if data is None else str(data)
    request = Request(jobs, folder, name, None, Selection(chains, worlds, seeds), words)
    with _project(words, config_dir, config_name):
        return start(str(study) if isinstance(study, Path) else study, request, resume=resume)


def doctor(
    data: Frame | None = None,
    overrides: str | Sequence[str] = (),
    *,
    valid: Frame | None = None,
    test: Frame | None = None,
    slates: Frame | None = None,
    items: Frame | None = None,
    users: Frame | None = None,
    columns: Columns | None = None,
    config_dir: Folders = (),
    config_name: str = CONFIG_NAME,
) -> Diagnosis:
    """Check the data and its split before any training, as ``python -m recx doctor OVERRIDES`` does.

    Args:
        data: A data frame of events, as of ``run``; None: the overrides name the data. Without an experiment or a
            dataset, it says what the data seems to be, which columns play which part, and how to run on it.
        overrides: Those of a run on this data.
        valid: A data frame of the valid events.
        test: A data frame of the test events.
        slates: A data frame of candidate lists.
        items: A data frame of the items.
        users: A data frame of the users.
        columns: Role -> column of ``data``.
        config_dir: Folders of option files.
        config_name: Name of the primary configuration.

    Returns:
        The counts with their verdicts; printed, it is the table that the command line prints.

    Raises:
        InputError: The configuration or the data cannot be used.
    """
    from recx.jobs.doctor import diagnosis
    from recx.jobs.identified import identified

    words = _words(overrides)
    given = _given((data, valid, test, slates, items, users), columns, words)
    with given.at_hand(), _project(words, config_dir, config_name):
        words = [*given.words, *words]
        seems = identified(words)
        return diagnosis(words if seems is None else _words(seems.overrides), seems)


def _given(
    tables: Sequence[Frame | None], columns: Columns | None, words: Sequence[str], added: Sequence[str] = ()
) -> GivenFrames:
    """Return the frames of the arguments, in the order of ``SETTINGS``."""
    return given_frames(dict(zip(SETTINGS, tables, strict=True)), columns, words, added)


def _added(config_name: str) -> Sequence[str]:
    return OF_TABLES if config_name == CONFIG_NAME else ()


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
