// What the theme leaves out for keyboards and screen readers.
const label = (part, name) => document.querySelector(part)?.setAttribute("aria-label", name);
label(".sidebar-drawer", "Pages");
label(".toc-drawer", "On this page");
document.querySelectorAll(".caption[role=heading]").forEach((part) => part.setAttribute("aria-level", "2"));

// The corner of a table has no text and heads nothing: a data frame has one.
document.querySelectorAll("article th").forEach((head) => {
  if (head.textContent.trim() || head.querySelector("img, svg")) return;
  const corner = document.createElement("td");
  corner.className = head.className;
  head.replaceWith(corner);
});

// A keyboard must reach what scrolls inside itself, to scroll it.
const reach = () =>
  document.querySelectorAll("article pre, article .table-wrapper, article .math, article .cell_output").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.setAttribute("tabindex", "0");
    else part.removeAttribute("tabindex");
  });
reach();
addEventListener("resize", reach);
addEventListener("load", reach);
