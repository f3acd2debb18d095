"""What README.md and the pages under docs/ show works as it stands there: every command composes, and runs."""

from __future__ import annotations

import json
import logging
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from textwrap import dedent

import made_tools
import numpy as np
import pandas as pd
import pytest
from repository import COPIES

from recx.cli import main as cli
from recx.cli.commands import init
from recx.cli.commands.new_plugin import KINDS
from recx.core.project import Project, entered
from recx.jobs.sweep.plan import read as read_sweep

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = [DOCS / page for page in COPIES.values()]
"""Pages that ``make docs`` copies; it makes those of the reference too, and the site."""
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if page not in MADE and page.relative_to(DOCS).parts[0] not in ("reference", "site")
    ),
]
EXTRAS = {
    "hydra/sweeper=optuna": "hydra_optuna_sweeper",
    "+sweep=search": "hydra_optuna_sweeper",
    "hydra/launcher=joblib": "hydra_joblib_launcher",
    "hydra/launcher=ray": "hydra_ray_launcher",
    "engine=ray": "ray",
    "hydra/launcher=submitit_local": "hydra_submitit_launcher",
    "hydra/launcher=submitit_slurm": "hydra_submitit_launcher",
}
"""Words of a command that need what an extra installs: word -> the distribution."""
INSTALLED = {distribution.name.replace("-", "_") for distribution in distributions()}
FEW = ["~benchmark.rankers.identity"]
"""Each ranker of a benchmark is a process."""
SMALL = {
    "news": ["dataset.readers=120", "dataset.articles=80", "dataset.days=3"],
    "tools": ["dataset.tasks=150", "dataset.tools=20"],
    "tools_abstain": ["dataset.tasks=150", "dataset.tools=20"],
    "rerank": ["dataset.queries=40", "dataset.features=6"],
    "rerank_benchmark": ["dataset.queries=40", "dataset.features=6", "dataset.vocabulary=300", *FEW],
    "agents": ["dataset.traces=40"],
    "ctr": ["dataset.impressions=300"],
}
"""Experiment -> what makes its generated data small."""


OWN = "--config-dir conf"
"""What a command has that runs in the project of the pages."""


def blocks(page: Path, language: str) -> list[str]:
    fence = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)  # in a list it is indented
    return [dedent(block) for _, of, block in fence.findall(page.read_text(encoding="utf-8")) if of == language]


def commands() -> list[str]:
    lines = [
        line.partition("   #")[0].strip() for page in PAGES for block in blocks(page, "") for line in block.splitlines()
    ]
    shown = [line.removeprefix("python -m recx ") for line in lines if line.startswith("python -m recx ")]
    return list(dict.fromkeys(shown))


def is_command(line: str) -> bool:
    return line.split()[0] in cli.COMMANDS


def needs(line: str) -> list[str]:
    """Return the distributions that a line needs and that are not installed here."""
    return [plugin for word, plugin in EXTRAS.items() if word in line.split() and plugin not in INSTALLED]


