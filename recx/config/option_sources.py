"""The sources of option files: recx itself, the installed plugins, and the folders that ``--config-dir`` names.

A plugin is a package with a folder ``conf`` and one line in its ``pyproject.toml``::

    [project.entry-points."recx.plugins"]
    transformer = "recx_transformer"

Its package is found without being imported, so a plugin that a run does not use costs nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from recx.core import project
from recx.core.errors import InputError

GROUP = "recx.plugins"
"""The group of entry points that declare plugins."""

PLUGINS = {
    "recx-bridges": (
        "retriever/cornac",
        "retriever/implicit",
        "retriever/lenskit",
        "retriever/recbole",
        "retriever/rectools",
    ),
    "recx-graph": ("retriever/lightgcn",),
    "recx-implicit": ("retriever/als", "retriever/bpr", "retriever/lmf"),
    "recx-lightgbm": ("ranker/lambdamart", "ranker/linear_lambdamart"),
    "recx-llm": ("ranker/llm",),
    "recx-text": ("encoder/sentence_transformer", "ranker/cross_encoder"),
    "recx-transformer": (
        "experiment/news_transformer",
        "experiment/sequences_transformer",
        "feature/news_transformer",
        "feature/next_item_transformer",
        "retriever/bert4rec",
        "retriever/transformer",
        "retriever/union_news_transformer",
        "retriever/union_transformer",
        "sweep/transformer",
    ),
}
"""Plugin of recx, which may be missing -> the options that it brings."""

_PACKAGE = Path(__file__).parents[1]
CONF = _PACKAGE / "conf" if (_PACKAGE / "conf").is_dir() else _PACKAGE.parent / "conf"
"""The option files of recx: inside the package when installed, next to it in a checkout."""


@dataclass(frozen=True)
class Source:
    """A package with option files, or a folder of them.

    Attributes:
        package: Its import name; the folder itself if it belongs to no package.
        conf: The folder of its option files.
    """

    package: str
    conf: Path

    def options(self) -> dict[str, Path]:
        """Return the option files by name, such as ``retriever/ease``."""
        files = project.option_files(self.conf)
        return {file.relative_to(self.conf).with_suffix("").as_posix(): file for file in files}


def packages() -> tuple[Source, ...]:
    """Return recx and the installed plugins, sorted by name.

    Raises:
        InputError: An installed plugin cannot be found, or has no ``conf`` folder.
    """
    return (Source("recx", CONF), *(_source(entry) for entry in plugins()))


def plugins() -> list[EntryPoint]:
    """Return the entry points of the installed plugins, sorted by name."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def sources() -> tuple[Source, ...]:
    """Return recx, the installed plugins, and the folders of the person's project (raises as ``packages`` does)."""
    known = packages()
    own = [folder for folder in project.current().folders if folder not in {source.conf.resolve() for source in known}]
    return (*known, *(Source(str(folder), folder) for folder in own))


def options() -> dict[str, tuple[str, Path]]:
    """Return all option files: name, such as ``retriever/ease`` -> its package and the file.

    Raises:
        InputError: Two packages contain an option of the same name, of which Hydra would silently take the first.
    """
    found: dict[str, tuple[str, Path]] = {}
    for source in sources():
        for name, file in source.options().items():
            if name in found:
                raise InputError(
                    f"the option {name!r} exists twice, in {found[name][1]} and in {file}: {_way_out(source)}"
                )
            found[name] = (source.package, file)
    return found


def description(file: Path) -> str:
    """Return what an option file says that it is: its first comment besides Hydra's ``@package``; "" without one."""
    with file.open(encoding="utf-8") as lines:
        comments = (line[1:].strip() for line in lines if line.startswith("#"))
        return next((comment for comment in comments if not comment.startswith("@")), "")


def content_hash() -> str:
    """Return a hash of the names and contents of all option files."""
    digest = hashlib.blake2b(digest_size=16)
    for source in sources():
        for name, file in sorted(source.options().items()):
            digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()} ".encode())
    return digest.hexdigest()


def _way_out(source: Source) -> str:
    if source.conf in project.current().folders:
        return "rename yours, and choose it by its new name (a primary configuration with --config-name)"
    return f"rename one of the files, or uninstall {source.package}"


def _source(entry: EntryPoint) -> Source:
    package = entry.value
    way_out = "reinstall or uninstall the plugin"
    if "." in package or ":" in package:
        raise InputError(f"the plugin {entry.name!r} names {package!r}, which is not a top-level package: {way_out}")
    spec = find_spec(package)
    if spec is None:
        raise InputError(f"the plugin {entry.name!r} names the package {package!r}, which does not exist: {way_out}")
    for folder in spec.submodule_search_locations or ():
        if (Path(folder) / "conf").is_dir():
            return Source(package, Path(folder) / "conf")
    raise InputError(f"the plugin {entry.name!r} ({package}) has no folder 'conf' with option files: {way_out}")
