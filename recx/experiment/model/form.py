"""How the kept chain of a run is loaded and asked by those who know nothing of recx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from recx.config.option_sources import GROUP
from recx.core.distribution import NAME
from recx.core.trackers import Field, KeptModel, ModelForm
from recx.core.types import Array
from recx.core.version import __version__
from recx.experiment.build import keep_of
from recx.experiment.experiment import Result
from recx.experiment.model.contest import ContestOnValid
from recx.experiment.model.model import K

LOADER = "recx.pyfunc"
"""The module that loads a kept chain for MLflow; models that were logged name it for ever."""
ASKED = 3
"""Users of the example."""


def kept_model(result: Result, folder: Path, config: Mapping[str, Any]) -> KeptModel:
    """Return what a tracker needs to keep the model of a run.

    Args:
        result: The run.
        folder: Its folder ``model``.
        config: Its configuration.
    """
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    form = ModelForm(
        loader=LOADER,
        requirements=requirements(config),
        inputs=_inputs(result),
        params=[Field("k", "long", default=K), Field("at", "long")],
        outputs=_outputs(result),
        example={"user": result.interactions.users.ids[result.split.fold.requests.user[:ASKED]].tolist()},
    )
    return KeptModel(folder, size, keep_of(config) == "full", form, ContestOnValid(folder.parent))


def requirements(config: Mapping[str, Any]) -> list[str]:
    """Return what must be installed to load the chain of a configuration: recx and the plugins that it names.

    A package that is no installed plugin, such as a module of the person's own project, is not among them.
    """
    used = {target.partition(".")[0] for target in _targets(config)}
    plugins = {entry.dist for entry in entry_points(group=GROUP) if entry.value in used}
    named = sorted(f"{plugin.name}=={plugin.version}" for plugin in plugins if plugin is not None)
    return [f"{NAME}=={__version__}", *named]


def _targets(settings: Any) -> Iterator[str]:
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "_target_":
                yield str(value)
            else:
                yield from _targets(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _targets(value)


def _inputs(result: Result) -> list[Field]:
    data = result.interactions
    times = [Field("time", "long", needed=False)] if data.time is not None else []
    texts = [Field("query", "string", needed=False), Field("candidates", "any", needed=False)]
    return [
        Field("user", _kind(data.users.ids), needed=not _of_texts(result)),
        Field("item", _kind(data.items.ids), needed=False),
        *times,
        Field("weight", "double", needed=False),
        *(texts if _of_texts(result) else []),
    ]


def _outputs(result: Result) -> list[Field]:
    users, items = _kind(result.interactions.users.ids), _kind(result.interactions.items.ids)
    named = {"rank": "long", "item": items, "score": "double", "known": "boolean"}
    asked = [Field("user", users, needed=not _of_texts(result))]
    texts = [Field("query", "string", needed=False)] if _of_texts(result) else []
    return [*asked, *texts, *(Field(name, kind) for name, kind in named.items())]


def _of_texts(result: Result) -> bool:
    """Return whether those who ask are texts, such as tasks, and so are the items: then both may be given as texts."""
    data = result.interactions
    return "text" in data.users.table and "text" in data.items.table


def _kind(ids: Array) -> str:
    return "long" if ids.dtype.kind in "iu" else "string"
