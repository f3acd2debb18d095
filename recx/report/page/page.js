"use strict";
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    if (cell.classList.contains("number") || cell.dataset.value !== undefined) {
      return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
    }
    return text;
  };

  // Missing values come last in either direction.
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  };

  const sort = (table, heading) => {
    const falling = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const grouped = "grouped" in table.dataset;
    const parts = grouped ? [...table.tBodies] : [...table.tBodies[0].rows];
    const keyed = parts.map((part) => [value(grouped ? part.rows[0] : part, heading.cellIndex), part]);
    keyed.sort((a, b) => compare(a[0], b[0], falling ? -1 : 1));
    (grouped ? table : table.tBodies[0]).append(...keyed.map(([, part]) => part));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading));
    }
  }

  const form = document.querySelector("form.search");
  if (form) {
    const users = [...document.getElementById("users").tBodies];
    const texts = users.map((user) => user.textContent.toLocaleLowerCase());
    const [search, kind, found] = ["search", "kind", "found"].map((id) => document.getElementById(id));
    const filter = () => {
      const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      const wanted = kind ? kind.value : "";
      let shown = 0;
      users.forEach((user, place) => {
        user.hidden = !((!wanted || user.dataset.kind === wanted) && words.every((word) => texts[place].includes(word)));
        shown += !user.hidden;
      });
      found.textContent = `${shown} of ${users.length} users`;
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    search.addEventListener("input", filter);
    if (kind) kind.addEventListener("change", filter);
    filter();
  }
})();
