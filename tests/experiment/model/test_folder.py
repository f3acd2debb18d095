"""A chain comes back from its folder to the bit, and a folder that is damaged or hostile ends in one sentence."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.progress import Stages
from recx.experiment.experiment import Result
from recx.experiment.model import folder as folders
from recx.experiment.model.chain import Chain
from recx.experiment.model.folder import MANIFEST, fitted_parts_of, read, write
from recx.experiment.model.keep import keep
from recx.experiment.model.serving import serve_with
from recx.parts.retriever.item_knn import FittedItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.storage.values import VALUE

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def made(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    assert keep(result, folder, {"model": "full"}, {"fold": "test"})
    return folder / "model"


@pytest.fixture
def model(made: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(made, tmp_path / "model"))


def refused(model: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(model)
    said = str(caught.value)
    assert "\n" not in said
    assert str(model) in said
    return said


def test_a_kept_chain_makes_the_lists_of_its_run(made: Path, result: Result) -> None:
    chain, fold = read(made).chain, result.split.fold
    lists = serve_with(chain, fold.history, fold.requests, Stages(aloud=False))
    for name in ("user", "indptr", "item", "score"):
        np.testing.assert_array_equal(getattr(lists, name), getattr(result.recommendations, name), strict=True)
    np.testing.assert_array_equal(chain.items.ids, result.interactions.items.ids)


def test_its_own_events_are_served_with_what_was_made_of_them(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recx.parts.feature.coclick import CoClicks
    from recx.parts.feature.popularity import Clicks

    chain = read(made).chain
    assert chain.known is not None
    for kind in (Clicks, CoClicks):
        monkeypatch.setattr(kind, "fit", None)
    assert len(serve_with(chain, chain.known.history, chain.known.requests, Stages(aloud=False)))


def test_the_manifest_says_what_is_there(made: Path) -> None:
    kept = read(made)
    files = {path.relative_to(made).as_posix(): path.stat().st_size for path in made.rglob("*") if path.is_file()}
    del files[MANIFEST]
    assert {name: size for name, (size, _) in kept.about["files"].items()} == files
    assert kept.about["bytes"] == sum(files.values())
    assert kept.about["keep"] == "full"
    assert kept.card == {"fold": "test"}
    suffixes = {Path(name).suffix for name in files}
    assert suffixes == {".json", ".npy", ".yaml", ".faiss"}  # no pickle


def test_parts_whose_code_has_changed_since_are_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"shop.parts": "0", "shop.other": "1"}
    about = {**read(made).about, "code": dict(now)}
    monkeypatch.setattr(folders, "_about", lambda folder: about)
    monkeypatch.setattr(folders, "_code_of", lambda chain: now)
    read(made)
    now["shop.parts"] = "2"
    with pytest.warns(UserWarning, match="the code of shop.parts has changed since the run"):
        read(made)


def test_parts_are_found_wherever_they_are(made: Path) -> None:
    assert len(fitted_parts_of(made, FittedItemKNN)) == 1
    assert len(fitted_parts_of(made, Popularity)) == 1
    assert fitted_parts_of(made, Stages) == []


def test_any_changed_byte_is_refused(made: Path, model: Path) -> None:
    rng = random.Random(0)
    for name in sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()):
        content = (made / name).read_bytes()
        places = {0, len(content) - 1, *(rng.randrange(len(content)) for _ in range(2))}
        changed = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in places]
        for other in [*changed, content[:-1], content + b" ", b""]:
            (model / name).write_bytes(other)
            if name == MANIFEST and _states(other) == _states(content):
                continue  # a space, or the time
            refused(model)
        (model / name).write_bytes(content)
    read(model)


def _states(manifest: bytes) -> Any:
    try:
        about = json.loads(manifest)
        return {name: about[name] for name in ("format", "files")}
    except (ValueError, KeyError, TypeError):
        return None


@pytest.mark.parametrize("how", ["missing", "link", "pipe", "folder"])
def test_files_that_are_no_plain_files_are_refused(made: Path, model: Path, how: str) -> None:
    for name in (MANIFEST, VALUE, "config.yaml", next(model.glob("*.npy")).name, next(model.glob("*.part")).name):
        path = model / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if how == "link":
            path.symlink_to(made / name)
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "folder" and not name.endswith(".part"):
            path.mkdir()
        refused(model)
        shutil.rmtree(model)
        shutil.copytree(made, model)


def manifest(change: Callable[[Json], object]) -> Callable[[Path], None]:
    def rewrite(model: Path) -> None:
        about = json.loads((model / MANIFEST).read_text())
        change(about)
        (model / MANIFEST).write_text(json.dumps(about))

    return rewrite


def forged(model: Path) -> None:
    """Let the manifest say of all files what they are now, as whoever wrote them would."""
    about = json.loads((model / MANIFEST).read_text())
    files = (path for path in model.rglob("*") if path.is_file() and path.name != MANIFEST)
    about["files"] = {path.relative_to(model).as_posix(): folders._state(path) for path in files}
    (model / MANIFEST).write_text(json.dumps(about))


def value(change: Callable[[Json], object]) -> Callable[[Path], None]:
    def rewrite(model: Path) -> None:
        data = json.loads((model / VALUE).read_text())
        change(data)
        (model / VALUE).write_text(json.dumps(data))
        forged(model)

    return rewrite


def text(content: str) -> Callable[[Path], None]:
    def rewrite(model: Path) -> None:
        (model / VALUE).write_text(content)
        forged(model)

    return rewrite


def fields(data: Json, *names: str) -> Json:
    for name in names:
        data = dict(data["mapping"])[name] if "mapping" in data else data["fields"][name]
    return data


def array(of: Callable[[Json], Json], content: bytes | Callable[[Any], Any]) -> Callable[[Path], None]:
    """Replace an array by others, or by the bytes of a file."""

    def rewrite(model: Path) -> None:
        path = model / of(json.loads((model / VALUE).read_text()))["array"]
        if callable(content):
            np.save(path, content(np.load(path)), allow_pickle=True)
        else:
            path.write_bytes(content)
        forged(model)

    return rewrite


def npy(header: str) -> bytes:
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


def near_items(data: Json, at: int) -> Json:
    """The values, columns or borders of the weights between items."""
    found: Json = fields(data, "retriever", "sources", "knn", "weights")["csr"][at]
    return found


def near(data: Json, *names: str) -> Json:
    return fields(data, "retriever", "sources", "faiss", "near", *names)


def weights(data: Json) -> Json:
    return fields(data, "ranker", "weight")


def items(data: Json) -> Json:
    return fields(data, "known", "history", "item")


def raised(to: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[-1] = to
        return array

    return change


NO_MAPPING = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
HOSTILE: dict[str, Callable[[Path], None]] = {
    "newer": manifest(lambda m: m.update(format=2)),
    "no format": manifest(lambda m: m.pop("format")),
    "files outside": manifest(lambda m: m["files"].update({"../../passwd": [1, ""]})),
    "an absolute file": manifest(lambda m: m["files"].update({"/etc/passwd": [1, ""]})),
    "a list": lambda model: (model / MANIFEST).write_text("[1, 2]") and None,
    "a number of files": manifest(lambda m: m.update(files=3)),
    "a function": value(lambda d: d["fields"]["ranker"].update(part="os.system")),
    "a class of a job": value(lambda d: d["fields"]["ranker"].update(part="recx.jobs.launch.Output")),
    "a class of Python": value(lambda d: d["fields"]["ranker"].update(part="subprocess.Popen")),
    "another part": value(lambda d: d["fields"].update(ranker=d["fields"]["items"])),
    "no chain": value(lambda d: d.update(d["fields"]["items"])),
    "no ranker": value(lambda d: d["fields"].pop("ranker")),
    "a field more": value(lambda d: d["fields"]["retriever"]["fields"].update(more=1)),
    "a field less": value(lambda d: fields(d, "retriever", "settings")["fields"].pop("smoothing")),
    "a setting out of range": value(lambda d: fields(d, "retriever", "settings")["fields"].update(smoothing=-1)),
    "candidates": value(lambda d: d["fields"].update(n_candidates=-5)),
    "a cycle": value(lambda d: d["fields"].update(ranker={"same": d["place"]})),
    "a place twice": value(lambda d: d["fields"]["ranker"].update(place=d["fields"]["retriever"]["place"])),
    "no place": value(lambda d: d["fields"]["ranker"].pop("place")),
    "a part elsewhere": value(lambda d: near(d, "index", "built").update(place="../../x")),
    "a part that is not there": value(lambda d: near(d, "index", "built").update(place=10**6)),
    "a part of another class": value(lambda d: near(d, "index", "built").update(saved="recx.core.types.Fold")),
    "an array elsewhere": value(lambda d: weights(d).update(array="../../0.npy")),
    "a file that is no array": value(lambda d: weights(d).update(array="value.json")),
    "deep": text("[" * 200_000 + "]" * 200_000),
    "deep parts": text('{"list": [' * 5_000 + "]}" * 5_000),
    "no JSON": text("{"),
    "a huge shape": array(weights, npy(NO_MAPPING % 10**15)),
    "a negative shape": array(weights, npy(NO_MAPPING % -3)),
    "objects": array(weights, lambda a: a.astype(object)),
    "records": array(weights, npy(NO_MAPPING.replace("'<f8'", "[('a', '<f8')]") % 2)),
    "columns": array(lambda d: near_items(d, 1), raised(10**6)),
    "negative columns": array(lambda d: near_items(d, 1), raised(-7)),
    "borders": array(lambda d: near_items(d, 2), raised(10**6)),
    "negative borders": array(lambda d: near_items(d, 2), lambda a: -a),
    "borders that end early": array(lambda d: near_items(d, 2), raised(-1)),
    "a large matrix": value(lambda d: fields(d, "retriever", "sources", "knn", "weights").update(shape=[-20, 20])),
    "listed": array(lambda d: near(d, "listed"), lambda a: a[::-1].copy()),
    "negative listed": array(lambda d: near(d, "listed"), lambda a: a - 5),
    "fewer vectors": array(lambda d: near(d, "stored"), lambda a: a[:-1]),
    "vectors of another length": array(lambda d: near(d, "stored"), lambda a: a[:, :-1].copy()),
    "clicked items": array(lambda d: fields(d, "retriever", "sources", "ease", "known"), lambda a: a - 3),
    "events": array(items, raised(20)),
    "negative events": array(items, raised(-1)),
    "users": array(lambda d: fields(d, "known", "requests", "user"), raised(10**9)),
    "borders of users": array(lambda d: fields(d, "known", "history", "indptr"), raised(10**9)),
    "times": array(lambda d: fields(d, "known", "history", "time"), lambda a: a[:-1]),
}


@pytest.mark.parametrize("damage", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_folder_ends_in_one_sentence(model: Path, damage: Callable[[Path], None]) -> None:
    damage(model)
    refused(model)


@pytest.mark.parametrize("at", [0, 100, 200, -8])
def test_an_index_that_is_damaged_is_refused(model: Path, at: int) -> None:
    [path] = model.rglob("index.faiss")
    content = bytearray(path.read_bytes())
    content[at : at + 8 if at >= 0 else None] = b"\xff" * 8
    path.write_bytes(content if at >= 0 else content[:-9])
    forged(model)
    try:
        chain = read(model).chain
    except InputError:
        return
    assert chain.known is not None  # FAISS reads what it does not use
    assert len(serve_with(chain, chain.known.history, chain.known.requests, Stages(aloud=False)))


def test_there_may_be_no_model(tmp_path: Path) -> None:
    assert "holds no model" in refused(tmp_path)
    assert "holds no model" in refused(tmp_path / "nothing")


def test_what_fails_leaves_nothing_and_what_succeeds_replaces_all(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, folder = Chain.of(result), tmp_path / "model"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_state", full)
        with pytest.raises(OSError, match="No space left"):
            write(chain, folder, {}, {})
    assert list(tmp_path.iterdir()) == []
    folder.mkdir()
    (folder / "notes.txt").write_text("of an earlier one")
    assert write(chain, folder, {}, {}) == read(folder).about["bytes"]
    assert not (folder / "notes.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


WRITING = """
import sys
from pathlib import Path
from recx.experiment.model.folder import read, write
chain, at = read(Path(sys.argv[1])).chain, Path(sys.argv[2])
while True:
    write(chain, at, {}, {})
    print("written", flush=True)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_leaves_no_model_that_looks_whole(made: Path, tmp_path: Path) -> None:
    rng, at = random.Random(0), tmp_path / "model"
    for _ in range(5):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", WRITING, str(made), str(at)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                process.wait(rng.random() / 20)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        if at.exists():
            assert len(read(at).chain.items) == 20
        else:
            assert "holds no model" in refused(at)
