from __future__ import annotations

import json
from pathlib import Path

import pytest

import recx
from recx.cli.commands.explain import run
from recx.core.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100"])
    return next(home.glob("outputs/2*/*"))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words) == 0
    return capsys.readouterr().out


def test_json_and_the_printed_page_tell_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worst = json.loads(said(capsys, str(folder), "--worst", "3", "--json"))
    assert len(worst["user"]) == 3
    user = f"user={worst['user'][0]}"
    whole = json.loads(said(capsys, str(folder), user, "--json"))
    assert whole["targets"]["rank"] == [worst["rank"][0]]
    page = said(capsys, str(folder), user)
    assert f"user {worst['user'][0]}\n" in page
    assert f"{worst['target'][0]}: retrieved at rank {worst['retrieved'][0]}, shown at rank {worst['rank'][0]}" in page
    assert "contributions to the score" in page
    [marked, _] = [line.split() for line in page.splitlines() if line.startswith("  * ")]
    assert marked[:3] == ["*", str(worst["rank"][0]), str(worst["target"][0])]
    assert max(len(line) for line in page.splitlines()) <= 100


def test_the_worst_are_printed_a_line_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = said(capsys, str(folder), "--worst", "4").splitlines()
    assert page[0].startswith("4 users")
    assert len(page) == 6
    assert all(" +" in line for line in page[2:])  # the features that did it


def test_top_cuts_what_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user = json.loads(said(capsys, str(folder), "--worst", "1", "--json"))["user"][0]
    long, short = (said(capsys, str(folder), f"user={user}", "--top", top) for top in ("9", "2"))
    assert len(long.splitlines()) == len(short.splitlines()) + 2 * 7


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "give either a user"),
        (("user=1", "--worst", "3"), "give either a user"),
        (("--worst", "0"), "--worst must be 1 or more"),
        (("reader=1",), "write it like user=17"),
        (("user=",), "write it like user=17"),
        (("user=none",), "has no request of this user"),
    ],
)
def test_a_wrong_override_is_one_sentence(folder: Path, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        run([str(folder), *words])


def test_a_folder_without_a_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold a finished run"):
        run([str(tmp_path), "user=1"])
