"""The options of every group with their settings, and the keys of conf/config.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml
from repository import ROOT

from recx.config.option_sources import CONF
from recx.core.bounds import type_text
from recx.experiment.build import TOP_LEVEL
from recx.parts.dataset.known_files import untried
from reference_pages.classes import described
from reference_pages.markdown import code, docstring, fenced, prose, table
from reference_pages.mentions import pages_with
from reference_pages.option_files import PRESETS, Option, groups, options, settings_of, sources

GROUPS: Mapping[str, tuple[str, str]] = {
    "dataset": ("Datasets", "What is read: events, and what is known of users and items."),
    "filter": (
        "Filters",
        "What is left out of the data before it is split; several may be chosen, `+filter=[k_core,period]`.",
    ),
    "split": (
        "Splits",
        "Which events are history and which are targets, for the fold that is evaluated and the one before.",
    ),
    "encoder": ("Encoders", "How texts become vectors, for the parts with a setting `encoder`."),
    "retriever": ("Retrievers", "How candidates are found for each request, at most `n_candidates`."),
    "ranker": ("Rankers", "How the candidates are ordered."),
    "reranker": ("Re-rankers", "How the ranker's list is changed for other ends: diversity, calibration, popularity."),
    "engine": ("Engines", "Where the blocks of requests are served."),
    "evaluator": ("Evaluators", "Which metrics are computed of each stage; [the metrics](../metrics.md)."),
    "tracker": ("Trackers", "Where a run's settings and figures are kept."),
    "report": ("Report writers", "Further files that a run writes, `report=NAME`."),
    "cache": ("Stage cache", "Whether results of stages are kept and used again."),
    "pruner": ("Pruners", "How trials of a sweep that fall behind are ended, `pruner=NAME`."),
    "benchmark": ("Benchmarks", "How rankers are compared by quality, latency and cost; chosen by an experiment."),
    "experiment": ("Experiments", "Chains that are ready to run: `python -m recx +experiment=NAME`."),
    "sweep": ("Sweeps", "Sets of values that are ready to run: `python -m recx -m +experiment=news +sweep=NAME`."),
    "study": ("Studies", "Chains on several data sets with several seeds: `python -m recx study NAME`."),
    "reproduction": (
        "Reproductions",
        "Published protocols with their figures: `python -m recx reproduce NAME data=DIR`.",
    ),
    "hydra/launcher": (
        "Launchers",
        "How the trials of a sweep are started, `hydra/launcher=NAME`. The extra `slurm` adds `submitit_slurm` and "
        "`submitit_local`.",
    ),
    "hydra/sweeper": ("Sweepers", "How a sweep chooses its trials, `hydra/sweeper=NAME`."),
}
"""Group -> title of its page, and what its options are; ``feature`` has a page of its own."""
FEATURES = "../features.md"
NOTHING_SAID = "any value"


def pages() -> dict[str, str]:
    """Return the pages: ``options/index``, and one for each group."""
    of_group = groups()
    found = {f"options/{page_of(group)}": _page(group, of_group[group]) for group in GROUPS}
    return {"options/index": _index(of_group), **found}


def page_of(group: str) -> str:
    """Return the name of a group's page."""
    return group.rpartition("/")[2]


def meaning(option: Option, key: str) -> str:
    """Return what a setting means: by its file, those of its bases, or the docstring of the class; "": nobody says."""
    place = _place(option, key)
    if place is not None:
        return option.meanings.get(key) or meaning(*place)
    return option.meanings.get(key) or described(option.target).about.get(key, "") if option.target else ""


def allowed(option: Option, key: str) -> str:
    """Return what a setting may be; "" where no annotation says it."""
    place = _place(option, key)
    if place is not None:
        return allowed(*place)
    text = described(option.target).allowed.get(key, "") if option.target else ""
    return "" if text == NOTHING_SAID else text


def _place(option: Option, key: str) -> tuple[Option, str] | None:
    """Return the other option whose setting stands under this key, and its key there."""
    known = option.others
    for base in option.bases:
        known = {**options()[f"{option.group}/{base}"].others, **known}
    for within, other in known.items():
        if key.startswith(f"{within}."):
            return options()[other], key.removeprefix(f"{within}.")
    return None


def _page(group: str, chosen: Iterable[Option]) -> str:
    title, text = GROUPS[group]
    chosen = list(chosen)
    rows = [(f"[`{one.name}`](#{one.name})", prose(one.description), _package(one)) for one in chosen]
    parts = [f"# {title}\n", f"{text}\n", table(("option", "is", "package"), rows)]
    first: dict[str, str] = {}
    for one in sorted(chosen, key=lambda one: len(one.bases)):  # what others start from comes first
        first.setdefault(one.target, one.name)
    parts += [_section(one, first[one.target]) for one in chosen]
    return "\n".join(parts)


def _package(option: Option) -> str:
    return "recx" if option.package == "recx" else f"[{option.package}](../../plugins/{option.package}.md)"


