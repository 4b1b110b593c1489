// The language link opens the same page; this keeps the fragment too: the section being read, or the calculator's request.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.ajuste-language");
  if (link) link.hash = location.hash;
});
