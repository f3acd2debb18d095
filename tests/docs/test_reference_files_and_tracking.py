"""The pages on files and on MLflow have what a run leaves: every file, column and tag."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest
from reference_pages.files_and_tracking import COLUMNS, FILES, RUN, TABLES, TAGS, TRACKED, pages

from recx.cli import main
from recx.cli.commands.help import WORDS
from recx.cli.pages import topics
from recx.jobs import launch
from recx.storage.values import NotStorableError

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [*(ROOT / "recx").rglob("*.py"), *(ROOT / "plugins").glob("recx-*/recx_*/**/*.py")]
LOGGERS = {"recx.benchmark", "recx.log", "recx.plugin", "recx.plugins", "recx.pyfunc", "recx.tracker", "recx.tracking"}
"""Names in the code of that form that are no tags: modules, loggers and groups of entry points."""


def texts() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)


def test_every_tag_in_the_code_is_on_the_page_and_no_other() -> None:
    assert set(re.findall(r'"(recx\.[a-z_]+)"', texts())) - LOGGERS == set(TAGS)
    page = pages()[TRACKED]
    assert all(f"| `{tag}` | " in page for tag in TAGS)


def test_the_files_that_a_run_may_replace_are_on_the_page() -> None:
    assert set(launch.FILES) <= set(RUN)
    assert all(f"| `{name}` | " in pages()[FILES] for name in RUN)


@pytest.mark.slow
def test_a_run_leaves_no_file_column_or_tag_that_the_pages_lack(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["+experiment=news", "dataset.readers=200", "dataset.articles=100", "cache=off"]
    monkeypatch.setattr(sys, "argv", ["recx", *words])
    assert main.main() == 0
    import pyarrow.parquet as pq

    [folder] = here.glob("outputs/2*/*")
    assert {path.name for path in folder.iterdir()} <= set(RUN)
    columns = pq.read_schema(folder / "recommendations.parquet").names
    sources = {name.removesuffix("_rank") for name in columns if name.endswith("_rank") and name not in COLUMNS}
    assert set(columns) - {f"{source}_{what}" for source in sources for what in ("rank", "score")} <= set(COLUMNS)
    others = {name for name in pq.read_schema(folder / "per_user.parquet").names if "/" not in name}
    assert others == {"user"}
    for table in (folder / "tables").iterdir():
        assert table.read_text(encoding="utf-8").partition("\n")[0].split(",") == list(TABLES[table.name])
    with sqlite3.connect(here / "outputs" / "mlflow.db") as store:
        tags = {key for (key,) in store.execute("select key from tags") if key.startswith("recx.")}
    store.close()
    assert tags <= set(TAGS)
    assert len(tags) > 5


def test_every_page_that_a_message_names_exists() -> None:
    named = set(re.findall(r"python -m recx help ([a-z][\w./-]*\w)", texts()))
    doors = {"install", "mlflow", "own-data", "own-project", "serve", "splits-and-filters", "studies", "sweeps"}
    assert doors <= named
    assert named <= {*topics(), *WORDS}
    kept = set(re.findall(r'NotKept\([^)]*"([a-z-]+)"\)', texts()))
    assert kept
    assert kept <= set(topics())
    assert NotStorableError("a part").page in topics()
