"""Where a worker begins."""

from __future__ import annotations

import sys

from clearway.sdk.worker.worker import main

if __name__ == "__main__":
    sys.exit(main())
