// Tables that say so can be sorted by a click on a heading; without this script they read as they were written.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const written = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      // Up, down, and back to the order in which the table was written.
      const next = { ascending: "descending", descending: "" }[heading.getAttribute("aria-sort")] ?? "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      if (next) heading.setAttribute("aria-sort", next);
      body.append(...(next ? sorted(written, column, next === "descending" ? -1 : 1) : written));
    });
  });
}

// What is unknown stays last, whichever way the rest goes.
function sorted(rows, column, way) {
  const values = new Map(rows.map((row) => [row, value(row.cells[column])]));
  return rows.toSorted((one, two) => {
    const [a, b] = [values.get(one), values.get(two)];
    if (a === "" || b === "") return (a === "") - (b === "");
    return way * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}

function value(cell) {
  const written = cell.dataset.sort ?? (cell.querySelector(".unknown") ? "" : cell.textContent.trim());
  return written !== "" && Number.isFinite(Number(written)) ? Number(written) : written;
}
