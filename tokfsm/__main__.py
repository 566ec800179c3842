"""``python -m tokfsm``: the command line."""

import sys

from tokfsm.cli import main

if __name__ == "__main__":
    sys.exit(main())
