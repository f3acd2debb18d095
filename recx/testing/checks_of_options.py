"""Contract checks of option files; all raise AssertionError, none needs pytest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import MISSING, fields

from recx.config import factory
from recx.config.compose import compose
from recx.testing.rules import expect

LISTING = """
import sys
from recx.cli.main import main
sys.argv = ["recx", "list", {group!r}]
print(main(), {library!r} in sys.modules)
"""
SHARED = {"${seed}": 0, "${seen}": "drop", "${n_candidates}": 100}
"""The values of interpolations when a part is used without configuration files."""


def check_option(name: str) -> None:
    """Raise AssertionError unless an option file names every setting of its part, with the part's own default.

    Interpolations (``${feature}``, ``${oc.env:…}``) and settings without a default are not compared.

    Args:
        name: The option, such as ``retriever/ease``.
    """
    from omegaconf import OmegaConf

    group, _, option = name.partition("/")
    written = OmegaConf.to_container(compose([f"{group}={option}"])[group], resolve=False)
    assert isinstance(written, dict)
    kind = factory.locate(written.pop("_target_"), group)
    settings = {field.name: field for field in fields(kind) if field.init}
    expect(written.keys() == settings.keys(), f"{name} must name the settings {', '.join(settings)}")
    for key, field in settings.items():
        value = tuple(written[key]) if isinstance(written[key], list) else written[key]
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if isinstance(value, str):
            value = SHARED.get(value, value)
        elsewhere = isinstance(value, str) and value.startswith("${")
        expect(default is MISSING or elsewhere or value == default, f"{name}: {key} must be {default}, the default")


def check_listing(name: str, library: str) -> None:
    """Raise AssertionError unless ``python -m recx list`` shows an option without importing a library.

    Args:
        name: The option, such as ``ranker/lambdamart``.
        library: The module that only a run with the option may import, such as ``lightgbm``.
    """
    group, _, option = name.partition("/")
    script = LISTING.format(group=group, library=library)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    expect(option in done.stdout.split(), f"recx list {group} must show {option}")
    expect(done.stdout.splitlines()[-1] == "0 False", f"recx list {group} must not import {library}")
