"""Tables for papers: LaTeX that prints what it is given and compiles, and Markdown that shows the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.report.paper_table import PaperCell, PaperTable, escaped, latex, of_markdown

NASTY = r"""a_b 100 % of $HOME & #1 {x} ~ ^ \cmd `q` "d" 'e' ''f'' <g> [h] *i* |j| -- --- ,,k ?` – — … ± × ≤ “l” 中 é"""


def table_of(**more: object) -> PaperTable:
    cells = [
        ("item_knn", [PaperCell("0.25", "0.01", "*†", 2), PaperCell("", note=1)]),
        ("[x]", [PaperCell("0.5", place=1, note=2), PaperCell("0.1", marks="†")]),
    ]
    settings = {
        "sentences": ["*: better", "A & B"],
        "head": ["films", "news_5"],
        "rows": cells,
        "notes": ["it broke", "x < y"],
    }
    return PaperTable(**{"label": "mine-ndcg", "title": "mine: ndcg_at_10", **settings, **more})  # type: ignore[arg-type]


def test_the_whole_table_in_latex() -> None:
    assert (
        latex(table_of())
        == r"""% mine: ndcg_at_10; needs \usepackage{booktabs}
\begin{table}[t]
  \centering
  \caption{mine: ndcg\_at\_10. {*}: better. A \& B. Bold: the best of each column; underlined: the second.}
  \label{tab:mine-ndcg}
  \begin{tabular}{lrr}
    \toprule
     & films & news\_5 \\
    \midrule
    item\_knn & \underline{0.25} $\pm$ 0.01$^{*\dagger}$ & \textendash{}$^{1}$ \\
    {[}x{]} & \textbf{0.5}$^{2}$ & 0.1$^{\dagger}$ \\
    \bottomrule
  \end{tabular}
  \begin{itemize}\footnotesize
    \item[$^{1}$] it broke
    \item[$^{2}$] x \textless{} y
  \end{itemize}
\end{table}
"""
    )


def test_without_notes_there_is_no_list() -> None:
    assert "itemize" not in latex(table_of(notes=[]))


def test_the_whole_table_in_markdown() -> None:
    assert (
        of_markdown(table_of())
        == r"""**mine: ndcg\_at\_10**

|  | films | news\_5 |
| :-- | --: | --: |
| item\_knn | _0.25_ ± 0.01\*† | –<sup>1</sup> |
| \[x\] | **0.5**<sup>2</sup> | 0.1† |

Bold: the best of each column; italic: the second. \*: better. A \& B.

1. it broke
2. x \< y
"""
    )


def test_every_special_sign_is_escaped() -> None:
    assert escaped("a\n b\t_") == r"a b \_"
    assert escaped("--- ,,") == r"-{}-{}- ,{},"
    assert escaped("中\x07é") == "{[}U+4E2D{]}{[}U+0007{]}é"


@given(st.text())
def test_no_text_leaves_a_command_or_an_open_group(text: str) -> None:
    left = re.sub(
        r"\\(text\w+|char34|ldots)\{\}|\$\\(pm|times|cdot|leq|geq|to|dagger)\$|\\[{}$&%#_]", "", escaped(text)
    )
    assert not set(left) & set('\\$&%#_^~`"<>|')
    left = re.sub(r"\{[\[\]*]?\}", "", left)
    assert not set(left) & set("{}[]*")


@pytest.mark.slow
def test_latex_compiles_and_prints_every_sign(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None or not _has("booktabs"):
        pytest.skip("no pdflatex with booktabs: apt-get install texlive-latex-recommended")
    rows = [(NASTY, [PaperCell("0.5", "0.1", "*†", 1, 1)]), ("*", [PaperCell("")])]
    table = latex(PaperTable("x-y", NASTY, [NASTY], [NASTY], rows, [NASTY]))
    whole = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + table + "\\end{document}\n"
    (tmp_path / "t.tex").write_text(whole, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in done.stdout
    assert (tmp_path / "t.pdf").stat().st_size > 1000


def _has(package: str) -> bool:
    found = subprocess.run(["kpsewhich", f"{package}.sty"], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip())
