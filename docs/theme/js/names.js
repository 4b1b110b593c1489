// Names for landmarks that the theme leaves without one: a section whose index page is its link, and every code block's
// buttons. Screen readers list landmarks by name; nameless ones cannot be told apart.
const name = () => {
  for (const nav of document.querySelectorAll("nav.md-nav[aria-labelledby]:not([aria-label])")) {
    const label = document.getElementById(nav.getAttribute("aria-labelledby"));
    if (label && !label.textContent.trim()) nav.setAttribute("aria-label", label.parentElement.textContent.trim());
  }
  document.querySelectorAll("nav.md-code__nav").forEach((nav, place) => {
    nav.setAttribute("aria-label", `${nav.querySelector("button")?.title ?? "Code"} ${place + 1}`);
  });
};

name();
// The theme adds the buttons later, and only where there is code.
for (const code of document.querySelectorAll(".highlight")) new MutationObserver(name).observe(code, { childList: true, subtree: true });
