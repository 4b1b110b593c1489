"""Answers the commonest questions when the site is built: every model of the catalog, each usual method, its defaults.

    python calculator/web/presets.py build

Reads build/app/catalog.json, writes build/app/presets/<model>.<method>.json. The page asks for one when its model or
method is chosen, so that numbers come before Python does, and where Python never comes.
"""

import json
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

METHODS = ("qlora", "lora", "full")
SHOWN_OFFERS = 10  # as many as the page shows unfolded


def write(catalog_path: Path, models: list[str], target: Path) -> None:
    """Answer some models by every usual method; one that a model cannot be trained with is left out."""
    from ajuste import estimate, load_catalog

    catalog = load_catalog(catalog_path.read_text(encoding="utf-8"))
    for model in models:
        for method in METHODS:
            answer = estimate({"model": model, "method": method, "filters": {"limit": SHOWN_OFFERS}}, catalog)
            if answer["ok"]:
                answer["plan"]["defaults"]["filters.limit"] = "general"  # asked here, not by the reader
                text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
                (target / f"{model}.{method}.json").write_text(text, encoding="utf-8")


def main(build: Path) -> int:
    """Answer every model of the catalog, on all cores."""
    catalog_path, target = build / "app" / "catalog.json", build / "app" / "presets"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    models = [row["id"] for row in json.loads(catalog_path.read_text(encoding="utf-8"))["models"]]
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers) as pool:
        shares = [pool.submit(write, catalog_path, models[n :: 4 * workers], target) for n in range(4 * workers)]
        for share in shares:
            share.result()
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main(Path(sys.argv[1])))
