"""`python -m ajuste`: the same as `ajuste`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
