"""Logs a JSON line per request through Python's logging; filters can use every field: jsonPayload.path="/slow"."""

import json
import logging
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, including the fields in `extra={"fields": {...}}`."""

    def format(self, record):
        line = {"severity": record.levelname, "message": record.getMessage(), "logger": record.name}
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            # Keeps the traceback in one entry. Otherwise, each of its lines would be a separate entry.
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


# logging writes to standard error, where a line without a severity counts as an ERROR.
handler = logging.StreamHandler()
handler.setFormatter(JsonLines())
logging.basicConfig(level=logging.INFO, handlers=[handler])
log = logging.getLogger("shop")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        begun = time.monotonic()
        log.info("a request came", extra={"fields": {"path": self.path}})
        status, body = 200, b"hello\n"
        try:
            if self.path == "/slow":
                time.sleep(1.2)
            if self.path == "/stock":
                {"apples": 3}["pears"]
        except KeyError:
            log.exception("no such fruit", extra={"fields": {"path": self.path}})
            status, body = 500, b"that did not work\n"
        seconds = round(time.monotonic() - begun, 3)
        if seconds > 1:
            log.warning("this one was slow", extra={"fields": {"path": self.path, "seconds": seconds}})
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """The platform logs every request itself."""


ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