@pytest.fixture
def mine(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the plugin that the pages create, installed as pip would."""
    monkeypatch.setattr("sys.argv", ["recx", "new-plugin", "mine", *KINDS])
    assert cli.main() == 0
    info = here / "recx-mine" / "recx_mine-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recx-mine\nVersion: 0.1.0\n", encoding="utf-8")
    project = tomllib.loads((here / "recx-mine" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, package)] = project["entry-points"]["recx.plugins"].items()
    (info / "entry_points.txt").write_text(f"[recx.plugins]\n{name} = {package}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(here / "recx-mine")
    yield here / "recx-mine"
    for module in [module for module in sys.modules if module.split(".")[0] == "recx_mine"]:
        del sys.modules[module]


@pytest.fixture
def project(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project that the pages create, which is the working directory."""
    assert init.run(["shop"]) == 0
    monkeypatch.chdir(here / "shop")
    monkeypatch.setattr("sys.path", [*sys.path])  # the root that a command adds goes again
    return here / "shop"


def test_the_example_of_a_part_is_what_new_plugin_writes(mine: Path) -> None:
    page = ROOT / "docs" / "how-to" / "own-part.md"
    [option] = blocks(page, "yaml")
    assert option == (mine / "recx_mine" / "conf" / "retriever" / "mine.yaml").read_text(encoding="utf-8")
    shown = [
        block
        for name in ("own-part", "own-dataset")
        for block in blocks(ROOT / "docs" / "how-to" / f"{name}.md", "python")
    ]
    written = [file.read_text(encoding="utf-8") for file in (mine / "recx_mine").glob("*.py")]
    assert len(shown) == 6
    assert all(any(code in text for text in written) for code in shown)


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_of_a_project_is_what_init_writes(project: Path) -> None:
    page = ROOT / "docs" / "how-to" / "own-project.md"
    [code] = blocks(page, "python")
    assert code in Path("shop/dataset.py").read_text(encoding="utf-8")
    [option] = blocks(page, "yaml")
    assert option == Path("conf/dataset/mine.yaml").read_text(encoding="utf-8")
    tree = blocks(page, "text")[0].splitlines()
    shown = {line.split()[0].rstrip("/") for line in tree[1:]}
    files = {file.relative_to(project).as_posix() for file in project.rglob("*") if file.is_file()}
    assert {name for name in shown if not Path(name).exists()} == set()
    hidden = {".gitignore", "shop/__init__.py", *(file for file in files if file.startswith("tests/"))}
    assert files - hidden == shown - {"tests"}


@pytest.mark.parametrize("line", [line for line in commands() if OWN in line and not is_command(line)])
def test_every_experiment_of_a_project_composes(
    line: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.startswith("-m "):
        with entered(Project.of(["conf"])):
            assert read_sweep(shlex.split(line.replace(OWN, ""))[1:])
        return
    monkeypatch.setattr("sys.argv", ["recx", *shlex.split(line), "--cfg", "job"])
    assert cli.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("init ")])
def test_every_project_is_written(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{n % 7},{n % 5},4,{1_112_484_727 + n}\n" for n in range(50))
    Path("ratings.csv").write_text(f"userId,movieId,rating,timestamp\n{rows}", encoding="utf-8")
    rows = "".join(f"{n % 7};NA;{n % 5};{n};2016-05-09\n" for n in range(50))
    Path("train-item-views.csv").write_text(f"sessionId;userId;itemId;timeframe;eventdate\n{rows}", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["recx", *line.split()])
    assert cli.main() == 0
    assert (here / line.split()[1] / "conf" / "experiment" / "mine.yaml").is_file()


def not_run(line: str) -> bool:
    """Return whether a line does not run here: it needs the plugin of the page, what is not installed, or processes.

    tests/jobs/sweep, tests/cli/test_main.py and tests/cases/test_cluster.py run the launchers and Ray.
    """
    elsewhere = "hydra/launcher=" in line or "engine=ray" in line
    return elsewhere or ("mine" in line and OWN not in line) or bool(needs(line))


@pytest.mark.parametrize(
    "line", [line for line in commands() if not_run(line) and not is_command(line) and OWN not in line]
)
def test_every_experiment_that_does_not_run_here_composes(
    line: str, mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    words = shlex.split(line)
    if words[0] == "-m":
        missing = [word for word, plugin in EXTRAS.items() if plugin not in INSTALLED]
        assert read_sweep([word for word in words[1:] if word not in ("resume=last", *missing)])
        return
    monkeypatch.setattr("sys.argv", ["recx", *[word for word in words if word not in ("--cfg", "job")], "--cfg", "job"])
    assert cli.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in commands() if "mine_all_shown" in line or "ranker=mine" in line])
def test_every_experiment_with_a_part_of_the_plugin_runs(
    line: str, mine: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(small(line, here), here) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("evaluate ")])
