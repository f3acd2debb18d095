"""A sweep as read from its command line before anything runs: its id, its first configuration, its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import factory, option_sources
from recx.core import project
from recx.core.errors import InputError, did_you_mean
from recx.core.system.atomic import write_text
from recx.core.system.threads import cores as cores_here
from recx.jobs.sweep import edited, words
from recx.jobs.sweep.journal import FILE, TrialJournal, description_of

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from recx.config.hydra_internals import Override
    from recx.config.sweepers.grid import Plan

HOME = Path("outputs", "sweeps")
LOCK = ".lock"
"""The file in the folder of a sweep that is locked while it runs."""
OPTUNA, HYDRAS_OPTUNA = "recx.config.sweepers.optuna.Search", "hydra_plugins.hydra_optuna_sweeper"
"""Our sweeper for Optuna, and the one that it is built on."""
FIXED = ("fold", "objective")
"""Settings that must be the same in all trials of a sweep, so that they can be compared."""
AFTER_RETRIEVAL = ("ranker", "feature", "cache", "engine", "name", "pruner", "report", "runtime", "tracker")
"""First words of the keys that cannot change which users have a target among their candidates."""
LOWER_IS_BETTER = re.compile(r"(time|data)/|.*(logloss|lost_in_)")
HOW_MANY = ("hydra/launcher", "hydra.launcher", "hydra.sweeper.n_", "hydra.sweeper.max_")
EXTRAS = {"_ray_": "ray", "_submitit_": "slurm"}
"""Part of a package's name -> the extra that installs it; all others come with ``sweep``."""
OWN = ("sweep_id", "resume")
"""Keys that name the sweep itself and are not part of a configuration."""


