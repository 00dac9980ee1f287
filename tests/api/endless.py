"""A process that answers any question about the past without end, until nobody waits any more."""

from __future__ import annotations

import json
import os
import sys
from threading import Thread

PIECE = b"x" * 65536


def main() -> None:
    """Answer."""
    sys.stdin.buffer.readline()
    Thread(target=_watch, daemon=True).start()
    head = {"status": 200, "media": "application/octet-stream", "size": 10**12, "about": {}}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    while True:
        sys.stdout.buffer.write(PIECE)


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
