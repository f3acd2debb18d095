"""What was made to fill the memory, or is damaged, is one sentence within seconds."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recx
from recx.core.errors import InputError
from recx.core.yaml_files import parse_yaml
from recx.storage.readers import content, unpacked

TINY = ["+experiment=news", "dataset.readers=60", "dataset.articles=40", "tracker=console", "cache=off"]
LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
)
USUAL = "a: &a [1, {b: &b 2}]\nc: [*a, *a, *b]\nd: &d 3\ne: *d\n"
Run = Callable[..., tuple[int, str]]


@pytest.mark.parametrize("text", [LAUGHS, "a: &a [*a]", "a: &a {b: {c: *a}}"])
def test_aliases_that_stand_for_too_much_are_refused(call: Run, here: Path, text: str) -> None:
    (here / "conf" / "ranker").mkdir(parents=True)
    (here / "conf" / "ranker" / "mine.yaml").write_text(f"_target_: recx.parts.ranker.identity.Identity\n{text}\n")
    code, said = call("--config-dir", "conf", *TINY, "ranker=mine")
    assert (code, said.count("\n")) == (2, 1)
    assert "conf/ranker/mine.yaml: its aliases, such as *a" in said
    code, said = call(*TINY, f"hydra.searchpath=[{here}/conf]", "ranker=mine")
    assert (code, said.count("\n")) == (2, 1)
    with pytest.raises(InputError, match=r"stand for more than 100,000 values"):
        parse_yaml(here, text)


def test_usual_aliases_are_read(here: Path) -> None:
    one = [1, {"b": 2}]
    assert parse_yaml(here, USUAL) == {"a": one, "c": [one, one, 2], "d": 3, "e": 3}


def zeros(path: Path, size: int) -> None:
    with gzip.open(path, "wb") as file:
        file.write(b"user,item\n")
        for _ in range(size >> 20):
            file.write(b"1,1\n" * (1 << 18))


def test_a_gzip_bomb_is_refused_by_every_door(call: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "HARMLESS", 20 << 20)
    zeros(here / "bomb.csv.gz", 64 << 20)
    zeros(here / "large.csv.gz", 16 << 20)  # as repetitive, and harmless
    assert len(content.content(here / "large.csv.gz")) == (16 << 20) + 10
    shutil.copy(here / "bomb.csv.gz", here / "bomb.jsonl.gz")
    commands = [
        ("+experiment=table", "dataset.path=bomb.csv.gz", "tracker=console"),
        ("+experiment=movielens", "dataset.path=bomb.csv.gz", "tracker=console"),
        ("evaluate", "bomb.csv.gz", "large.csv.gz"),
        ("init", "shop", "--from", "bomb.csv.gz"),
    ]
    for words in commands:
        code, said = call(*words)
        assert (code, said.count("\n")) == (2, 1), words
        assert "and unpacks to more than" in said


def test_a_parquet_bomb_is_refused(call: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "HARMLESS", 1 << 20)
    same = pa.array([7] * 1_000_000)
    pq.write_table(pa.table({"user": same, "item": same}), here / "bomb.parquet")
    for words in (("+experiment=table", "dataset.path=bomb.parquet"), ("evaluate", "bomb.parquet", "bomb.parquet")):
        code, said = call(*words)
        assert (code, said.count("\n")) == (2, 1)
        assert "unpacks to more than" in said


def test_too_little_memory_is_one_sentence(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from recx.parts.dataset.news import News

    def load(self: News) -> None:
        raise MemoryError("Unable to allocate 7.28 TiB for an array")

    monkeypatch.setattr(News, "load", load)
    code, said = call(*TINY)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("not enough memory (Unable to allocate 7.28 TiB for an array): use less data")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run([*TINY, "hydra.run.dir=run"])
    return home / "run"


DAMAGE = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "binary": lambda content: b"\x00\xff" * 50,
    "a list": lambda content: b"[1, 2]",
    "a number": lambda content: b"3",
    "nested": lambda content: b"[" * 100_000,
    "other types": lambda content: json.dumps(_other(json.loads(content))).encode(),
    "aliases": lambda content: LAUGHS.encode(),
}


def _other(value: object) -> object:
    """Return a document with a list in the place of every text, and a text in that of every list."""
    if isinstance(value, dict):
        return {key: value[key] if key == "version" else _other(value[key]) for key in value}
    return "x" if isinstance(value, list) else ["x"] if isinstance(value, str) else value


FILES = ["report.json", "metrics.json", "config.yaml", "protocol.json", "per_user.parquet"]
DAMAGED = [
    pytest.param(file, damage, marks=[] if n % len(FILES) == FILES.index(file) else pytest.mark.slow)
    for file in FILES
    for n, damage in enumerate(DAMAGE)
    if damage != "other types" or file.endswith(".json")  # only JSON is changed like this
]
"""Every file in every way; the fast tests damage each file, and in each way some file."""


@pytest.mark.parametrize(("file", "damage"), DAMAGED)
def test_a_damaged_file_of_a_run_is_one_sentence(call: Run, here: Path, finished: Path, file: str, damage: str) -> None:
    shutil.copytree(finished, here / "outputs" / "a" / "run")
    path = here / "outputs" / "a" / "run" / file
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    for words in (
        ["report", "last"],
        ["compare", "last", str(finished)],
        ["explain", "last", "--worst", "2"],
        ["runs"],
    ):
        code, said = call(*words)
        assert code in (0, 2), (words, said)
        assert said.count("\n") == (code == 2), (words, said)
        assert "unexpected" not in said
