"""What an option file may not have Hydra do: call a function, open a file elsewhere, start a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from recx.cli.main import main
from recx.config import hydra_rules
from recx.config.compose import compose
from recx.core.errors import InputError

HANDLER = {"class": "logging.FileHandler", "filename": "stolen.txt"}
STREAM = {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"}


def logging(**settings: Any) -> dict[str, Any]:
    return {"version": 1, "root": {"handlers": ["x"]}, **settings}


def handled(**settings: Any) -> dict[str, Any]:
    return logging(handlers={"x": settings})


LOGGING: dict[str, dict[str, Any]] = {
    "a file": handled(**HANDLER),
    "a file by a pair of words": handled(**{**HANDLER, "filename": "${hydra.runtime.output_dir}/../stolen.txt"}),
    "a file of another class": handled(**{**HANDLER, "class": "logging.handlers.RotatingFileHandler"}),
    "a file that waits": handled(**HANDLER, delay=True),
    "a class of another program": handled(**{"class": "logging.handlers.SMTPHandler", "mailhost": "example.com"}),
    "a class by interpolation": handled(**{"class": "${name}"}),
    "a factory": handled(**{"()": "os.system", "command": "touch stolen.txt"}),
    "a factory of recx": handled(**{"()": "recx.core.system.atomic.write_text", "path": "stolen.txt"}),
    "an object": handled(**{**STREAM, "stream": "ext://recx.core.version.STARTED"}),
    "an object of the configuration": handled(**{**STREAM, "stream": "cfg://handlers"}),
    "an attribute": handled(**STREAM, **{".": {"stream": "x"}}),
    "a filter": logging(filters={"x": {"()": "os.system"}}, handlers={"x": {**STREAM, "filters": ["x"]}}),
    "a formatter": logging(formatters={"f": {"()": "os.system"}}, handlers={"x": STREAM}),
    "a formatter under a name with a dot": logging(
        formatters={"a.format": {"()": "os.system"}}, handlers={"x": STREAM}
    ),
    "a class of a formatter": logging(formatters={"f": {"class": "os.system"}}, handlers={"x": STREAM}),
    "a queue": handled(**{"class": "logging.handlers.QueueHandler", "listener": "os.system"}),
    "a secret": logging(formatters={"f": {"format": "${oc.env:HOME}"}}, handlers={"x": {**STREAM, "formatter": "f"}}),
}
HYDRA: dict[str, dict[str, Any]] = {
    "a callback": {"callbacks": {"x": {"_target_": "os.system"}}},
    "a callback of recx": {"callbacks": {"x": {"_target_": "recx.storage.cache.entries.clear", "path": "."}}},
    "a sampler": {"sweeper": {"sampler": {"_target_": "os.system"}}},
    "a part inside of the launcher": {"launcher": {"x": {"_target_": "os.system"}}},
    "commands of a launcher": {"launcher": {"setup": ["touch stolen.txt"]}},
    "a Python of a launcher": {"launcher": {"python": "./evil"}},
    "an environment of Ray": {"launcher": {"ray": {"init": {"runtime_env": {"pip": ["evil"]}}}}},
    "a variable of the environment": {"job": {"env_set": {"PATH": "."}}},
    "a name of the log file": {"job": {"name": "../../stolen"}},
    "a folder of Hydra's files": {"output_subdir": "../../stolen"},
    **{f"job logging: {name}": {"job_logging": config} for name, config in LOGGING.items()},
    **{f"Hydra's logging: {name}": {"hydra_logging": config} for name, config in LOGGING.items()},
    "Hydra's logging into a log file": {
        "hydra_logging": handled(**{**HANDLER, "filename": "${hydra.runtime.output_dir}/${hydra.job.name}.log"})
    },
}


def option(folder: Path, content: dict[str, Any], name: str = "own") -> str:
    """Write an experiment that sets Hydra's part of the configuration, and return the override that adds its folder."""
    file = folder / "conf" / "experiment" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"# @package _global_\n{yaml.safe_dump(content)}")
    return f"hydra.searchpath=['file://{folder / 'conf'}']"


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    monkeypatch.setattr(sys, "argv", ["recx", *words])
    assert main() == code
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def composed() -> DictConfig:
    return compose([])


@pytest.mark.parametrize("hydra", HYDRA.values(), ids=HYDRA)
def test_it_is_refused(composed: DictConfig, hydra: dict[str, Any]) -> None:
    config = composed.copy()
    with open_dict(config), read_write(config):
        for key, value in hydra.items():
            config.hydra[key] = OmegaConf.merge(config.hydra[key], value) if key == "job" else value
    hydra_rules.check(composed)
    with pytest.raises(InputError, match=r"^hydra\.\w+"):
        hydra_rules.check(config)


