"""The stage cache serves nothing that a change would alter, and a change that alters nothing costs nothing.

Faults 04 and 14, public case 32, and variants of them.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

from recx.core import project
from recx.parts.retriever.popularity import Popularity
from recx.storage.cache import code_version, keys, libraries
from recx.testing import check_retriever, part_of

from .conftest import CommandIn, Done

ROOT = Path(__file__).resolve().parents[2]

OWN = ("ownlab", "ownhelp", "owninst")
PART = """
from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Part:
    file: str = ""
    files: tuple[str, ...] = ()
    inner: dict = field(default_factory=dict)
"""


class Lab:
    """A folder ``src`` with the package ``ownlab``, whose module ``parts`` has a part, and a working directory beside.

    Attributes:
        source: The folder of the package.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = folder / "src" / "ownlab"
        self.write("__init__.py", "")
        self.write("parts.py", PART)
        (folder / "here").mkdir()
        monkeypatch.chdir(folder / "here")
        monkeypatch.syspath_prepend(folder / "src")
        monkeypatch.setattr(code_version, "STARTED", time.time_ns() + 10**15)  # as if all had been there before

    def write(self, name: str, text: str) -> None:
        (self.source / name).parent.mkdir(parents=True, exist_ok=True)
        (self.source / name).write_text(textwrap.dedent(text))

    def key(self, **settings: Any) -> str:
        """Return the key of the part as a process that starts now would."""
        for memo in (*vars(code_version).values(), *vars(libraries).values(), *vars(keys).values()):
            if hasattr(memo, "cache_clear"):
                memo.cache_clear()
        for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
            del sys.modules[name]
        invalidate_caches()
        return keys.key_of_part(import_module("ownlab.parts").Part(**settings))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


def counts(key: Callable[[], str], change: Callable[[], object], back: Callable[[], object]) -> bool:
    """Return whether a change alters the key; undoing it must always bring the first one back."""
    before = key()
    change()
    after = key()
    back()
    assert key() == before
    return after != before


NAMES = ["words.txt", "model.bin", "model", "./words.txt", "data/words.txt", "../here/words.txt"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["here", "src/ownlab", "src", "src/ownlab/deeper/.."])
def test_a_setting_that_names_a_file_counts_by_its_content(name: str, place: str, lab: Lab) -> None:
    file = Path("..", place, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("1")
    for settings in ({"file": name}, {"files": ("x", name)}, {"inner": {"a": [name]}}):
        key = partial(lab.key, **settings)
        assert counts(key, partial(file.write_text, "2"), partial(file.write_text, "1"))


def test_a_setting_that_names_a_folder_counts_by_all_that_is_in_it(lab: Lab) -> None:
    file = Path("model", "deep", "weights.bin")
    file.parent.mkdir(parents=True)
    file.write_text("1")
    assert counts(partial(lab.key, file="model"), partial(file.write_text, "2"), partial(file.write_text, "1"))
    more = file.with_name("more.bin")
    assert counts(partial(lab.key, file="model"), more.touch, more.unlink)


@pytest.mark.parametrize("pattern", ["part-*.csv", "data/*.csv", "**/part-?.csv"])
def test_a_setting_that_is_a_pattern_counts_by_every_file_that_it_fits(pattern: str, lab: Lab) -> None:
    file = Path("data" if "/" in pattern else ".", "part-1.csv")
    file.parent.mkdir(exist_ok=True)
    file.write_text("1")
    assert counts(partial(lab.key, file=pattern), partial(file.write_text, "2"), partial(file.write_text, "1"))
    more = file.with_name("part-2.csv")
    assert counts(partial(lab.key, file=pattern), more.touch, more.unlink)


def test_a_setting_may_name_a_file_beside_the_option_files(lab: Lab, tmp_path: Path) -> None:
    for place in ("conf/retriever", "conf", "."):
        file = tmp_path / "own" / place / "words.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1")
        (tmp_path / "own" / "conf").mkdir(exist_ok=True)

        def key() -> str:
            with project.entered(project.Project.of([tmp_path / "own" / "conf"])):
                return lab.key(file="words.txt")

        assert counts(key, partial(file.write_text, "2"), partial(file.write_text, "1"))


