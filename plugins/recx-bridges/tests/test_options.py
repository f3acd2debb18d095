"""The options name every setting, and each library has its script, its environment and its option."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest
from recx_bridges.retriever import SCRIPTS, Bridge

from recx.plugin import python_of
from recx.testing import check_option, everyone_asks, tiny_world

LIBRARIES = ("cornac", "implicit", "lenskit", "recbole", "rectools")
OWN = {"numpy", "pandas", "pyarrow", "scipy", "recx_files"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_option_has_every_setting_with_its_default(library: str) -> None:
    check_option(f"retriever/{library}")


def test_every_library_has_a_script_and_pinned_requirements() -> None:
    declared = tomllib.loads((SCRIPTS.parent / "bridges.toml").read_text(encoding="utf-8"))
    assert {name for name in declared if (SCRIPTS / f"run_{name}.py").is_file()} == set(LIBRARIES)
    for name, bridge in declared.items():
        assert bridge.keys() == {"about", "requires", "python"}
        assert all("==" in requirement for requirement in bridge["requires"]), name
        assert re.fullmatch(r"3\.\d+ to 3\.\d+", bridge["python"]), name


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_script_imports_its_library_and_what_every_environment_has_alone(library: str) -> None:
    tree = ast.parse((SCRIPTS / f"run_{library}.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names}
    beside = {"rectools": {"pytorch_lightning"}, "recbole": {"torch"}}.get(library, set())
    assert tops - {"inspect", "os", "pickle"} <= OWN | {library} | beside
    assert library in tops


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "model", "settings"),
    [
        ("implicit", "AlternatingLeastSquares", {"factors": 4}),
        ("implicit", "CosineRecommender", {"K": 4}),
        ("rectools", "EASEModel", {}),
        ("lenskit", "ItemKNNScorer", {"max_nbrs": 4}),
        ("cornac", "BPR", {"k": 4, "max_iter": 3}),
        ("recbole", "BPR", {"epochs": 1, "embedding_size": 4}),
        ("recbole", "SASRec", {"epochs": 1, "hidden_size": 8, "loss_type": "CE", "train_neg_sample_args": None}),
    ],
)
def test_a_model_of_the_library_itself_makes_lists(library: str, model: str, settings: dict[str, object]) -> None:
    if python_of(library) is None:
        pytest.skip(f"needs python -m recx bridge setup {library}")
    history, requests = everyone_asks(tiny_world())
    history = history.keep(history.user != 1)  # who has seen everything, which RecBole refuses
    lists = Bridge(library, model, settings).fit(history).retrieve(history, requests, 5)  # type: ignore[arg-type]
    assert (lists.lengths > 0).mean() > 0.5
