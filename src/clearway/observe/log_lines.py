"""The log as JSON lines: one object a line, with fields in place of sentences where there are fields."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

FIELDS = "clearway_fields"
"""The name under which a log call hands over fields: `LOG.info("..", extra={FIELDS: {"job": 5}})`."""


class JsonLines(logging.Formatter):
    """`time`, `level`, `logger`, `message`, and the fields of the call: `job`, `attempt`, `cycle`, .."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; what breaks lines is escaped in it."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)
