"""Plugins are found without being imported; two options of one name are an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recx.config import option_sources
from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.experiment.build import plan

PART = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Newest:
    window: float = 1.0

    def fit(self, history):
        return self
"""


def install(site: Path, package: str, option: str, entry: str | None = None) -> Path:
    """Lay out a plugin as pip would: the package, its option file and its entry point."""
    conf = site / package / "conf" / "retriever"
    conf.mkdir(parents=True)
    (site / package / "__init__.py").write_text(PART)
    (conf / f"{option}.yaml").write_text(f"# the newest items first\n_target_: {package}.Newest\nwindow: 1.0  # days\n")
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[recx.plugins]\n{package} = {entry or package}\n")
    return conf / f"{option}.yaml"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_without_plugins_all_options_are_ours() -> None:
    assert {package for package, _ in option_sources.options().values()} == {"recx"}
    assert option_sources.options()["config"][1] == option_sources.CONF / "config.yaml"


def test_the_options_of_recxs_plugins_are_known_without_them() -> None:
    folders = [file.parent for file in (option_sources.CONF.parent / "plugins").glob("*/pyproject.toml")]
    brings = {
        folder.name: tuple(sorted(file.relative_to(conf).with_suffix("").as_posix() for file in conf.rglob("*.yaml")))
        for folder in folders
        if folder.name != "recx-template"  # from which new-plugin makes those of one's own
        for conf in folder.glob("*/conf")
    }
    assert brings == option_sources.PLUGINS


@pytest.mark.parametrize(
    ("plugin", "option"), [(plugin, option) for plugin, names in option_sources.PLUGINS.items() for option in names]
)
def test_an_option_of_a_plugin_that_is_not_installed_says_how_to_install_it(plugin: str, option: str) -> None:
    group, _, name = option.partition("/")
    plus = "+" * (group in ("experiment", "sweep"))
    with pytest.raises(InputError) as raised:
        compose([f"{plus}{group}={name}"])
    assert str(raised.value) == (
        f"{group}={name}: the plugin that has this option, {plugin}, is not installed: run `pip install -c "
        f"constraints.txt -e plugins/{plugin}` in recx's folder (python -m recx help install)"
    )


def test_a_plugin_brings_options_and_is_not_imported_for_it(site: Path) -> None:
    file = install(site, "recx_newest", "newest")
    assert option_sources.options()["retriever/newest"] == ("recx_newest", file)
    compose(["retriever=item_knn"])
    assert "recx_newest" not in sys.modules


def test_a_plugins_part_is_built(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "recx_newest2", "newest")
    config = compose(["retriever=newest", "retriever.window=3"])
    retriever = plan(plain(config)).experiment.retriever
    assert type(retriever).__module__ == "recx_newest2"
    assert retriever.window == 3.0  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "recx_newest2")


def test_two_options_of_one_name_are_an_error_that_names_both_files(site: Path) -> None:
    ours = option_sources.options()["retriever/item_knn"][1]
    theirs = install(site, "recx_clash", "item_knn")
    with pytest.raises(InputError) as caught:
        compose([])
    assert str(ours) in str(caught.value)
    assert str(theirs) in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [("recx_gone", "which does not exist"), ("recx_odd.part", "not a top-level package"), ("json", "no folder 'conf'")],
)
def test_a_broken_plugin_is_an_error(site: Path, entry: str, sentence: str) -> None:
    install(site, "recx_odd", "odd", entry)
    with pytest.raises(InputError, match=sentence):
        option_sources.sources()


def test_the_list_says_which_package_an_option_is_from(site: Path) -> None:
    install(site, "recx_newest", "newest")
    done = subprocess.run(
        [sys.executable, "-m", "recx", "list", "retriever"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(Path(option_sources.__file__).parents[1])])},
    )
    line = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["newest"])
    assert line.split(maxsplit=2)[1:] == ["recx_newest", "the newest items first"]
