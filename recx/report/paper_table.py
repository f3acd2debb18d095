"""A table as papers print it, in LaTeX and in Markdown: the best of each column bold, the second marked too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recx.report import markdown
from recx.report.terminal.formats import ABSENT

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "{}$&%#_"},
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "`": r"\textasciigrave{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}"},
    **{"[": "{[}", "]": "{]}", "*": "{*}"},  # they would be read as arguments of the \\ before them
    **{
        "–": r"\textendash{}",
        "—": r"\textemdash{}",
        "…": r"\ldots{}",
        "±": r"$\pm$",
        "×": r"$\times$",
        "·": r"$\cdot$",
    },
    **{"≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", "†": r"$\dagger$"},
    **{"“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}"},
}
"""Character -> what it is written as in LaTeX."""
JOINED = re.compile(r"([-',])(?=\1)")
"""Two of these would be printed as one other sign."""
LAST_LETTER = "\u017f"
"""The last letter that pdflatex writes with its own fonts; a later character is written as its code point."""


@dataclass(frozen=True)
class PaperCell:
    """A cell of figures.

    Attributes:
        figure: The figure as text; "" where there is none.
        spread: Its standard deviation; "" where it has none.
        marks: Signs behind it, explained in the caption.
        place: 1 for the best of its column, 2 for the second, 0 for others.
        note: The number of its note; 0 for none.
    """

    figure: str
    spread: str = ""
    marks: str = ""
    place: int = 0
    note: int = 0


@dataclass(frozen=True)
class PaperTable:
    """A table.

    Attributes:
        label: What it is referred to by: letters, digits, ``_``, ``-``.
        title: What it shows.
        sentences: How to read it, but for how the best and second are printed.
        head: The names of the columns of figures.
        rows: Name and cells of each row.
        notes: The notes, the first of number 1.
    """

    label: str
    title: str
    sentences: Sequence[str]
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[PaperCell]]]
    notes: Sequence[str] = ()


def latex(table: PaperTable) -> str:
    """Return a table in LaTeX, which needs the package ``booktabs``."""
    caption = " ".join([f"{table.title}.", *(f"{one}." for one in table.sentences)])
    best = "Bold: the best of each column; underlined: the second."
    rows = [" & ".join([escaped(name), *map(_latex_cell, cells)]) for name, cells in table.rows]
    notes = [f"    \\item[$^{{{place}}}$] {escaped(note)}" for place, note in enumerate(table.notes, start=1)]
    lines = [
        f"% {' '.join(table.title.split())}; needs \\usepackage{{booktabs}}",
        "\\begin{table}[t]",
        "  \\centering",
        f"  \\caption{{{escaped(caption)} {best}}}",
        f"  \\label{{tab:{table.label}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(table.head)}}}",
        "    \\toprule",
        f"    {' & '.join(['', *map(escaped, table.head)])} \\\\",
        "    \\midrule",
        *(f"    {row} \\\\" for row in rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        *(["  \\begin{itemize}\\footnotesize", *notes, "  \\end{itemize}"] if notes else []),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return a text on one line in LaTeX, which prints it as it is."""
    return JOINED.sub(r"\1{}", "".join(map(_character, " ".join(text.split()))))


def of_markdown(table: PaperTable) -> str:
    """Return a table in Markdown: title, table, how to read it, notes."""
    rows = [[markdown.escaped(name), *map(_markdown_cell, cells)] for name, cells in table.rows]
    sentences = ["Bold: the best of each column; italic: the second", *table.sentences]
    notes = [f"{place}. {markdown.escaped(note)}" for place, note in enumerate(table.notes, start=1)]
    parts = [
        f"**{markdown.escaped(table.title)}**",
        markdown.table(["", *map(markdown.escaped, table.head)], rows),
        " ".join(f"{markdown.escaped(sentence)}." for sentence in sentences),
        "\n".join(notes),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _character(sign: str) -> str:
    if sign in SPECIAL:
        return SPECIAL[sign]
    if " " <= sign <= "~" or "\u00a1" <= sign <= LAST_LETTER:
        return sign
    return f"{{[}}U+{ord(sign):04X}{{]}}"


def _latex_cell(cell: PaperCell) -> str:
    figure = escaped(cell.figure or ABSENT)
    shown = {1: f"\\textbf{{{figure}}}", 2: f"\\underline{{{figure}}}"}.get(cell.place, figure)
    spread = f" $\\pm$ {cell.spread}" if cell.spread else ""
    above = [re.sub("†", r"\\dagger", cell.marks), str(cell.note) if cell.note else ""]
    raised = ",".join(filter(None, above))
    return f"{shown}{spread}{f'$^{{{raised}}}$' if raised else ''}"


def _markdown_cell(cell: PaperCell) -> str:
    figure = markdown.escaped(cell.figure or ABSENT)
    shown = {1: f"**{figure}**", 2: f"_{figure}_"}.get(cell.place, figure)
    spread = f" ± {cell.spread}" if cell.spread else ""
    note = f"<sup>{cell.note}</sup>" if cell.note else ""
    return f"{shown}{spread}{markdown.escaped(cell.marks)}{note}"
