"""How often the ranges were right: the share of published runs that fall inside, for the captions under the numbers.

    python calculator/web/coverage.py build

Reads build/app/catalog.json and data/measurements/, writes build/coverage.json. Memory: every run's allocated or
reserved bytes, every source weighed alike and judged by ranges that have not seen it; beside it, how many of the runs
that do not say what they measured with. Time: tokens per second of the judged runs.
Nobody publishes the bill beside the run: it is time by price, and says so.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def memory(catalog_path: Path) -> dict[str, float]:
    """Share of the measured memory that lies inside, and of how many values; then of the runs that name no tool."""
    from ajuste import load_catalog
    from pipeline import accuracy

    catalog = load_catalog(catalog_path.read_text(encoding="utf-8"))
    points = accuracy.measure(ROOT / "data" / "measurements", catalog).points
    found = accuracy.figures(accuracy.held_out([p for p in points if p.kind != "unknown"]), by_source=True)
    unstated = accuracy.figures([p for p in points if p.kind == "unknown"])
    return {
        "share": round(found.coverage, 3),
        "runs": found.rows,
        "unstated_share": round(unstated.coverage, 3),
        "unstated_runs": unstated.rows,
    }


def time() -> dict[str, float]:
    """Share of the measured tokens per second that lies inside, and of how many runs."""
    from ajuste.constants import ASSUMPTIONS, MID
    from pipeline import fit_throughput as fit

    inside = []
    for run in fit.read_runs():
        if fit.is_judged(run.row):
            band = ASSUMPTIONS[f"throughput-residual-{fit.residual_class(run.row)}"]
            inside.append(band.low <= run.measured / fit.predict(run, MID) <= band.high)
    return {"share": round(sum(inside) / len(inside), 3), "runs": len(inside)}


def main(build: Path) -> int:
    """Measure both and write them."""
    known = {"memory": memory(build / "app" / "catalog.json"), "time": time()}
    (build / "coverage.json").write_text(json.dumps(known), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "calculator"))
    sys.exit(main(Path(sys.argv[1])))
