"""Whose code may be imported: modules beside the named folders of options, which exist there and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from recx.core import project
from recx.core.errors import InputError
from recx.core.project import Project, check_address, check_command, check_object, entered

TARGET = "own_tools.data.Mine"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with a package own_tools, which its option file names."""
    home = tmp_path / "home"
    (home / "conf" / "dataset").mkdir(parents=True)
    (home / "own_tools").mkdir()
    (home / "own_tools" / "data.py").write_text("class Mine: ...\n")
    (home / "conf" / "dataset" / "mine.yaml").write_text(f"_target_: {TARGET}\n")
    return home


@pytest.fixture(autouse=True)
def path() -> Iterator[list[str]]:
    """Put ``sys.path`` back, to which entering a project appends."""
    before = list(sys.path)
    yield sys.path
    sys.path[:] = before
    project._appended.clear()
    project._former.clear()


def of(*roots: Path, overrides: tuple[str, ...] = ()) -> Project:
    return Project.of([root / "conf" for root in roots], overrides)


def refusal(own: Project, name: str = TARGET) -> str:
    with pytest.raises(InputError) as caught:
        own.check(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_roots_are_the_parents_of_the_folders_resolved(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "link").symlink_to(root / "conf")
    monkeypatch.chdir(root)
    assert Project.of(["conf", root.parent / "link"]).roots == (root.resolve(),)
    assert Project().roots == ()


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--config-dir=.*nowhere: there is no such folder"):
        Project.of([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("override", "names"),
    [
        ("ranker._target_=own.Mine", {"own.Mine"}),
        ("ranker._target_=own.Mine,own.sub.Other", {"own.Mine", "own.sub.Other"}),
        ("+feature.x={_target_:own.Mine,half_life:3}", {"own.Mine"}),
        ("+feature.x={_target_: own.Mine}", {"own.Mine"}),
        ("ranker.object=own.sub:reranker", {"own.sub:reranker"}),
        ("ranker.object='own:reranker'", {"own:reranker"}),
        ("dataset.path=own.Mine", set()),
        ("dataset.subject=own.Mine", set()),
    ],
)
def test_the_command_line_names_classes_and_objects(override: str, names: set[str]) -> None:
    assert names <= Project.of([], [override]).typed
    assert bool(Project.of([], [override]).typed) == bool(names)


@pytest.mark.parametrize(
    "text",
    [
        f"# mine\n_target_: {TARGET}\n",
        f"_target_: '{TARGET}' # quoted\n",
        f'"_target_": "{TARGET}"\n',
        f"mine: {{_target_: {TARGET}, half_life: 24.0}}\n",
        f"sources:\n  own:\n    _target_: {TARGET}\n",
    ],
)
def test_option_files_name_classes_however_they_are_written(root: Path, text: str) -> None:
    (root / "conf" / "dataset" / "mine.yaml").write_text(text)
    assert TARGET in of(root).written
    assert of(root).check(TARGET) == (root / "own_tools").resolve()


def test_a_package_a_module_and_a_package_with_an_init_are_found(root: Path) -> None:
    (root / "own_tools" / "__init__.py").touch()
    (root / "own_module.py").touch()
    own = of(root, overrides=("ranker._target_=own_module.Mine",))
    assert own.check(TARGET) == (root / "own_tools").resolve()
    assert own.check("own_module.Mine") == (root / "own_module.py").resolve()


def test_what_is_not_there_is_refused(root: Path) -> None:
    assert refusal(of(root), "own_tool.data.Mine").startswith(f"there is no module 'own_tool' in {root}")


def test_what_nobody_named_is_refused(root: Path) -> None:
    assert refusal(of(root), "own_tools.data.Other").startswith("neither this command line nor an option file in ")
    named = of(root, overrides=("dataset._target_=own_tools.data.Other",))
    assert named.check("own_tools.data.Other") == (root / "own_tools").resolve()


@pytest.mark.parametrize("top", ["json", "numpy", "sys", "recx", "this"])
def test_a_name_of_python_or_of_an_installed_package_is_refused_with_both_places(root: Path, top: str) -> None:
    (root / f"{top}.py").touch()
    said = refusal(of(root, overrides=(f"ranker._target_={top}.Mine",)), f"{top}.Mine")
    assert said.startswith(f"the module '{top}' exists twice, as {root / top}.py and as ")
    place = getattr(sys.modules.get(top), "__file__", None)
    assert place is None or Path(place).parent.name in said or Path(place).name in said


def test_a_name_in_two_roots_is_refused(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "conf").mkdir(parents=True)
    (other / "own_tools.py").touch()
    said = refusal(of(root, other))
    assert f"{root / 'own_tools'}" in said
    assert f"{other / 'own_tools.py'}" in said


def test_a_name_imported_from_elsewhere_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = ModuleType("own_tools")
    elsewhere = root.parent / "elsewhere" / "own_tools.py"
    loaded.__spec__ = importlib_spec("own_tools", elsewhere)
    monkeypatch.setitem(sys.modules, "own_tools", loaded)
    assert str(elsewhere) in refusal(of(root))


def importlib_spec(name: str, file: Path):  # type: ignore[no-untyped-def]
    from importlib.util import spec_from_file_location

    return spec_from_file_location(name, file)


def test_a_root_that_is_on_the_path_already_is_the_same_place(root: Path, path: list[str]) -> None:
    path.insert(0, str(root))
    assert of(root).check(TARGET) == (root / "own_tools").resolve()


def test_an_editable_install_that_lies_in_the_root_is_the_same_place(root: Path, path: list[str]) -> None:
    (root / "src").mkdir()
    (root / "own_tools").rename(root / "src" / "own_tools")
    path.insert(0, str(root / "src"))
    assert of(root).check(TARGET) == (root / "src" / "own_tools").resolve()


def test_an_editable_install_by_a_finder_is_the_same_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None):  # type: ignore[no-untyped-def]
            return importlib_spec(name, place) if name == "own_tools" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    (root / "own_tools.py").touch()
    (root / "own_tools" / "data.py").unlink()
    (root / "own_tools").rmdir()
    place = root / "own_tools.py"
    assert of(root).check(TARGET) == place.resolve()
    place = root.parent / "own_tools.py"
    assert str(place) in refusal(of(root))


def test_packages_of_an_environment_in_the_root_are_not_its_own(root: Path, path: list[str]) -> None:
    site = root / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (root / "own_tools").rename(site / "own_tools")
    path.append(str(site))
    assert "there is no module 'own_tools'" in refusal(of(root))


def test_a_link_out_of_the_root_is_refused(root: Path) -> None:
    (root / "own_tools").rename(root.parent / "own_tools")
    (root / "own_tools").symlink_to(root.parent / "own_tools")
    assert "there is no module 'own_tools'" in refusal(of(root))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
@pytest.mark.parametrize("place", ["", "own_tools", "own_tools/data.py", "beside.py", "helpers", "helpers/a.py", ".."])
def test_what_others_may_write_to_is_refused(root: Path, place: str) -> None:
    (root / "helpers").mkdir()  # which own_tools may import
    for beside in ("beside.py", "helpers/a.py"):
        (root / beside).touch()
    shared = (root / place).resolve()
    before = shared.stat().st_mode
    shared.chmod(before | 0o002)
    try:
        assert refusal(of(root)).startswith(f"others may write to {shared}")
    finally:
        shared.chmod(before)
    assert of(root).check(TARGET)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
@pytest.mark.parametrize("name", ["compiled.so", "__pycache__/data.cpython-311.pyc"])
def test_what_python_imports_besides_sources_is_no_ones_elses_either(root: Path, name: str) -> None:
    file = root / "own_tools" / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    file.chmod(0o666)
    assert refusal(of(root)).startswith(f"others may write to {file}")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
def test_a_folder_between_the_root_and_an_editable_install_is_no_ones_elses(root: Path, path: list[str]) -> None:
    (root / "src").mkdir()
    (root / "own_tools").rename(root / "src" / "own_tools")
    path.insert(0, str(root / "src"))
    (root / "src").chmod(0o777)
    assert refusal(of(root)).startswith(f"others may write to {root / 'src'}")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
def test_data_and_links_that_lead_nowhere_are_not_code(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data").chmod(0o777)
    for folder in (root, root / "own_tools", root / "conf"):  # as an editor locks a file
        for suffix in ("py", "yaml"):
            (folder / f".#data.{suffix}").symlink_to("nobody@nowhere:1")
    (root / "conf" / "folder.yaml").mkdir()
    assert of(root).check(TARGET) == (root / "own_tools").resolve()


def test_saved_runs_below_the_folder_are_no_option_files(root: Path) -> None:
    saved = root / "conf" / "outputs" / "2026-01-01" / "run" / "config.yaml"
    saved.parent.mkdir(parents=True)
    saved.write_text("ranker: {_target_: own_tools.data.Other}\n")
    assert of(root).written == {TARGET}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
def test_a_folder_above_may_be_open_where_only_owners_rename(root: Path) -> None:
    root.parent.chmod(0o1777)  # as /tmp is
    assert of(root).check(TARGET)
    root.chmod(0o1777)  # but here anybody can add a module
    assert refusal(of(root)).startswith(f"others may write to {root}")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("change", ["owner", "group"])
def test_what_belongs_to_others_is_refused(root: Path, change: str) -> None:
    if change == "owner":
        os.chown(root / "own_tools", 1234, -1)
    else:
        os.chown(root / "own_tools", -1, 1234)
        (root / "own_tools").chmod(0o775)
    assert refusal(of(root)).startswith(f"others may write to {root / 'own_tools'}")


def test_a_project_reaches_another_process_as_json(root: Path) -> None:
    own = Project.of([root / "conf"], ["seed=1"], "mine")
    assert Project.from_json(own.as_json()) == own


def test_the_roots_are_last_on_the_path_once_their_code_is_trusted(root: Path, path: list[str]) -> None:
    before = list(path)
    with entered(of(root)) as own:
        assert path == before
        assert project.current().roots == (root.resolve(),)
        refusal(own, "own_tools.data.Other")
        assert path == before
        for _ in range(2):
            own.check(TARGET)
            assert path == [*before, str(root.resolve())]
    assert project.current() == Project()


@pytest.fixture
def other(root: Path) -> Path:
    """Return the root of another project, with a part own_other."""
    home = root.parent / "other"
    (home / "conf").mkdir(parents=True)
    (home / "own_other.py").write_text("class Mine: ...\n")
    (home / "conf" / "mine.yaml").write_text("_target_: own_other.Mine\n")
    return home


def test_the_roots_of_a_project_that_is_over_leave_the_path(root: Path, other: Path, path: list[str]) -> None:
    (root / "own_other.py").touch()  # never imported
    before = list(path)
    with entered(of(root)) as own:
        own.check(TARGET)
        with entered(of(other)) as second:  # as in another thread
            assert str(root / "own_other.py") in refusal(second, "own_other.Mine")
    of(other).check("own_other.Mine")
    assert path == [*before, str(other.resolve())]


def test_a_module_of_another_project_is_never_taken_for_ones_own(
    root: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of(root).check(TARGET)
    helper = ModuleType("own_helper.deep")
    helper.__file__ = str(root / "own_helper" / "deep.py")
    monkeypatch.setitem(sys.modules, "own_helper.deep", helper)
    of(other).check("own_other.Mine")
    (other / "own_helper.py").touch()
    assert refusal(of(other), "own_other.Mine").startswith(
        f"the module 'own_helper.deep' was imported from another project before, {helper.__file__}, and {other} has"
    )
    assert of(root).check(TARGET)  # which is still usable


def test_the_overrides_of_a_trial_name_nothing_more(root: Path) -> None:
    trial = replace(of(root), overrides=("ranker.object=json:loads",))
    with entered(trial), pytest.raises(InputError, match="names this object"):
        check_object("json:loads")


def test_a_typed_object_that_the_root_has_too_is_refused(root: Path, path: list[str]) -> None:
    (root / "json.py").touch()
    with entered(of(root, overrides=("ranker.object=json:loads", "x.object=own_tools.data:best"))):
        with pytest.raises(InputError, match="the module 'json' exists twice"):
            check_object("json:loads")
        check_object("own_tools.data:best")
        assert path[-1] == str(root.resolve())


@pytest.mark.parametrize(
    ("start", "imported"),
    [
        (lambda root: None, True),  # made in Python, without a configuration
        (lambda root: Project.of([], ["ranker.object=own_tools.data:best"]), True),
        (lambda root: Project.of([], ["ranker.object=own_tools.data:worst"]), False),
        (lambda root: Project(), False),  # a saved run
        (lambda root: Project.of([root / "conf"]), True),  # named by the option file below
    ],
)
def test_an_object_is_imported_if_it_was_typed_or_its_option_file_is_trusted(
    root: Path, start: Callable[[Path], Project | None], imported: bool
) -> None:
    (root / "conf" / "ranker.yaml").write_text("object: own_tools.data:best\n")
    own = start(root)
    token = project._current.set(own)
    try:
        if imported:
            check_object("own_tools.data:best")
        else:
            with pytest.raises(InputError, match="names this object, so it is not imported"):
                check_object("own_tools.data:best")
    finally:
        project._current.reset(token)


COMMAND = ("python", "als.py")


def refused(own: Project, command: tuple[str, ...] = COMMAND) -> str:
    with entered(own), pytest.raises(InputError) as caught:
        check_command(command)
    return str(caught.value)


def test_a_command_is_run_that_was_typed_or_stands_in_an_own_option_file(root: Path) -> None:
    check_command(COMMAND)  # of a part that was made in Python
    with entered(Project.of([], ["retriever.command=[python,als.py]"])):
        check_command(COMMAND)
    (root / "conf" / "dataset" / "mine.yaml").write_text("command: [python, als.py]\n")
    with entered(of(root)):
        check_command(COMMAND)


def test_no_other_command_is_run(root: Path) -> None:
    own = of(root, overrides=("retriever.command=[python,als.py]",))
    for command in [(*COMMAND, "more"), ("python",), ("als.py", "python"), ("python als.py",), (), ("rm", "-r")]:
        assert refused(own, command).startswith("neither this command line nor an option file"), command
    assert refused(Project()).startswith("neither this command line")


@pytest.mark.parametrize("place", [".", "conf", "conf/dataset/mine.yaml"])
def test_no_command_of_an_option_file_is_run_that_others_may_write_to(root: Path, place: str) -> None:
    (root / "conf" / "dataset" / "mine.yaml").write_text("command: [python, als.py]\n")
    own, typed = of(root), of(root, overrides=("retriever.command=[python,als.py]",))
    (root / place).chmod(0o777)
    assert refused(own).startswith(f"others may write to {root / place}, so no command in it is run")
    with entered(typed):
        check_command(COMMAND)


ADDRESS = "http://me:word@127.0.0.1:8000/v1"


def test_data_is_sent_to_an_address_that_was_typed_or_stands_in_an_own_option_file(root: Path) -> None:
    check_address(ADDRESS)  # of a part that was made in Python
    with entered(Project.of([], [f"ranker.url={ADDRESS}"])):
        check_address(ADDRESS)
    (root / "conf" / "dataset" / "mine.yaml").write_text(f"inner: {{url: '{ADDRESS}'}}\n")
    with entered(of(root)):
        check_address(ADDRESS)
    (root / "conf").chmod(0o777)
    with entered(of(root)), pytest.raises(InputError, match=f"others may write to {root / 'conf'}, so nothing is sent"):
        check_address(ADDRESS)


def test_data_is_sent_to_no_other_address(root: Path) -> None:
    (root / "conf" / "dataset" / "mine.yaml").write_text(f"# {ADDRESS}\npath: {ADDRESS}\n")
    for own in (of(root, overrides=("ranker.url=http://127.0.0.1:8000",)), Project()):
        with entered(own), pytest.raises(InputError, match="names this address, so nothing is sent there"):
            check_address(ADDRESS)
