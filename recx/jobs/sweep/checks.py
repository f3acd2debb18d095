"""What is refused before a sweep starts: trials that could not be compared, or choosing on the test fold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from recx.config import factory
from recx.core.errors import InputError, did_you_mean
from recx.core.metric_names import lower_is_better
from recx.core.system.threads import cores as cores_here

if TYPE_CHECKING:
    from omegaconf import DictConfig

FIXED = ("fold", "objective")
"""Settings that must be the same in all trials of a sweep, so that they can be compared."""
AFTER_RETRIEVAL = ("ranker", "reranker", "feature", "cache", "engine", "name", "pruner", "report", "runtime", "tracker")
"""First words of the keys that cannot change which users have a target among their candidates."""
EXTRAS = {"_ray_": "ray", "_submitit_": "slurm"}
"""Part of a package's name -> the extra that installs it; all others come with ``sweep``."""


def check_comparable(config: dict[str, Any], varied: Sequence[str], chooses: bool) -> None:
    """Raise InputError if the trials could not be compared, or if the best would be chosen on the test fold."""
    fold, objective, tuning = (config[key] for key in (*FIXED, "allow_tuning_on_test"))
    if type(tuning) is not bool:
        raise InputError(f"allow_tuning_on_test={tuning}: it must be true or false")
    for key in (*FIXED, "allow_tuning_on_test"):
        if key in varied:
            raise InputError(f"{key}: the trials of a sweep are compared by it: give it one value")
    if lower_is_better(str(objective)):
        raise InputError(
            f"objective={objective}: lower values are better, but a sweep maximizes its objective: choose a metric "
            "such as end_to_end/ndcg_at_5"
        )
    if chooses and fold != "valid" and not tuning:
        raise InputError(
            f"fold={fold}: a sweep that chooses the best by this fold would tune on it: write fold=valid, and the best "
            "trial runs once on test; or allow_tuning_on_test=true"
        )


def check_choice(choose: str, known: Sequence[str], config: Mapping[str, Any]) -> None:
    """Raise InputError if the way to choose is unknown, or if nothing is chosen."""
    if choose not in known:
        raise InputError(f"choose={choose}: {did_you_mean(choose, known)}")
    if choose != known[0] and compares_on_test(config):
        raise InputError(f"choose={choose}: on the test fold trials are compared and none is chosen: write fold=valid")


def compares_on_test(config: Mapping[str, Any]) -> bool:
    """Return whether the trials are of the test fold, so that none may be chosen by their figures."""
    return config["fold"] == "test" and not config["allow_tuning_on_test"]


def check_same_users(objective: str, changed: Sequence[str]) -> None:
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


def check_installed(kind: str, target: str) -> None:
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
            "(python -m recx help install)"
        )


def check_engine(engine: object, trials_on_ray: bool) -> None:
    """Raise InputError if trials on Ray would wait for each other's blocks."""
    if trials_on_ray and isinstance(engine, dict) and engine.get("_target_") == "recx.experiment.engine.ray.Ray":
        raise InputError(
            "engine=ray with hydra/launcher=ray: the trials would occupy the cores that their own blocks wait for: "
            "choose engine=local, or leave out the launcher, so that each trial in turn uses the whole cluster"
        )


def check_threads(jobs: object, threads: object) -> None:
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


def check_search(composed: DictConfig) -> None:
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
