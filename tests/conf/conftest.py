"""Every option, of recx and of the installed plugins, composed at once: one by one takes a tenth of a second each."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf

from recx.config import option_sources
from recx.config.compose import compose, prepare
from recx.config.hydra_internals import alone


@pytest.fixture(scope="session")
def written() -> Callable[[str], Any]:
    """Return a function from an option to what it says, with the options that it takes in, interpolations as they are.

    Other tests see no installed plugin.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(option_sources, "entry_points", entry_points)
        whole = ("experiment/", "reproduction/", "study/", "sweep/")  # which are no part of a configuration
        names = [name.split("/") for name in option_sources.options() if not name.startswith(whole)]
        words = [f"+{name[0]}@{'.'.join(name)}={name[1]}" for name in names if len(name) == 2]
        with alone(), hydra.initialize_config_dir(prepare(), job_name="recx"):
            composed = hydra.compose(None, words)
    return lambda name: OmegaConf.to_container(OmegaConf.select(composed, name.replace("/", ".")), resolve=False)


@pytest.fixture(scope="session")
def placed(written: Callable[[str], Any]) -> Callable[[str], DictConfig]:
    """Return a function from an option to the usual configuration with it in its group, and a path where it needs one.

    It is one object, which each call changes.
    """
    usual = compose([])
    config = OmegaConf.masked_copy(usual, [str(key) for key in usual if key != "hydra"])
    OmegaConf.set_struct(config, False)
    before: dict[str, Any] = {}

    def place(name: str) -> DictConfig:
        config.update(before)
        group = name.partition("/")[0]
        before.clear()
        before[group] = config[group]
        config[group] = {key: "some_file" if value == "???" else value for key, value in written(name).items()}
        return config

    return place
