// What the theme leaves out for keyboards and screen readers.
const label = (part, name) => document.querySelector(part)?.setAttribute("aria-label", name);
label(".sidebar-drawer", "Pages");
label(".toc-drawer", "On this page");
document.querySelectorAll(".caption[role=heading]").forEach((part) => part.setAttribute("aria-level", "2"));

// A keyboard must reach what scrolls inside itself, to scroll it.
const reach = () =>
  document.querySelectorAll("article pre, article .table-wrapper, article .math").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.setAttribute("tabindex", "0");
    else part.removeAttribute("tabindex");
  });
reach();
addEventListener("resize", reach);
addEventListener("load", reach);