@pytest.mark.parametrize("words", [["tracker=console"], ["-m", "tracker=console", "seed=0,1"]], ids=["run", "sweep"])
@pytest.mark.parametrize("name", ["a callback", "job logging: a file"])
def test_the_command_line_refuses_it_too(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, words: list[str]
) -> None:
    added = option(here, {"hydra": HYDRA[name]})
    assert said(monkeypatch, capsys, *words, added, "+experiment=own").startswith("hydra.")
    assert not (here / "stolen.txt").exists()
    assert not list(here.rglob("metrics.json"))


def test_a_program_of_a_launcher_may_be_typed(composed: DictConfig) -> None:
    for typed in ("hydra.launcher.setup=[a]", "+hydra.launcher={setup: [a]}", "++hydra.launcher.setup=[a]"):
        config = composed.copy()
        with open_dict(config), read_write(config):
            config.hydra.launcher = {"_target_": "x", "setup": ["a"], "python": None}
            config.hydra.overrides.hydra = [typed]
        hydra_rules.check(config)
    with open_dict(config), read_write(config):
        config.hydra.overrides.hydra = ["hydra.launcher.setups=1", "hydra.launch=1"]
    with pytest.raises(InputError, match=r"^hydra\.launcher\.setup.*type it on the command line"):
        hydra_rules.check(config)


def test_a_tag_of_yaml_calls_nothing(here: Path) -> None:
    added = option(here, {"seed": 1})
    (here / "conf" / "experiment" / "own.yaml").write_text(
        "# @package _global_\nname: !!python/object/apply:os.system ['touch stolen.txt']\n"
    )
    with pytest.raises(InputError, match="it is not valid YAML"):
        compose([added, "+experiment=own"])
    assert not (here / "stolen.txt").exists()


def test_the_second_trial_of_a_sweep_is_checked_like_the_first(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    option(here, {"seed": 1}, "good")
    added = option(here, {"hydra": {"job_logging": LOGGING["a file"]}}, "evil")
    assert "hydra.job_logging" in said(monkeypatch, capsys, "-m", added, "tracker=console", "+experiment=good,evil")
    assert not (here / "stolen.txt").exists()


def test_a_node_that_an_interpolation_names_is_checked_like_a_written_one(here: Path) -> None:
    added = option(
        here, {"name": "own", "report": {"x": {"_target_": "os.system"}}, "hydra": {"callbacks": "${report}"}}
    )
    with pytest.raises(InputError, match=r"^hydra\.callbacks\.x\._target_=os.system: "):
        compose([added, "+experiment=own"])


def test_what_hydra_and_its_plugins_offer_still_works() -> None:
    for words in (
        ["hydra/job_logging=default", "hydra/hydra_logging=default"],
        ["hydra/job_logging=stdout", "hydra/hydra_logging=none"],
        ["hydra/job_logging=disabled", "hydra/hydra_logging=disabled"],
        ["hydra.output_subdir=.hydra"],
        ["hydra.output_subdir=null", "+hydra.job.env_set.CUDA_VISIBLE_DEVICES=0"],
        ["+sweep=search", "+experiment=news"],
    ):
        assert compose(words).name


def test_a_variable_that_was_typed_is_set(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = option(here, {"seed": 3})
    config = compose([added, "+experiment=own", "+hydra.job.env_set.A_NAME=5"])
    assert config.hydra.job.env_set.A_NAME == "5"
    assert config.seed == 3


def test_a_password_among_the_variables_is_not_written_by_hydra() -> None:
    words = ["+experiment=news", "+hydra.job.env_set.MY_PASSWORD=hunter2"]
    hydra_rules.check(compose(words))
    with pytest.raises(InputError, match=r"MY_PASSWORD: Hydra would write it into \.hydra/hydra\.yaml"):
        hydra_rules.check(compose([*words, "hydra.output_subdir=.hydra"]))


def test_an_option_file_in_another_encoding_is_one_sentence(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "conf" / "ranker").mkdir(parents=True)
    (here / "conf" / "ranker" / "mine.yaml").write_bytes("# für mich\n".encode("latin-1"))
    monkeypatch.setattr(sys, "argv", ["recx", "--config-dir", "conf", "+experiment=news", "ranker=mine"])
    assert main() == 2
    assert "mine.yaml: it is not text in UTF-8 (byte 4): correct the file" in capfd.readouterr().err