def test_a_file_that_no_setting_names_changes_no_key(lab: Lab) -> None:
    Path("words.txt").write_text("1")

    def other_files() -> None:
        for name in ("other.txt", "words.txt.bak", "run.log", "data/words.txt", "outputs/cache/words.txt"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text("1")
        os.utime("words.txt", ns=(1, 1))

    assert not counts(partial(lab.key, file="words.txt"), other_files, lambda: None)
    assert not counts(partial(lab.key, file="a word", files=("drop", "[a-z]+", "*", "/")), other_files, lambda: None)


def test_a_part_of_recx_reads_no_file_that_is_called_like_one_of_its_words(here: Path) -> None:
    part = part_of("retriever/popularity")
    before = keys.key_of_part(part)
    (here / part.seen).mkdir()
    (here / part.seen / "file").write_text("1")
    assert keys.key_of_part(part) == before


@pytest.mark.parametrize(
    "read",
    [
        'os.environ.get("OWN_BOOST", "0")',
        'os.environ["OWN_BOOST"]',
        'os.getenv("OWN_BOOST")',
        'os.getenv(key="OWN_BOOST")',
        'os.environ.setdefault("OWN_BOOST", "0")',
        '"OWN_BOOST" in os.environ',
        "os.environ[NAME]",
    ],
)
def test_a_variable_that_the_code_names_counts(read: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("helper.py", f'import os\n\nNAME = "OWN_BOOST"\n\n\ndef boost():\n    return {read}\n')
    lab.write("parts.py", PART + "    def fit(self, history):\n        from ownlab.helper import boost\n")
    monkeypatch.setenv("OWN_BOOST", "1")

    def setting(value: str) -> Callable[[], None]:
        return lambda: monkeypatch.setenv("OWN_BOOST", value)

    assert counts(lab.key, setting("2"), setting("1"))
    assert counts(lab.key, lambda: monkeypatch.delenv("OWN_BOOST"), setting("1"))
    assert not counts(lab.key, lambda: monkeypatch.setenv("OTHER_BOOST", "2"), lambda: None)


def test_a_variable_with_a_default_of_the_code_is_the_same_once_it_is_set(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("parts.py", PART + '\nos.environ.setdefault("OWN_BOOST", "7")\n')
    monkeypatch.setenv("OWN_BOOST", "")  # so that it is restored
    monkeypatch.delenv("OWN_BOOST")
    before = lab.key()  # which imports it, and so sets the variable
    assert os.environ["OWN_BOOST"] == "7"
    assert lab.key() == before
    monkeypatch.setenv("OWN_BOOST", "8")
    assert lab.key() != before


DECLARED = """
    @property
    def depends_on(self):
        return {what}
"""


def test_what_a_part_declares_counts(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("parts.py", PART + DECLARED.format(what='os.environ.get("OWN_" + self.file), Path("secret.bin")'))
    Path("secret.bin").write_text("1")
    monkeypatch.setenv("OWN_B", "1")
    key = partial(lab.key, file="B")
    assert counts(key, lambda: monkeypatch.setenv("OWN_B", "2"), lambda: monkeypatch.setenv("OWN_B", "1"))
    secret = Path("secret.bin")
    assert counts(key, partial(secret.write_text, "2"), partial(secret.write_text, "1"))
    lab.write("parts.py", PART + DECLARED.format(what='"secret.bin"'))
    assert counts(key, partial(secret.write_text, "2"), partial(secret.write_text, "1"))
    lab.write("parts.py", PART + "\n    @property\n    def cacheable(self):\n        return self.file != 'B'\n")
    lab.key(file="A")
    with pytest.raises(keys.NoKeyError, match="is not cacheable"):
        lab.key(file="B")


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ({"depends_on": lambda self: ("a",)}, "must be an attribute or a property, not a method"),
        ({"depends_on": (object(),)}, "plain values, arrays and paths only"),
        ({"depends_on": {"a": [object()]}}, "plain values, arrays and paths only"),
        ({"cacheable": "no"}, "cacheable must be True or False"),
    ],
)
def test_the_contract_says_what_the_cache_does_not_understand(attribute: dict[str, Any], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_retriever(type("Own", (Popularity,), attribute)())


class Sound(Popularity):
    """A part that declares what the cache understands."""

    depends_on = (1, "a", Path("b"), {"c": [None, 2.5]})
    cacheable = False


def test_the_contract_accepts_what_the_cache_understands() -> None:
    check_retriever(Sound())


USES = {
    "plainly": "from ownhelp import SHIFT\n",
    "lazily": "def f():\n    import ownhelp\n",
    "as a module in it": "from ownhelp import deeper\n",
    "by name": "import importlib\n\n\ndef f():\n    return importlib.import_module('ownhelp')\n",
    "by another": "import ownlab.between\n",
}


@pytest.mark.parametrize("how", USES)
def test_a_module_on_the_path_counts_by_its_source_and_the_files_beside_it(how: str, lab: Lab) -> None:
    helper = lab.source.parent / "ownhelp"
    for name in ("__init__.py", "deeper.py", "words.txt"):
        helper.mkdir(exist_ok=True)
        (helper / name).write_text("SHIFT = 1\n")
    lab.write("between.py", "def f():\n    from ownhelp import SHIFT\n")
    lab.write("parts.py", PART + USES[how])
    for name in ("__init__.py", "words.txt"):
        file = helper / name
        assert counts(lab.key, partial(file.write_text, "SHIFT = 2\n"), partial(file.write_text, "SHIFT = 1\n"))
    cached = helper / "__pycache__" / "x.pyc"
    cached.parent.mkdir(exist_ok=True)  # unless Python writes none
    assert not counts(lab.key, cached.touch, lambda: None)
    assert not counts(lab.key, (lab.source.parent / "unrelated.py").touch, lambda: None)


class Installed:
    """A library ``owninst`` of version 0.1 in a folder of installed packages, as an installer leaves it.

    Attributes:
        place: The folder of installed packages.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = folder / "lib" / "site-packages"
        (self.place / "owninst").mkdir(parents=True)
        self.notes = self.place / "owninst-0.1.dist-info"
        self.notes.mkdir()
        (self.notes / "METADATA").write_text("Metadata-Version: 2.1\nName: owninst\nVersion: 0.1\n")
        monkeypatch.syspath_prepend(self.place)

    def install(self, text: str) -> None:
        """Install it with this source, and record the hash of the file."""
        file = self.place / "owninst" / "__init__.py"
        file.write_text(text)
        kept = libraries._hash(file, "sha256")
        size = file.stat().st_size
        record = self.notes / "RECORD"
        record.write_text(
            f"owninst/__init__.py,{kept},{size}\nowninst-0.1.dist-info/RECORD,,\n../../bin/x,sha256=a,1\n"
        )
        now = time.time_ns()
        os.utime(file, ns=(now - 10**9, now - 10**9))
        os.utime(record, ns=(now, now))

    def edit(self, text: str) -> None:
        """Edit it where it lies."""
        file = self.place / "owninst" / "__init__.py"
        file.write_text(text)
        later = time.time_ns() + 10**10
        os.utime(file, ns=(later, later))


@pytest.fixture
def installed(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    lab.write("parts.py", PART + "\nfrom owninst import SHIFT\n")
    return Installed(tmp_path, monkeypatch)


def test_a_library_that_is_installed_again_under_its_version_counts(lab: Lab, installed: Installed) -> None:
    installed.install("SHIFT = 1\n")
    assert counts(lab.key, lambda: installed.install("SHIFT = 2\n"), lambda: installed.install("SHIFT = 1\n"))
    assert not counts(lab.key, lambda: installed.install("SHIFT = 1\n"), lambda: None)


def test_a_library_that_is_edited_where_it_lies_counts(lab: Lab, installed: Installed) -> None:
    installed.install("SHIFT = 1\n")
    assert counts(lab.key, lambda: installed.edit("SHIFT = 2\n"), lambda: installed.edit("SHIFT = 1\n"))
    assert counts(lab.key, lambda: installed.edit("SHIFT = 11\n"), lambda: installed.install("SHIFT = 1\n"))


def test_a_library_without_a_record_counts_by_its_files(lab: Lab, installed: Installed) -> None:
    installed.edit("SHIFT = 1\n")
    assert counts(lab.key, lambda: installed.edit("SHIFT = 2\n"), lambda: installed.edit("SHIFT = 1\n"))
    assert not counts(lab.key, (installed.place / "other.py").touch, lambda: None)


def test_a_library_from_a_folder_counts_with_what_it_imports_elsewhere(lab: Lab, installed: Installed) -> None:
    """Its requirements are not recorded, since what it imports lies on the path."""
    (installed.notes / "direct_url.json").write_text('{"url": "file:///home/me/owninst", "dir_info": {}}')
    helper = lab.source.parent / "ownhelp.py"
    helper.write_text("SHIFT = 1\n")
    installed.install("from ownhelp import SHIFT\n")
    assert counts(lab.key, partial(helper.write_text, "SHIFT = 2\n"), partial(helper.write_text, "SHIFT = 1\n"))


def test_an_editable_library_counts_where_another_requires_it(lab: Lab, installed: Installed) -> None:
    """The part imports a released library, which imports one that is edited in its own folder."""
    installed.install("import ownhelp\n\nSHIFT = 1\n")
    with (installed.notes / "METADATA").open("a") as notes:
        notes.write("Requires-Dist: ownhelp\n")
    editable = installed.place / "ownhelp-1.dist-info"
    editable.mkdir()
    (editable / "METADATA").write_text("Metadata-Version: 2.1\nName: ownhelp\nVersion: 1\n")
    (editable / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    (editable / "RECORD").write_text("__editable__.ownhelp-1.pth,sha256=a,1\n")
    helper = lab.source.parent / "ownhelp"
    helper.mkdir()
    (helper / "__init__.py").write_text("")
    file = helper / "deep.py"
    file.write_text("SHIFT = 1\n")
    assert counts(lab.key, partial(file.write_text, "SHIFT = 2\n"), partial(file.write_text, "SHIFT = 1\n"))


BOOST = """
from dataclasses import dataclass
from pathlib import Path
import os

import numpy as np

from recx.plugin import Seen, top_k


@dataclass(frozen=True)
class Boost:
    scores: str = "scores.txt"
    seen: Seen = "drop"

    def fit(self, history):
        return self

    def retrieve(self, history, requests, k):
        seed = int(Path(self.scores).read_text()) + int(os.environ.get("BOOST", "0"))
        scores = np.random.default_rng(seed).random(history.n_items).astype(np.float32)
        return top_k(lambda block: np.tile(scores, (len(block), 1)), history, requests, k, self.seen)
"""


NEWS = ("+experiment=news", "dataset.readers=100", "dataset.articles=50", "ranker=identity")


@pytest.mark.slow
def test_fault_04_a_file_in_the_working_directory_and_a_variable(
    tmp_path: Path, command_in: CommandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boosts.py").write_text(BOOST)
    (tmp_path / "conf" / "retriever").mkdir(parents=True)
    option = "_target_: boosts.Boost\nscores: scores.txt # the file\nseen: ${seen} # drop or keep\n"
    (tmp_path / "conf" / "retriever" / "boost.yaml").write_text(option)

    def figures(name: str, *words: str) -> tuple[float, float]:
        words = ("--config-dir", "conf", *NEWS, "tracker=console", "retriever=boost", f"hydra.run.dir={name}", *words)
        done = command_in(tmp_path, *words)
        assert done.code == 0, done.err
        written = json.loads((tmp_path / name / "metrics.json").read_text())
        return written["end_to_end/ndcg_at_5"], written.get("data/cache_hits", 0)

    found = []
    for number, (seed, boost) in enumerate([("1", "0"), ("2", "0"), ("2", "5")]):
        (tmp_path / "scores.txt").write_text(seed)
        monkeypatch.setenv("BOOST", boost)
        first = figures(f"{number}a")
        assert first[0] == figures(f"{number}b", "cache=off")[0]
        found.append(first[0])
    assert len(set(found)) == 3
    again = figures("again")
    assert again[0] == first[0]
    assert again[1] > first[1]  # what has not changed comes from the cache


SWEEP = ("--config-dir", "own", *NEWS, "tracker=console", "sweep_id=edited")


def swept(run: CommandIn, folder: Path, *words: str, edit: tuple[str, str] = ("", "")) -> Done:
    """Run a sweep whose last trial is gone, after an edit of one of its option files."""
    if not (folder / "own").exists():
        (folder / "own" / "retriever").mkdir(parents=True)
        text = (ROOT / "conf" / "retriever" / "popularity.yaml").read_text()
        for name in ("mine", "other"):
            (folder / "own" / "retriever" / f"{name}.yaml").write_text(text)
        assert run(folder, "-m", *SWEEP, *words).code == 0
    (folder / "outputs" / "sweeps" / "edited" / "trials" / "2.json").unlink()
    option = folder / "own" / "retriever" / "mine.yaml"
    option.write_text(option.read_text().replace(*edit) if edit[0] else option.read_text())
    return run(folder, "-m", *SWEEP, *words)


@pytest.mark.slow
def test_fault_14_a_sweep_is_not_taken_up_with_edited_options(tmp_path: Path, command_in: CommandIn) -> None:
    words = ("retriever=mine", "seed=1,2,3")
    done = swept(command_in, tmp_path, *words, edit=("half_life: null", "half_life: 1h"))
    assert done.code == 2
    assert done.err.strip() == (
        "sweep_id=edited: the option files were edited since this sweep ran trial 0, 1 with retriever.half_life=null "
        "(now 1h): a table must not mix both: put the files back, or choose another sweep_id"
    )
    assert not (tmp_path / "outputs" / "sweeps" / "edited" / "trials" / "2.json").exists()
    (tmp_path / "outputs" / "sweeps" / "edited" / "trials" / "2.json").touch()
    back = swept(command_in, tmp_path, *words, edit=("half_life: 1h", "half_life: null"))
    assert back.code == 0, back.err
    assert back.out.count("(done before)") == 2
    comment = swept(command_in, tmp_path, *words, edit=("half_life: null", "half_life:   null # the same"))
    assert comment.code == 0, comment.err
    assert comment.out.count("(done before)") == 2


@pytest.mark.slow
def test_an_edit_counts_for_the_trials_that_choose_the_option_only(tmp_path: Path, command_in: CommandIn) -> None:
    words = ("retriever=other,mine,popularity",)
    done = swept(command_in, tmp_path, *words, edit=("half_life: null", "half_life: 1h"))
    assert done.code == 2
    assert "since this sweep ran trial 1 with retriever.half_life=null (now 1h)" in done.err
    (tmp_path / "own" / "retriever" / "unused.yaml").write_text("_target_: recx.no\n")
    (tmp_path / "outputs" / "sweeps" / "edited" / "trials" / "2.json").touch()
    back = swept(command_in, tmp_path, *words, edit=("half_life: 1h", "half_life: null"))
    assert back.code == 0, back.err
