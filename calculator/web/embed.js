// Wakes the small calculators of a guide's page at the first touch; before that the page loads nothing more than this.

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".aj-embed"))) {
  const wake = () => {
    for (const event of ["focusin", "pointerdown"]) root.removeEventListener(event, wake);
    import("./embedded.js").then(({ upgrade }) => upgrade(root));
  };
  for (const event of ["focusin", "pointerdown"]) root.addEventListener(event, wake, { passive: true });
  root.addEventListener("submit", (event) => event.preventDefault());
}
