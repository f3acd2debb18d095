"""A sweep as read from its command line before anything runs: its id, its first configuration, its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import option_sources
from recx.core import project
from recx.core.errors import InputError, did_you_mean
from recx.core.system.atomic import write_text
from recx.jobs.sweep import checks, edited, words
from recx.jobs.sweep.baseline import check_named
from recx.jobs.sweep.checks import FIXED
from recx.jobs.sweep.journal import FILE, TrialJournal, description_of
from recx.jobs.sweep.repeats import FOLDS, check_folds

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from recx.config.hydra_internals import Override
    from recx.config.sweepers.grid import Plan

HOME = Path("outputs", "sweeps")
LOCK = ".lock"
"""The file in the folder of a sweep that is locked while it runs."""
OPTUNA, HYDRAS_OPTUNA = "recx.config.sweepers.optuna.Search", "hydra_plugins.hydra_optuna_sweeper"
"""Our sweeper for Optuna, and the one that it is built on."""
HOW_MANY = ("hydra/launcher", "hydra.launcher", "hydra.sweeper.n_", "hydra.sweeper.max_")
OWN = ("sweep_id", "resume", "baseline", "choose")
"""Keys of the sweep itself, which are not part of a configuration."""
BEST, SIMPLEST = "best", "simplest"
"""How the trial that runs on test is chosen: by its mean, or the simplest that is not told apart from the best."""


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
        base: The overrides of a trial without those that differ between trials: the experiment as it is.
        baseline: The trial that the others are held against: its number, or settings that it alone has; "": the
            experiment as it is.
        choose: ``best`` or ``simplest``.
    """

    id: str
    overrides: tuple[str, ...]
    config: dict[str, Any]
    varied: tuple[str, ...]
    chooses: bool
    optimises: bool
    ray: dict[str, Any] | None = None
    grid: Plan | None = None
    base: tuple[str, ...] = ()
    baseline: str = ""
    choose: str = BEST

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
        overrides += [f"choose={self.choose}"] if self.choose != BEST else []
        own = project.current()
        overrides += [f"--config-dir={folder}" for folder in own.folders]
        overrides += [f"--config-name={own.config_name}"] if own.config_name != project.CONFIG_NAME else []
        earlier = description_of(self.folder)
        if earlier:
            if earlier["words"] != overrides:
                raise InputError(
                    f"sweep_id={self.id}: this sweep was started with different overrides "
                    f"({' '.join(earlier['words'])}): give the same, or another sweep_id "
                    "(python -m recx help sweeps)"
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
    from recx.config.overrides import given

    found = words.read(kept)
    composed = found.first
    sweeper, launcher = composed.hydra.sweeper, composed.hydra.launcher
    checks.check_installed("sweeper", HYDRAS_OPTUNA if sweeper._target_ == OPTUNA else sweeper._target_)
    checks.check_installed("launcher", launcher._target_)
    checks.check_search(found.base)

    config = plain(composed)
    optimises = "direction" in sweeper
    if optimises and sweeper.direction != "maximize":
        raise InputError(f"hydra.sweeper.direction={sweeper.direction}: recx's objectives are maximized")
    varied = _varied(found.overrides, sweeper)
    folds = bool(sweeper.get("params")) and set(sweeper.params) <= FOLDS  # a preset that has nothing to choose
    chooses = optimises or ("sweep" in composed.hydra.runtime.choices and not folds)
    checks.check_comparable(config, varied, chooses)
    check_folds(varied, str(config["fold"]), config["allow_tuning_on_test"])
    changed = [sweeper.leave_out if key == "without" else key for key in varied]
    checks.check_same_users(str(config["objective"]), changed)
    checks.check_threads(launcher.get("n_jobs"), config["runtime"]["threads"])
    checks.check_engine(config["engine"], "ray" in launcher)
    choose = own.get("choose", BEST)
    baseline = str(given([f"baseline={own['baseline']}"]).get("baseline", "")) if "baseline" in own else ""
    checks.check_choice(choose, (BEST, SIMPLEST), config)
    if found.grid is not None and baseline:
        check_named(baseline, found.grid.trials)
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
        _base(found.overrides),
        baseline,
        choose,
    )


def _base(parsed: Sequence[Override]) -> tuple[str, ...]:
    """Return the overrides of a trial that are the same in all of them."""
    from recx.config.hydra_internals import is_of_hydra, is_swept, typed

    return tuple(typed(one) for one in parsed if not is_swept(one) and not is_of_hydra(one))


def _varied(parsed: Sequence[Override], sweeper: DictConfig) -> tuple[str, ...]:
    """Return the keys that differ between trials, with ``without`` where each entry of a group is left out in turn."""
    from recx.config.hydra_internals import is_swept, key_of
    from recx.config.sweepers.when import branches

    keys = [key_of(override) for override in parsed if is_swept(override)]
    keys += [key_of(one) for branch in branches(sweeper.get("when")) for one in branch.ranges]
    return tuple(dict.fromkeys([*keys, *(["without"] if sweeper.get("leave_out") else [])]))


def _id(own: dict[str, str], name: str) -> str:
    if {"sweep_id", "resume"} <= own.keys():
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
