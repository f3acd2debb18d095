"""What a sweep is, read from its command line before anything runs: its name, its first configuration, its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.config import factory
from recx.core.errors import InputError, did_you_mean
from recx.core.system.atomic import write_text
from recx.core.system.threads import cores as cores_here
from recx.jobs.sweep.journal import FILE, begun_in

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from recx.config.hydra_internals import Override

HOME = Path("outputs", "sweeps")
OPTUNA, HYDRAS_OPTUNA = "recx.config.sweepers.optuna.Search", "hydra_plugins.hydra_optuna_sweeper"
"""Our sweeper for Optuna, and the one that it is built on."""
FIXED = ("fold", "objective")
"""Settings by which the trials of a sweep are compared, so that all of them have the same."""
LOWER_IS_BETTER = re.compile(r"(time|data)/|.*(logloss|lost_in_)")
HOW_MANY = ("hydra/launcher", "hydra.launcher", "hydra.sweeper.n_", "hydra.sweeper.max_")
OWN = ("sweep_id", "resume")
"""Words that name the sweep itself and are no keys of a configuration."""


@dataclass(frozen=True)
class Sweep:
    """A sweep that is about to start or to go on.

    words: what was typed, but for flags and the words that name the sweep. config: the first trial's configuration.
    chooses: it exists to find the best (a preset, or a sweeper that optimises), and is no mere comparison. ray: how
    Ray is started or found where it runs the trials (see ``conf/hydra/launcher/ray.yaml``), else None.
    """

    id: str
    words: tuple[str, ...]
    config: dict[str, Any]
    chooses: bool
    optimises: bool
    ray: dict[str, Any] | None = None

    @property
    def folder(self) -> Path:
        """Where the sweep lies."""
        return HOME / self.id

    @property
    def compared(self) -> tuple[str, ...]:
        """The words that trials depend on; others say where and how many of them are run."""
        return tuple(word for word in self.words if not word.lstrip("+~").startswith(HOW_MANY))

    def begin(self) -> bool:
        """Write down what the sweep is, or check that it is the one that was begun; return whether it is new.

        Raises:
            InputError: a sweep of this id was begun with other words.
        """
        begun = begun_in(self.folder)
        if begun:
            if begun["words"] != list(self.compared):
                raise InputError(
                    f"sweep_id={self.id}: this sweep was begun with other words ({' '.join(begun['words'])}): "
                    "give the same, or another sweep_id"
                )
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        fixed = {key: self.config[key] for key in FIXED}
        content = json.dumps({"id": self.id, "words": self.compared, **fixed}, indent=2, ensure_ascii=False)
        write_text(self.folder / FILE, content + "\n")
        return True


def read(overrides: Sequence[str]) -> Sweep:
    """Return the sweep of a command line.

    Raises:
        InputError: a word is wrong, there is no sweep to resume, or the sweep would tune on the test fold.
    """
    own = {key: value for word in overrides for key, _, value in [word.partition("=")] if key in OWN}
    words = tuple(word for word in overrides if word.partition("=")[0] not in OWN)
    if any(word.lstrip("+").startswith(("hydra.sweep.dir=", "hydra.mode=")) for word in words):
        raise InputError(
            f"hydra.sweep.dir, hydra.mode: a sweep lies in {HOME}/ID: write -m, and name it by sweep_id=ID"
        )
    from recx.config.compose import plain

    composed, parsed = _first(words)
    _check_installed(composed)
    _check_search(composed)

    config = plain(composed)
    optimises = "direction" in composed.hydra.sweeper
    if optimises and composed.hydra.sweeper.direction != "maximize":
        raise InputError(f"hydra.sweeper.direction={composed.hydra.sweeper.direction}: recx's objectives are maximized")
    chooses = optimises or "sweep" in composed.hydra.runtime.choices
    _check(config, parsed, chooses)
    _check_threads(composed, config["runtime"]["threads"])
    return Sweep(_id(own, str(config["name"])), words, config, chooses, optimises, _ray(composed))


def _first(words: Sequence[str]) -> tuple[DictConfig, list[Override]]:
    """Return the configuration of the first trial, and all that the trials are made of, as parsed.

    An Optuna search begins anywhere; here it is with the first value of each range.
    """
    from recx.config.compose import compose
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import first_word, key_of, parse

    with explained():
        typed = parse(words)
    composed = compose([first_word(one) for one in typed])
    params = composed.hydra.sweeper.get("params")
    if not params:
        return composed, typed
    with explained():
        more = parse([f"{key}={values}" for key, values in params.items()])
    parsed = [*(one for one in more if key_of(one) not in map(key_of, typed)), *typed]
    return compose([first_word(one) for one in parsed]), parsed


def _check(config: dict[str, Any], parsed: Sequence[Override], chooses: bool) -> None:
    """Raise InputError where the trials could not be compared, or where the best would be chosen on the test fold."""
    if type(config["allow_tuning_on_test"]) is not bool:
        raise InputError(f"allow_tuning_on_test={config['allow_tuning_on_test']}: it must be true or false")
    from recx.config.hydra_internals import is_swept, key_of

    swept = {key_of(override) for override in parsed if is_swept(override)}
    for key in (*FIXED, "allow_tuning_on_test"):
        if key in swept:
            raise InputError(f"{key}: the trials of a sweep are compared by it: give it one value")
    if LOWER_IS_BETTER.match(str(config["objective"])):
        raise InputError(
            f"objective={config['objective']}: less of it is better, and a sweep makes its objective as large as it "
            "can: choose a metric such as end_to_end/ndcg_at_5"
        )
    if chooses and config["fold"] != "valid" and not config["allow_tuning_on_test"]:
        raise InputError(
            f"fold={config['fold']}: a sweep that chooses the best by this fold would tune on it: write fold=valid, "
            "and the best trial runs once on test; or allow_tuning_on_test=true"
        )


def _check_installed(composed: DictConfig) -> None:
    """Raise InputError where Hydra's plugin for the chosen sweeper or launcher is not there."""
    for what in ("sweeper", "launcher"):
        target = composed.hydra[what]._target_
        package = ".".join((HYDRAS_OPTUNA if target == OPTUNA else target).split(".")[:2])
        try:
            found = find_spec(package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            extra = "ray" if "_ray_" in package else "sweep"
            raise InputError(f"hydra/{what}: the package of {package} is not installed: pip install 'recx[{extra}]'")


def _check_threads(composed: DictConfig, threads: object) -> None:
    """Raise InputError where trials side by side would have more threads than there are cores."""
    jobs, cores = composed.hydra.launcher.get("n_jobs"), cores_here()
    if not isinstance(jobs, int) or not isinstance(threads, int):
        return
    jobs = jobs if jobs > 0 else max(1, cores + 1 + jobs)  # as joblib counts
    if jobs * threads > cores:
        raise InputError(
            f"runtime.threads={threads} in {jobs} trials at a time is more than the {cores} cores, which would cost "
            "several times the time: leave runtime.threads out, and the trials share the cores"
        )


def _ray(composed: DictConfig) -> dict[str, Any] | None:
    from omegaconf import OmegaConf

    if "ray" not in composed.hydra.launcher:
        return None
    settings = OmegaConf.to_container(composed.hydra.launcher.ray.init, resolve=True)
    assert isinstance(settings, dict)
    return {str(key): value for key, value in settings.items()}


def _check_search(composed: DictConfig) -> None:
    """Raise InputError where a range under ``hydra.sweeper.when`` is of a setting that is not there, or the like."""
    from recx.config.compose import compose
    from recx.config.hydra_errors import explained
    from recx.config.sweepers.optuna import branches

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
    words = {word.partition("=")[0].lstrip("+"): word for word in given}
    led: dict[str, dict[str, str]] = {}  # what must be chosen for a key that a branch proposes to be there
    for branch in found:
        tried = {**led.get(branch.key, {}), **branch.first()}
        led.update({key: tried for key in branch.first() if key != branch.key})
        compose(list({**words, **tried}.values()))


def _id(own: dict[str, str], name: str) -> str:
    if len(own) > 1:
        raise InputError("sweep_id and resume name the same thing: give one of them")
    if "resume" in own:
        return _last() if own["resume"] == "last" else _existing(own["resume"])
    if "sweep_id" in own:
        if not re.fullmatch(r"\w[\w.-]{0,99}", own["sweep_id"], flags=re.ASCII):
            raise InputError(f"sweep_id={own['sweep_id']}: it names a folder: use letters, digits, _ . -, 100 at most")
        return own["sweep_id"]
    return f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}"


def _last() -> str:
    begun = sorted(HOME.glob(f"*/{FILE}"), key=lambda file: (file.stat().st_mtime_ns, file))
    if not begun:
        raise InputError(f"resume=last: no sweep was begun under {HOME}: start one with -m")
    return begun[-1].parent.name


def _existing(name: str) -> str:
    known = [file.parent.name for file in HOME.glob(f"*/{FILE}")]
    if name not in known:
        raise InputError(f"resume={name}: there is no such sweep under {HOME}: {did_you_mean(name, ['last', *known])}")
    return name