def test_every_evaluation_judges_files_of_those_names(
    line: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.csv").write_text("user,item,score\n1,a,0.9\n1,b,0.8\n2,a,0.3\n", encoding="utf-8")
    Path("truth.csv").write_text("user,item,grade\n1,b,1\n2,a,2\n", encoding="utf-8")
    Path("worth.csv").write_text("query,item,relevance\n1,b,0.2\n2,a,0.6\n", encoding="utf-8")
    rows = [f"1,{b},0.9\n1,{a},0.8\n2,a,0.3\n" for a, b in ("ba", "ab")]
    lines = [f"{line},{name}" for name, text in zip(("knn", "pop"), rows, strict=True) for line in text.splitlines()]
    Path("systems.csv").write_text("user,item,score,Algorithm\n" + "\n".join(lines) + "\n", encoding="utf-8")
    Path("results.trec").write_text("1 Q0 a 1 0.9 x\n1 Q0 b 2 0.8 x\n2 Q0 a 1 0.3 x\n", encoding="utf-8")
    Path("qrels.trec").write_text("1 0 b 1\n2 0 a 2\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["recx", *line.split()])
    assert cli.main() == 0
    printed = capsys.readouterr()
    assert "0.8155" in printed.out or "0.815464" in printed.out  # NDCG: (1 / log2(3) + 1) / 2
    assert printed.err == ""


def clicks(folder: Path, name: str) -> Path:
    """Write a small log of clicks in the form that a file of this name has, and return where."""
    rng = np.random.default_rng(0)
    user, item = np.repeat(np.arange(40), 6), rng.integers(0, 25, 240)
    log = pd.DataFrame({"uid": user, "sku": item, "ts": 1_700_000_000 + 60 * np.arange(240)}).drop_duplicates(
        ["uid", "sku"]
    )
    path = folder / name
    if name.endswith(".parquet"):
        log.to_parquet(path)
    elif name == "u.data":
        log.assign(rating=4)[["uid", "sku", "rating", "ts"]].to_csv(path, sep="\t", header=False, index=False)
    else:
        lines = [f"{of + 1} {' '.join(str(sku + 1) for sku in of_user['sku'])}" for of, of_user in log.groupby("uid")]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def in_other_forms(folder: Path) -> None:
    """Write the log of clicks without a header, in several files, and in RecBole's form with a table of items."""
    log = pd.read_parquet(clicks(folder, "log.parquet"))
    rows = zip(log["uid"], log["sku"], log["ts"], strict=True)
    (folder / "ratings.dat").write_text("".join(f"{u}::{i}::4::{t}\n" for u, i, t in rows), encoding="utf-8")
    log[["uid", "sku"]].to_csv(folder / "Beauty.txt", sep=" ", header=False, index=False)
    log["ts"] *= 1000
    (folder / "logs").mkdir(exist_ok=True)
    log[:100].to_parquet(folder / "logs" / "part-1.parquet")
    log[100:].to_parquet(folder / "logs" / "part-2.parquet")
    log[:100].to_csv(folder / "january.csv", index=False)
    log[100:].to_csv(folder / "february.csv", index=False)
    log["ts"] //= 1000
    log.columns = ["user_id:token", "item_id:token", "timestamp:float"]
    log.to_csv(folder / "ml-100k.inter", sep="\t", index=False)
    items = pd.DataFrame({"item_id:token": range(25), "movie_title:token_seq": [f"Film {n}" for n in range(25)]})
    items = items.assign(
        **{"release_year:token": range(1970, 1995), "class:token_seq": ["Drama Comedy", "Action"] * 12 + ["War"]}
    )
    items.to_csv(folder / "ml-100k.item", sep="\t", index=False)
    users = pd.DataFrame({"user_id:token": range(40), "age:token": [20 + n % 30 for n in range(40)]})
    users.assign(**{"occupation:token": ["tailor", "baker"] * 20}).to_csv(
        folder / "ml-100k.user", sep="\t", index=False
    )


def judged_texts(folder: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "black", "white", "one", "two", "three", "four", "five"])
    queries = pd.DataFrame(
        {"query": [f"q{n}" for n in range(30)], "text": [" ".join(rng.choice(words, 3)) for _ in range(30)]}
    )
    documents = pd.DataFrame(
        {"document": [f"d{n}" for n in range(50)], "text": [" ".join(rng.choice(words, 8)) for _ in range(50)]}
    )
    grades = pd.DataFrame(
        [(f"q{n}", f"d{d}", int(rng.integers(0, 2))) for n in range(30) for d in rng.choice(50, 8, replace=False)],
        columns=["query", "document", "grade"],
    )
    for name, table in {"queries": queries, "documents": documents, "grades": grades}.items():
        table.to_csv(folder / f"{name}.csv", index=False)


def impressions(folder: Path) -> None:
    rng, rows = np.random.default_rng(0), []
    for number in range(200):
        shown = rng.choice(30, 6, replace=False)
        offered = " ".join(f"N{item}-{int(place == 0)}" for place, item in enumerate(shown))
        day = 9 + number // 50
        rows.append(f"{number}\tU{number % 40}\t11/{day}/2019 {number % 12 + 1}:00:00 AM\tN1 N2\t{offered}")
    (folder / "behaviors.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    news = [f"N{item}\tnews\tworld\tTitle {item}\tAbstract {item}\thttps://example.org\t[]\t[]" for item in range(30)]
    (folder / "news.tsv").write_text("\n".join(news) + "\n", encoding="utf-8")


def impressions_with_histories(folder: Path) -> None:
    """Write EB-NeRD's files: four days of impressions, and three clicks before them for each reader."""
    rng, start = np.random.default_rng(0), np.datetime64("2023-05-20", "us")
    shown = [rng.choice(30, 6, replace=False).tolist() for _ in range(200)]
    log = {
        "impression_id": range(200),
        "user_id": [number % 40 for number in range(200)],
        "impression_time": start + np.timedelta64(29, "m") * np.arange(200),
        "article_ids_inview": shown,
        "article_ids_clicked": [some[:1] for some in shown],
    }
    past = {
        "user_id": range(40),
        "impression_time_fixed": [(start - np.timedelta64(1, "D") * np.arange(3, 0, -1)).tolist()] * 40,
        "article_id_fixed": [rng.choice(30, 3, replace=False).tolist() for _ in range(40)],
    }
    pd.DataFrame(log).to_parquet(folder / "behaviors.parquet")
    pd.DataFrame(past).to_parquet(folder / "history.parquet")


def shown(folder: Path, name: str) -> None:
    """Write a log of impressions, and a table of their items."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.choice(30, 6, replace=False) for _ in range(200)])
    log = pd.DataFrame({"list": np.repeat(np.arange(200), 6), "item": items, "position": np.tile(np.arange(1, 7), 200)})
    log["clicked"] = (rng.random(1200) < 0.5 / log["position"]).astype(int)
    log["time"] = pd.Timestamp("2024-05-01") + pd.to_timedelta(log["list"], "h")
    log["price"], log["similarity"] = rng.random(1200).round(3), rng.random(1200).round(3)
    if name.endswith(".parquet"):
        log.rename(columns={"list": "page", "item": "sku", "clicked": "bought"}).to_parquet(folder / name)
    else:
        log.to_csv(folder / name, index=False)
    pd.DataFrame({"item": range(30), "category": ["tea", "coffee", "milk"] * 10}).to_csv(
        folder / "goods.csv", index=False
    )


def small(line: str, here: Path) -> list[str]:
    """Return the words of a command on data that is small enough for a test: generated, or written into ``here``."""
    words = shlex.split(line)
    if any(word.startswith("RUN/") for word in words):
        benchmark = newest(here, "benchmark.json")
        words = [word.replace("RUN/", f"{benchmark}/") for word in words]
    for place in (here / word for word in words if word in ("laptop", "server")):
        if not place.exists():
            shutil.copytree(newest(here, "benchmark.json"), place)
    if words[0] == "predict":
        run = with_model(here)
        user = to_predict(pd.read_parquet(run / "recommendations.parquet"), here)
        words = [{"RUN": str(run), "ID": user}.get(word, word) for word in words]
    if words[0] == "replay":
        run = with_model(here)
        goes_on(run, here)
        words = [str(run) if word == "RUN" else word for word in words]
    if "RUN" in words:
        file = "recommendations.parquet" if words[0] == "explain" else "metrics.json"  # some keep no lists
        words = [str(newest(here, file)) if word == "RUN" else word for word in words]
    if "user=ID" in words:
        recommended = pd.read_parquet(newest(here, "recommendations.parquet") / "recommendations.parquet")
        words = [f"user={recommended['user'].iloc[0]}" if word == "user=ID" else word for word in words]
    if any("next_item.py" in word for word in words):
        [program] = blocks(ROOT / "docs" / "how-to" / "external.md", "python")
        (here / "next_item.py").write_text(program, encoding="utf-8")
        words = [word.replace("[python,", f"[{sys.executable},") for word in words]
    experiment = next((word.removeprefix("+experiment=") for word in words if word.startswith("+experiment=")), "")
    path = next((word.removeprefix("dataset.path=") for word in words if word.startswith("dataset.path=")), "")
    sizes = SMALL.get(experiment, [])
    if path == "DIR" and "dataset=judged" in words:
        judged_texts(here)
        sizes = []
    elif path == "DIR" and "dataset=mind" in words:
        impressions(here)
        sizes = []
    elif path == "DIR" and "dataset=ebnerd" in words:
        impressions_with_histories(here)
        sizes = []
    elif "dataset.reliability=success_rate" in words:
        made_tools.tools(here)
        sizes = []
    elif path == "traces.jsonl":
        made_tools.traces(here)
        sizes = []
    elif path.startswith("samples."):
        made_tools.samples(here)
        sizes = []
    elif "dataset=impressions" in words:
        shown(here, path)
        sizes = []
    elif path == "DIR" and experiment.startswith("news"):
        synthetic(["readers=120", "articles=80", "days=3"], here)
        sizes = []
    elif path == "DIR":  # generated in its place
        words = [word for word in words if word != "dataset.path=DIR"]
        sizes = FEW if "dataset=svmlight" in words else sizes
    elif path in ("train.csv", "parts.csv", "shop.csv", "train.txt"):
        own_files(here)
    elif "dataset.header=false" in words or path.startswith(("logs/", "[")) or path.endswith(".inter"):
        in_other_forms(here)
    elif path:
        clicks(here, path)
        beside(here)
    if any(word.endswith("=callable") for word in words):
        (here / "my_module.py").write_text(RERANKER, encoding="utf-8")
    words = [word.replace("dataset.path=DIR", f"dataset.path={here}") for word in words]
    search = ["hydra.sweeper.n_trials=2"] if {"+sweep=search", "hydra/sweeper=optuna"} & set(words) else []
    quick = ["n_candidates=10"] if words[0] == "-m" and experiment == "news" else []
    return [*words, *sizes, *quick, *search]


def to_predict(rows: pd.DataFrame, folder: Path) -> str:
    """Write the files that a prediction reads, with ids of these rows; return a user's."""
    rows["user"].drop_duplicates().to_csv(folder / "users.txt", index=False, header=False)
    rows["item"].drop_duplicates().to_csv(folder / "items.txt", index=False, header=False)
    rows[["user", "item"]].assign(time=1_507_000_000_000).to_csv(folder / "history.csv", index=False)
    return str(rows["user"].iloc[0])


def goes_on(run: Path, folder: Path) -> None:
    """Write a log of three days after a run: each of its users clicks three of the items that it recommends."""
    until = json.loads((run / "model" / "model.json").read_text(encoding="utf-8"))["until"]
    rows = pd.read_parquet(run / "recommendations.parquet").groupby("user").head(3)
    day = rows.groupby("user").cumcount()
    rows[["user", "item"]].assign(time=until + 86_399_999 * (day + 1)).to_csv(folder / "log.csv", index=False)


def own_files(folder: Path) -> None:
    """Write files of train, valid and test events, one with a column that says which, and one with kinds of events."""
    rng, parts = np.random.default_rng(0), ("train",) * 6 + ("valid", "test")
    rows = [
        (
            f"u{user}",
            f"i{item}",
            1_500_000_000 + 10_000 * user + 500 * place,
            parts[place],
            ("view", "purchase")[place % 2],
        )
        for user in range(80)
        for place, item in enumerate(rng.choice(30, len(parts), replace=False))
    ]
    log = pd.DataFrame(rows, columns=["user", "item", "time", "part", "event"])
    log.drop(columns=["event"]).to_csv(folder / "parts.csv", index=False)
    log.drop(columns=["part"]).to_csv(folder / "shop.csv", index=False)
    for part, of_part in log.groupby("part"):
        of_part[["user", "item", "time"]].to_csv(folder / f"{part}.csv", index=False)
        lines = [f"{user} {' '.join(of_user['item'])}" for user, of_user in of_part.groupby("user")]
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def beside(folder: Path) -> None:
    """Write users, their countries, lists and items for the log of ``clicks``; five of the items have no clicks."""
    rng = np.random.default_rng(0)
    items = {"sku": range(30), "category": ["tea", "coffee", "milk"] * 10, "created": "2023-11-01"}
    vectors = {f"e{place}": rng.normal(size=30).round(3) for place in range(4)}
    pd.DataFrame({**items, **vectors}).to_csv(folder / "items.csv", index=False)
    pd.DataFrame({"uid": range(40), "country": ["de", "fr"] * 20}).to_csv(folder / "people.csv", index=False)
    users = range(0, 60, 2)
    (folder / "users.txt").write_text("\n".join(map(str, users)), encoding="utf-8")
    rows = [f"{user},{item},{item}" for user in users for item in range(5, 25)]
    (folder / "lists.csv").write_text("user,item,score\n" + "\n".join(rows) + "\n", encoding="utf-8")


RERANKER = """
class Longest:
    def rerank(self, query, documents):
        return [float(len(document)) for document in documents]

reranker = Longest()
"""


def synthetic(sizes: list[str], folder: Path) -> None:
    options = [part for size in sizes for part in (f"--{size.partition('=')[0]}", size.partition("=")[2])]
    command = [sys.executable, "-m", "recx.parts.dataset.synthetic", str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)


def newest(folder: Path, file: str, name: str = "*") -> Path:
    return max(folder.glob(f"outputs/2*/{name}/{file}"), key=lambda path: path.stat().st_mtime).parent


def with_model(folder: Path) -> Path:
    """Return the newest run on news that kept its lists and its model."""
    runs = [path.parent.parent for path in folder.glob("outputs/2*/*_news/model/model.json")]
    return max(
        filter(lambda run: (run / "recommendations.parquet").is_file(), runs), key=lambda run: run.stat().st_mtime
    )


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a working directory in which an experiment and a benchmark have run."""
    home = tmp_path_factory.mktemp("workplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(home)
        for line in ("init shop", BENCHMARK, "+experiment=news"):
            assert ran(small(line, home), home) == 0
        yield home
    for module in [module for module in sys.modules if module.split(".")[0] in ("shop", "my_module")]:
        del sys.modules[module]


def ran(words: list[str], folder: Path) -> int:
    """Run a command in this process, which is as before afterwards; return its exit code."""
    root = logging.getLogger()
    level = root.level
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", ["recx", *words])
        patch.setattr("sys.path", [*sys.path])  # a command adds the root of a project
        patch.setattr(root, "handlers", [*root.handlers])  # hydra.verbose adds one, and changes the level
        code = cli.main()
    root.setLevel(level)
    return code


BENCHMARK = "+experiment=rerank_benchmark"
ELSEWHERE = {
    "ui": "serves until it is stopped",
    "serve": "so does this",
    "new-plugin": "see mine",
    "evaluate": "see above",
    "init": "see above",
    "clicks": "test_clicks_page.py",  # and compare --ab: test_online_test_section.py
    "study": "see below",
    "reproduce": "so here",
}
"""Commands that other tests run."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        line
        for line in commands()
        if line.split()[0] not in ELSEWHERE and line != BENCHMARK and not not_run(line) and "--ab" not in line
    ],
)
def test_every_command_runs(line: str, workplace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own = OWN in line
    words = shlex.split(line) if own else small(line, workplace)
    if "resume=last" in words:  # goes on with the sweep that was started last, which must be this one
        ran([word for word in words if word != "resume=last"], workplace)
    code = ran(words, workplace / "shop" if own else workplace)
    said = capfd.readouterr()
    assert (code in ((0, 3) if "--alarm" in words else (0,)), said.err) == (True, ""), said.out[-2000:] + said.err


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("reproduce ")])
def test_every_reproduction_runs_or_says_where_to_get_its_data(
    line: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """tests/jobs/reproduce runs one to its end; the data of those on the pages is not ours to give."""
    clicks(here, "Beauty.txt")
    code = ran(small(line, here), here)
    said = capfd.readouterr()
    assert (code, "get it from" in said.err) == ((0, False) if line == "reproduce list" else (2, True)), said.err


@pytest.mark.slow
def test_the_commands_of_studies_run_one_after_the_other(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in commands() if line.startswith("study ")]
    assert len(lines) > 4
    [five] = blocks(DOCS / "how-to" / "many-models.md", "yaml")
    (here / "five.yaml").write_text(five, encoding="utf-8")
    for name in ("log.parquet", "u.data", "Beauty.txt"):
        clicks(here, name)
    for line in lines:
        small = [] if "five.yaml" in line else ["dataset.readers=60", "dataset.articles=50"]
        small += ["tracker=console", *([] if "seeds=" in line else ["seeds=0"])]
        words = [word for word in shlex.split(line) if not word.startswith("jobs=")]
        assert ran([*words, "jobs=1", *(["tracker=console"] if "lock" in line else small)], here) == 0, line
        assert capfd.readouterr().err == ""
