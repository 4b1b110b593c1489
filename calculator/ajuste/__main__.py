"""The estimator on the command line: a request in, an answer out, both JSON.

python -m ajuste '{"model": "llama-3.1-8b", "method": "qlora"}' --catalog build/app/catalog.json
python -m ajuste - < request.json
"""

import argparse
import json
import sys
from pathlib import Path

from . import __version__, estimate_json, load_catalog
from .errors import RequestError


def main() -> int:
    """Read the request, print the answer; 1 when it is an error."""
    parser = argparse.ArgumentParser(prog="python -m ajuste", description=__doc__.splitlines()[0])
    parser.add_argument("request", help="the request as JSON, a file that holds it, or - for standard input")
    parser.add_argument("--catalog", type=Path, help="catalog.json of a build; without it memory only, no prices")
    parser.add_argument("--version", action="version", version=__version__)
    options = parser.parse_args()
    text = options.request
    if text == "-":
        text = sys.stdin.read()
    elif not text.lstrip().startswith("{"):
        text = Path(text).read_text(encoding="utf-8")
    try:
        catalog = load_catalog(options.catalog.read_text(encoding="utf-8") if options.catalog else "{}")
    except RequestError as error:
        print(error.message["en"], file=sys.stderr)
        return 2
    answer = json.loads(estimate_json(text, catalog))
    print(json.dumps(answer, ensure_ascii=False, indent=1))
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
