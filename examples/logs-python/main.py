"""Logs a JSON line a request through Python's logging; every field of it can be filtered: jsonPayload.path="/slow"."""

import json
import logging
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JsonLines(logging.Formatter):
    """A record as one line of JSON, with the fields that were given in `extra={"fields": {...}}`."""

    def format(self, record):
        line = {"severity": record.levelname, "message": record.getMessage(), "logger": record.name}
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


handler = logging.StreamHandler()
handler.setFormatter(JsonLines())
logging.basicConfig(level=logging.INFO, handlers=[handler])
log = logging.getLogger("shop")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        log.info("a request came", extra={"fields": {"path": self.path}})
        if self.path == "/slow":
            log.warning("this one was slow", extra={"fields": {"path": self.path, "seconds": 1.5}})
        body = b"hello\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """The platform logs every request itself."""


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
