"""``python -m costlab`` equals ``costlab``."""

import sys

from costlab.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
