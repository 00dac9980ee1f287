"""Where a worker begins; with two descriptors, a process that runs calls beside it."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:]:
        from clearway.sdk.worker.beside import serve

        sys.exit(serve(*map(int, sys.argv[1:3])))
    from clearway.sdk.worker.worker import main

    sys.exit(main())