@dataclass(frozen=True)
class Sweep:
    """A sweep that is about to start or to resume.

    Attributes:
        id: The name of its folder.
        overrides: The command line without flags and without the keys that name the sweep.
        config: The configuration of the first trial.
        varied: The keys that differ between its trials, in the order in which they were typed.
        chooses: Whether it exists to find the best trial (a preset, or a sweeper that optimizes), not to compare.
        optimises: Whether its sweeper optimizes.
        ray: How Ray is started or joined if it runs the trials (see ``conf/hydra/launcher/ray.yaml``), else None.
        grid: Its trials, if its sweeper is the grid: they are known before any runs.
    """

    id: str
    overrides: tuple[str, ...]
    config: dict[str, Any]
    varied: tuple[str, ...]
    chooses: bool
    optimises: bool
    ray: dict[str, Any] | None = None
    grid: Plan | None = None

    @property
    def of_hydra(self) -> list[str]:
        """The overrides that Hydra composes with: those that apply with some options only are in the trials."""
        from recx.config.hydra_internals import typed

        apart = {typed(one.override) for one in self.grid.conditionals} if self.grid else set()
        return [one for one in self.overrides if one not in apart]

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return HOME / self.id

    def begin(self) -> bool:
        """Write the description of the sweep, or check it against the one of an earlier start.

        Returns:
            Whether the sweep is new.

        Raises:
            InputError: A sweep of this id was started with different overrides, or the option files were edited since.
        """
        # on these the trials depend; the others say where and how many of them run
        overrides = [one for one in self.overrides if not one.lstrip("+~").startswith(HOW_MANY)]
        own = project.current()
        overrides += [f"--config-dir={folder}" for folder in own.folders]
        overrides += [f"--config-name={own.config_name}"] if own.config_name != project.CONFIG_NAME else []
        earlier = description_of(self.folder)
        if earlier:
            if earlier["words"] != overrides:
                raise InputError(
                    f"sweep_id={self.id}: this sweep was started with different overrides "
                    f"({' '.join(earlier['words'])}): give the same, or another sweep_id"
                )
            before = [one for one in self.overrides if one.startswith("hydra.searchpath=")]
            if before or earlier.get("options") != option_sources.content_hash():
                edited.check(self.id, TrialJournal(self.folder / "trials"), before)
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(path.name for path in self.folder.iterdir() if path.name != LOCK)
        if foreign:
            raise InputError(
                f"sweep_id={self.id}: {self.folder} holds files of no sweep ({', '.join(foreign[:3])}): choose another "
                "sweep_id"
            )
        content = {"id": self.id, "words": overrides, "varied": self.varied, **{key: self.config[key] for key in FIXED}}
        content["options"] = option_sources.content_hash()
        write_text(self.folder / FILE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return True


def read(overrides: Sequence[str]) -> Sweep:
    """Return the sweep of a command line.

    Args:
        overrides: The arguments after ``-m``.

    Raises:
        InputError: An override is wrong, there is no sweep to resume, or the sweep would tune on the test fold.
    """
    pairs = {override: override.partition("=") for override in overrides}
    own = {key: value for key, _, value in pairs.values() if key in OWN}
    kept = tuple(override for override in overrides if pairs[override][0] not in OWN)
    if any(override.lstrip("+").startswith(("hydra.sweep.dir=", "hydra.mode=")) for override in kept):
        raise InputError(
            f"hydra.sweep.dir, hydra.mode: the folder of a sweep is {HOME}/ID: write -m, and name it with sweep_id=ID"
        )
    from omegaconf import OmegaConf

    from recx.config.compose import plain

    found = words.read(kept)
    composed = found.first
    sweeper, launcher = composed.hydra.sweeper, composed.hydra.launcher
    _check_installed("sweeper", HYDRAS_OPTUNA if sweeper._target_ == OPTUNA else sweeper._target_)
    _check_installed("launcher", launcher._target_)
    _check_search(found.base)

    config = plain(composed)
    optimises = "direction" in sweeper
    if optimises and sweeper.direction != "maximize":
        raise InputError(f"hydra.sweeper.direction={sweeper.direction}: recx's objectives are maximized")
    chooses = optimises or "sweep" in composed.hydra.runtime.choices
    varied = _varied(found.overrides, sweeper)
    _check_comparable(config, varied, chooses)
    changed = [sweeper.leave_out if key == "without" else key for key in varied]
    _check_same_users(str(config["objective"]), changed)
    _check_threads(launcher.get("n_jobs"), config["runtime"]["threads"])
    _check_engine(config["engine"], "ray" in launcher)
    ray: Any = OmegaConf.to_container(launcher.ray.init, resolve=True) if "ray" in launcher else None
    return Sweep(
        _id(own, str(config["name"])),
        kept,
        config,
        varied,
        chooses,
        optimises,
        ray,
        found.grid,
    )


def _varied(parsed: Sequence[Override], sweeper: DictConfig) -> tuple[str, ...]:
    """Return the keys that differ between trials, with ``without`` where each entry of a group is left out in turn."""
    from recx.config.hydra_internals import is_swept, key_of
    from recx.config.sweepers.when import branches

    keys = [key_of(override) for override in parsed if is_swept(override)]
    keys += [key_of(one) for branch in branches(sweeper.get("when")) for one in branch.ranges]
    return tuple(dict.fromkeys([*keys, *(["without"] if sweeper.get("leave_out") else [])]))


def _check_comparable(config: dict[str, Any], varied: Sequence[str], chooses: bool) -> None:
    """Raise InputError if the trials could not be compared, or if the best would be chosen on the test fold."""
    fold, objective, tuning = (config[key] for key in (*FIXED, "allow_tuning_on_test"))
    if type(tuning) is not bool:
        raise InputError(f"allow_tuning_on_test={tuning}: it must be true or false")
    for key in (*FIXED, "allow_tuning_on_test"):
        if key in varied:
            raise InputError(f"{key}: the trials of a sweep are compared by it: give it one value")
    if LOWER_IS_BETTER.match(str(objective)):
        raise InputError(
            f"objective={objective}: lower values are better, but a sweep maximizes its objective: choose a metric "
            "such as end_to_end/ndcg_at_5"
        )
    if chooses and fold != "valid" and not tuning:
        raise InputError(
            f"fold={fold}: a sweep that chooses the best by this fold would tune on it: write fold=valid, and the best "
            "trial runs once on test; or allow_tuning_on_test=true"
        )


def _check_same_users(objective: str, changed: Sequence[str]) -> None:
    """Raise InputError if the objective is a mean over the users with a retrieved target, and these may differ."""
    stage, _, metric = objective.partition("/")
    key = next((key for key in changed if _place(key) not in AFTER_RETRIEVAL), None)
    if stage == "ranking" and key is not None:
        raise InputError(
            f"objective={objective}: it is a mean over the users whose target was retrieved, and with {key} these may "
            "differ from trial to trial, so that one which finds fewer targets may win: write "
            f"objective=end_to_end/{metric}, or vary the ranker and its features only"
        )


def _place(key: str) -> str:
    """Return the first word of where a key or group belongs in the configuration."""
    group, _, package = key.partition("@")
    return re.split("[./]", package or group)[0]


def _check_installed(kind: str, target: str) -> None:
    """Raise InputError if Hydra's plugin for the chosen sweeper or launcher is not installed."""
    package = ".".join(target.split(".")[:2])
    try:
        found = find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        extra = next((extra for mark, extra in EXTRAS.items() if mark in package), "sweep")
        raise InputError(
            f"hydra/{kind}: the package {package} is not installed: install recx-lab again, with its extra {extra!r} "
            "(docs/install.md)"
        )


def _check_engine(engine: object, trials_on_ray: bool) -> None:
    """Raise InputError if trials on Ray would wait for each other's blocks."""
    if trials_on_ray and isinstance(engine, dict) and engine.get("_target_") == "recx.experiment.engine.ray.Ray":
        raise InputError(
            "engine=ray with hydra/launcher=ray: the trials would occupy the cores that their own blocks wait for: "
            "choose engine=local, or leave out the launcher, so that each trial in turn uses the whole cluster"
        )


def _check_threads(jobs: object, threads: object) -> None:
    """Raise InputError if parallel trials would use more threads than there are cores."""
    if not isinstance(jobs, int) or not isinstance(threads, int):
        return
    cores = cores_here()
    jobs = jobs if jobs > 0 else max(1, cores + 1 + jobs)  # as joblib counts
    if jobs * threads > cores:
        raise InputError(
            f"runtime.threads={threads} in {jobs} parallel trials is more than the {cores} cores, which would slow all "
            "of them down several times: leave runtime.threads out, and the trials share the cores"
        )


def _check_search(composed: DictConfig) -> None:
    """Raise InputError if a range under ``hydra.sweeper.when`` is of an unknown setting, or otherwise wrong."""
    from recx.config.compose import compose
    from recx.config.hydra_errors import explained
    from recx.config.sweepers.when import branches

    custom = str(composed.hydra.sweeper.get("custom_search_space") or "")
    if custom and not factory.is_trusted(custom):
        raise InputError(
            f"hydra.sweeper.custom_search_space={custom}: it must be a function of recx or of an installed plugin: "
            "write ranges that depend on a choice under hydra.sweeper.when, or put it into a plugin "
            "(`python -m recx new-plugin NAME`)"
        )
    with explained():
        found = branches(composed.hydra.sweeper.get("when"))
    given = [*composed.hydra.overrides.hydra, *composed.hydra.overrides.task]
    by_key = {override.partition("=")[0].lstrip("+"): override for override in given}
    needed: dict[str, dict[str, str]] = {}  # key that a branch proposes -> the choices that make it exist
    for branch in found:
        tried = {**needed.get(branch.key, {}), **branch.first()}
        needed.update({key: tried for key in branch.first() if key != branch.key})
        compose(list({**by_key, **tried}.values()))


def _id(own: dict[str, str], name: str) -> str:
    if len(own) > 1:
        raise InputError("sweep_id and resume both name the sweep: give one of them")
    if "sweep_id" in own:
        if not re.fullmatch(r"\w[\w.-]{0,99}", own["sweep_id"], flags=re.ASCII):
            raise InputError(f"sweep_id={own['sweep_id']}: it names a folder: use letters, digits, _ . -, 100 at most")
        return own["sweep_id"]
    if "resume" not in own:
        return f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}"
    files = sorted(HOME.glob(f"*/{FILE}"), key=lambda file: (file.stat().st_mtime_ns, file))
    known, wanted = [file.parent.name for file in files], own["resume"]
    if wanted != "last" and wanted not in known:
        near = did_you_mean(wanted, ["last", *known])
        raise InputError(f"resume={wanted}: there is no such sweep under {HOME}: {near}")
    if not known:
        raise InputError(f"resume=last: no sweep was started under {HOME}: start one with -m")
    return known[-1] if wanted == "last" else wanted
