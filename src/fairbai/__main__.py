"""``python -m fairbai``: the same as the command ``fairbai``."""

import sys

from fairbai.cli import main

if __name__ == "__main__":
    sys.exit(main())
