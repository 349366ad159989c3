"""The log lines of `headwater up` and its child processes, as text or JSON."""

import json
import logging
import sys
from datetime import UTC, datetime

from headwater.common.standard_output import print_line
from headwater.operations.settings import Settings


def configure_logging(settings: Settings, process: str) -> None:
    """Write the log lines of a child process to standard error, in the format and from the level of the settings."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = settings.log_format == "json"
    handler.setFormatter(_JsonFormatter(process) if is_json else logging.Formatter(f"{process}: %(message)s"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])


def write_line(settings: Settings, message: str) -> None:
    """Write a line of the supervisor to standard output. Ignores a closed pipe or a full disk."""
    is_json, now = settings.log_format == "json", datetime.now(UTC)
    members = {"level": "info", "process": "up", "logger": "headwater", "message": message}
    print_line(_json_line(now, **members) if is_json else message)


def _json_line(time: datetime, **members: str) -> str:
    """Return a log line as a JSON object with `time` in ISO 8601."""
    text = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": text, **members}, ensure_ascii=False)


class _JsonFormatter(logging.Formatter):
    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line: `time`, `level`, `process`, `logger`, `message`, and `traceback` of an error."""
        traceback = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return _json_line(
            datetime.fromtimestamp(record.created, UTC), level=record.levelname.lower(), process=self._process,
            logger=record.name, message=record.getMessage(), **traceback,
        )  # fmt: skip
