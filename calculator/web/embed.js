// Wakes the small calculators of a guide's page at the first touch; before that the page loads nothing more than this.

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".aj-embed"))) {
  /** @type {Promise<any> | undefined} */
  let alive;
  const wake = () => (alive ??= import("./embedded.js").then(({ upgrade }) => upgrade(root)));
  for (const event of ["focusin", "pointerdown"]) root.addEventListener(event, wake, { passive: true });
  root.addEventListener("submit", (event) => event.preventDefault());
  root.addEventListener("click", async (event) => {
    if (event.target instanceof Element && event.target.closest("[data-paste]")) (await wake()).read("oom");
  });
}
