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

  // The numbers of a table as CSV, with all their digits where the page has them.
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (table) => [...table.rows].filter((row) => !row.classList.contains("more")).map((row) =>
    [...row.cells].map((cell) => quoted((cell.dataset.value ?? cell.textContent).trim().replace(/\s+/g, " "))).join(",")).join("\n");
  for (const table of document.querySelectorAll(".scroll > table")) {
    const button = document.createElement("button");
    const name = table.caption?.textContent ?? table.parentElement.getAttribute("aria-label");
    button.type = "button";
    button.className = "csv";
    button.textContent = "CSV";
    button.setAttribute("aria-label", `CSV of ${name}`);
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([`${csv(table)}\n`], { type: "text/csv" }));
      link.download = `${name.replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60)}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    if (table.caption && !table.caption.classList.contains("unseen")) table.caption.append(button);
    else table.parentElement.before(button);
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const mark = () => {
    const sections = [...links.keys()].map((id) => document.getElementById(id));
    const current = sections.filter((section) => section.getBoundingClientRect().top < 80).pop() ?? sections[0];
    for (const [id, link] of links) {
      if (id === current?.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  if (links.size) {
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  const form = document.querySelector("form.search");
  const users = [...(document.getElementById("users")?.tBodies ?? [])];
  if (form) {
    const PAGE = 20;
    const texts = new Map(users.map((user) => [user, user.textContent.toLocaleLowerCase()]));
    const [search, kind, found, more] = ["search", "kind", "found", "more"].map((id) => document.getElementById(id));
    let most = PAGE;
    const filter = () => {
      const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      const wanted = kind ? kind.value : "";
      let matching = 0;
      for (const user of document.getElementById("users").tBodies) {
        const matches = (!wanted || user.dataset.kind === wanted) && words.every((word) => texts.get(user).includes(word));
        matching += matches;
        user.hidden = !matches || matching > most;
      }
      found.textContent = `${Math.min(matching, most)} of ${matching === users.length ? "" : `${matching} found among `}${users.length}`;
      more.hidden = matching <= most;
    };
    const anew = () => {
      most = PAGE;
      filter();
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    search.addEventListener("input", anew);
    if (kind) kind.addEventListener("change", anew);
    more.addEventListener("click", () => {
      most += PAGE;
      filter();
    });
    document.getElementById("users").tHead.addEventListener("click", filter);
    filter();
  }
})();
