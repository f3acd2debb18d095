"""Undocumented names of Hydra, its Optuna plugin and Optuna: there, and doing what recx relies on."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError

from recx.config import hydra_internals as internals
from recx.config.compose import prepare
from recx.core.errors import InputError

RECX = Path(internals.__file__).parent
PRIVATE = r"hydra\._internal|hydra\.core\.(override_parser|plugins)|hydra_plugins\.\w+\.\w|HydraConfig\.instance"
OVERRIDE = (
    *("is_sweep_override", "is_interval_sweep", "is_delete", "get_key_element", "get_value_element_as_str"),
    *("input_line", "value", "sweep_iterator", "sweep_string_iterator", "is_hydra_override"),
)
NAMES = {
    "hydra._internal.utils": ("create_config_search_path", "get_args_parser"),
    "hydra._internal.config_loader_impl": ("ConfigLoaderImpl",),
    "hydra._internal.core_plugins.basic_sweeper": ("BasicSweeper",),
    "hydra._internal.core_plugins.basic_sweeper:BasicSweeper": (
        *("split_arguments", "split_overrides_to_chunks", "validate_batch_is_legal", "sweep"),
    ),
    "hydra.core.plugins:Plugins": ("instance", "register"),
    "hydra.core.override_parser.overrides_parser:OverridesParser": ("create", "parse_overrides"),
    "hydra.core.override_parser.types": ("Override", "IntervalSweep", "Transformer"),
    "hydra.core.override_parser.types:Transformer": ("encode",),
}
OPTUNA = {
    "hydra_plugins.hydra_optuna_sweeper.optuna_sweeper": ("OptunaSweeper",),
    "hydra_plugins.hydra_optuna_sweeper._impl": ("create_optuna_distribution_from_override",),
    "optuna.trial:Trial": ("_suggest",),
}


def check_names(names: dict[str, tuple[str, ...]]) -> None:
    for place, wanted in names.items():
        module, _, kind = place.partition(":")
        try:
            owner = importlib.import_module(module)
            owner = getattr(owner, kind) if kind else owner
        except (ImportError, AttributeError) as error:
            pytest.fail(f"{place} is gone, which recx.config.hydra_internals uses: {error}")
        lacking = [name for name in wanted if not hasattr(owner, name)]
        assert not lacking, f"{place} no longer has {lacking}, which recx.config.hydra_internals uses"


def test_every_name_is_there() -> None:
    check_names(NAMES)
    [swept] = internals.parse(["a=1,2"])
    lacking = [name for name in OVERRIDE if not hasattr(swept, name)]
    assert not lacking, f"hydra.core.override_parser.types:Override no longer has {lacking}"


def test_no_other_module_uses_such_a_name() -> None:
    files = [file for file in RECX.rglob("*.py") if file != Path(internals.__file__)]
    found = {file.name: re.findall(PRIVATE, file.read_text(encoding="utf-8")) for file in files}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_parser_of_flags_has_the_flags_that_are_read() -> None:
    given = internals.flags_parser().parse_intermixed_args(["a=1", "-m", "--config-dir", "x", "b=2"])
    assert (given.overrides, given.multirun, given.config_dir) == (["a=1", "b=2"], True, "x")
    assert not any((given.cfg, given.info, given.shell_completion, given.hydra_help))


@pytest.mark.parametrize(
    ("word", "kinds", "key", "first", "values"),
    [
        ("a.b=1", "", "a.b", "a.b=1", ["1"]),
        ("+a=x y", "", "a", "+a=x y", [r"x\ y"]),
        ("~a.b", "deletion", "~a.b", "~a.b", ["null"]),
        ("++a=null", "", "a", "++a=null", ["null"]),
        ("a=true,'b c'", "swept", "a", "a=True", [True, "'b c'"]),
        ("+a=range(2,7,2)", "swept", "a", "+a=2", [2, 4, 6]),
        ("a=interval(0.5,1)", "swept interval", "a", "a=0.5", None),
        ("a=tag(log,interval(1,2))", "swept interval", "a", "a=1.0", None),
    ],
)
def test_kinds_of_overrides(word: str, kinds: str, key: str, first: str, values: Any) -> None:
    [override] = internals.parse([word])
    tests = {"deletion": internals.is_deletion, "swept": internals.is_swept, "interval": internals.is_interval}
    assert {name for name, holds in tests.items() if holds(override)} == set(kinds.split())
    found = (internals.typed(override), internals.key_of(override), internals.first_value(override))
    assert found == (word, key, first)
    if values is not None:
        assert [str(value) for value in internals.values_of(override)] == [str(value) for value in values]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ranker=linear,identity", internals.AMBIGUOUS),
        ("sweep=ranker", internals.NOTHING_CHOSEN),
        ("+ranker=identity", internals.ALREADY_CHOSEN),
        ("ranker=3", internals.NOT_AN_OPTION),
    ],
)
def test_hydra_words_its_errors_as_before(word: str, text: str) -> None:
    with hydra.initialize_config_dir(prepare()), pytest.raises((ConfigCompositionException, ValueError)) as caught:
        hydra.compose("config", [word])
    assert text in str(caught.value), f"Hydra no longer says {text!r}"


def test_errors_tell_what_they_are_about() -> None:
    with hydra.initialize_config_dir(prepare()):
        with pytest.raises(MissingConfigException) as missing:
            hydra.compose("config", ["ranker=linea"])
        with pytest.raises(OverrideParseException) as unread:
            hydra.compose("config", ["a=[1"])
        with pytest.raises(ConfigCompositionException) as composed:
            hydra.compose("config", ["ranker.l3=1"])
    assert missing.value.missing_cfg_file == "ranker/linea"
    assert "linear" in (missing.value.options or ())
    assert unread.value.override == "a=[1"
    cause = composed.value.__cause__
    assert isinstance(cause, ConfigKeyError | AttributeError)
    assert getattr(cause, "full_key", None) == "ranker.l3"
    assert isinstance(getattr(cause, "parent_node", None), DictConfig)


def test_what_another_program_has_in_hydra_is_put_aside_and_back() -> None:
    with hydra.initialize_config_dir(prepare()):
        theirs, before = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
        HydraConfig.instance().set_config(hydra.compose("config", ["seed=7"], return_hydra_config=True))
        try:
            with internals.alone():
                assert not GlobalHydra.instance().is_initialized()
                assert not HydraConfig.initialized()
                with hydra.initialize_config_dir(prepare()):
                    assert hydra.compose("config", ["seed=8"]).seed == 8
            assert GlobalHydra.instance().hydra is theirs
            assert HydraConfig.get().overrides.task == ["seed=7"]
        finally:
            HydraConfig.instance().cfg = before


def test_a_glob_is_resolved_in_the_groups_of_a_folder() -> None:
    [override] = internals.parse(["split=glob(leave_last*)"], prepare())
    assert internals.first_value(override) == "split=leave_last"
    [nothing] = internals.parse(["split=glob(x*)"], prepare())
    with pytest.raises(InputError, match=r"^split=glob\(x\*\): no option matches"):
        internals.first_value(nothing)


def test_hydras_grid_is_made_of_steps_that_ours_replaces() -> None:
    sweeper = internals.BasicSweeper(max_batch_size=None)
    assert sweeper.config is None
    assert sweeper.params == {}
    assert sweeper.split_arguments(internals.parse(["a=1,2", "b=3"]), None) == [[["a=1", "b=3"], ["a=2", "b=3"]]]
    assert [*sweeper.split_overrides_to_chunks([["a"], ["b"], ["c"]], 2)] == [[["a"], ["b"]], [["c"]]]
    steps = inspect.getsource(internals.BasicSweeper.sweep)
    for step in ("self.split_arguments(overrides, self.max_batch_size)", "self.validate_batch_is_legal(batch)"):
        assert step in steps, f"BasicSweeper.sweep no longer calls {step}"


def test_what_is_used_of_optuna_and_its_plugin() -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the sweeper is not installed")
    import optuna

    check_names(OPTUNA)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    trial = study.ask()
    for word in ("a=1,2", "b=interval(0.5,1)", "c=range(2,7,2)", "d=x"):
        internals.suggest(trial, internals.parse([word])[0])
    assert trial.params["a"] in (1, 2, "1", "2")
    assert 0.5 <= trial.params["b"] <= 1
    assert trial.params["c"] in (2, 4, 6)
    assert trial.params["d"] == "x"


def test_the_optuna_sweeper_lets_every_trial_be_extended() -> None:
    plugin = pytest.importorskip("hydra_plugins.hydra_optuna_sweeper._impl", reason="the sweeper is not installed")
    given: list[Any] = []

    def extend(own: Any) -> Any:
        given.append(own)
        return print

    sampler = OmegaConf.create({"_target_": "optuna.samplers.RandomSampler", "seed": 1})
    settings = {"sampler": sampler, "direction": "maximize", "storage": None, "study_name": None, "n_trials": 1}
    more = {"n_jobs": 1, "max_failure_rate": 0.0, "custom_search_space": None, "params": None}
    sweeper: Any = internals.optuna_sweeper({**settings, **more}, extend)
    assert given == [None]
    assert sweeper.sweeper.custom_search_space_extender is print
    assert "self.custom_search_space_extender(self.config, trial)" in inspect.getsource(plugin)