def _section(option: Option, first: str) -> str:
    """Return what the page says about an option, of whose class ``first`` is the first option."""
    tried = " No file of this format has been tried with it." if _is_untried(option) else ""
    parts = [f"## {option.name}\n", f"{_sentence(option.description)}{tried}\n"]
    if option.target and first != option.name:
        parts.append(f"The part of [`{first}`](#{first}), with other settings.\n")
    elif option.target:
        parts += [docstring(text) for text in described(option.target).text]
    parts += [f"{line}\n" for line in _origin(option)]
    parts += [_preset(option)] if option.group in PRESETS else _settings(option)
    found = pages_with(option.group, option.name, f"reference/options/{page_of(option.group)}.md")
    if found:
        parts.append(f"Shown in: {', '.join(found)}.\n")
    return "\n".join(parts)


def _sentence(text: str) -> str:
    marked = prose(text[:1].upper() + text[1:])
    return marked if marked.endswith((".", ":")) or not marked else f"{marked}."


def _is_untried(option: Option) -> bool:
    return option.group == "dataset" and option.name in untried()


def _origin(option: Option) -> list[str]:
    """Return where an option comes from, and what it takes from others."""
    file = code(option.file.relative_to(ROOT).as_posix())
    of_plugin = "" if option.package == "recx" else f" Needs the plugin {_package(option)}."
    lines = [f"Class {code(option.target)}, file {file}.{of_plugin}" if option.target else f"File {file}.{of_plugin}"]
    for base in option.bases if option.group not in PRESETS else ():
        kept = f" Of it stay as they are: {', '.join(map(code, option.inherited))}." if option.inherited else ""
        lines.append(f"Starts from [`{base}`](#{base}).{kept}")
    for key, other in option.others.items():
        group, name = other.rsplit("/", 1)
        page = "" if group == option.group else f"{page_of(group)}.md"
        lines.append(f"Under {code(key)} stand the settings of [`{group}={name}`]({page}#{name}).")
    return lines


def _settings(option: Option) -> list[str]:
    if not option.settings:
        return ["It has no settings of its own.\n"]
    rows = [
        (code(one.key), code(one.value), prose(allowed(option, one.key)), prose(meaning(option, one.key)))
        for one in option.settings
    ]
    head = f"Settings, on the command line `{option.prefix}.SETTING=VALUE`:\n"
    return [head, table(("setting", "default", "may be", "meaning"), rows)]


def _preset(option: Option) -> str:
    """Return what a file that is no part says: its YAML, or the paper of a reproduction."""
    if option.group == "reproduction":
        about = "".join(f"{_sentence(str(option.content[key]))}\n\n" for key in ("title", "paper", "notes"))
        return f"{about}Its figures: [reproductions](../../reproductions.md).\n"
    lines = option.file.read_text(encoding="utf-8").splitlines()
    return fenced("\n".join(line for line in lines if not line.startswith("#")), "yaml")


def _index(of_group: Mapping[str, list[Option]]) -> str:
    rows = [
        (f"[{title}]({page_of(group)}.md)", code(group), _links(f"{page_of(group)}.md", of_group[group]))
        for group, (title, _) in GROUPS.items()
    ]
    rows.insert(4, (f"[Features]({FEATURES})", "`feature`", _links(FEATURES, of_group["feature"])))
    toctree = "\n".join(page_of(group) for group in GROUPS)
    return "\n".join(
        [
            "# Options\n",
            "An option is a file of a group: `retriever=item_knn` chooses it, and `retriever.neighbours=50` changes a "
            "setting of it. A default such as `${seed}` is the value of that key of the run.\n",
            table(("page", "group", "options"), rows),
            "## Keys of a run\n",
            "On the command line `KEY=VALUE`.\n",
            _top_level(),
            "## Options that are chosen by default\n",
            _defaults(),
            "## Plugins\n",
            "Options of a plugin are there once it is installed.\n",
            _plugins(),
            f"```{{toctree}}\n:hidden:\n\n{toctree}\n```\n",
        ]
    )


def _links(page: str, chosen: Iterable[Option]) -> str:
    return ", ".join(f"[{one.name}]({page}#{one.name})" for one in chosen)


def top_level() -> list[tuple[str, str, str, str]]:
    """Return the keys of conf/config.yaml that are no group: key, default, what it may be, meaning."""
    found = settings_of((CONF / "config.yaml").read_text(encoding="utf-8"))
    rows = []
    for one in found:
        if one.key != "defaults":
            text = type_text(TOP_LEVEL[one.key]) if one.key in TOP_LEVEL else ""
            rows.append((one.key, one.value, "" if text == NOTHING_SAID else text, one.behind))
    return rows


def _top_level() -> str:
    rows = [(code(key), code(value), kind, prose(text)) for key, value, kind, text in top_level()]
    return table(("key", "default", "may be", "meaning"), rows)


def _defaults() -> str:
    content = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
    rows = []
    for entry in content["defaults"]:
        if isinstance(entry, dict):
            [(group, name)] = entry.items()
            group = group.removeprefix("override ")
            known = f"{group}/{name}" in options()
            page = FEATURES if group == "feature" else f"{page_of(group)}.md"
            if known:
                rows.append((code(group), f"[`{name}`]({page}#{name})"))
            elif name is None:
                rows.append((code(group), "none"))
    return table(("group", "option"), rows)


def _plugins() -> str:
    rows = []
    for package in sources():
        if package != "recx":
            mine = ", ".join(code(f"{one.group}={one.name}") for one in options().values() if one.package == package)
            rows.append((f"[{package}](../../plugins/{package}.md)", mine))
    return table(("plugin", "options"), rows)
