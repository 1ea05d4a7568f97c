#!/usr/bin/env python3
"""Tests when `motifctl logs` ends: after the stored events, however the stream ends, and after ten requests in succession that brought nothing.

The script runs a server that sends streams of events.

usage: check_motifctl_logs.py MOTIFCTL"""
import http.server
import json
import subprocess
import sys
import threading

ID = "0" * 26
STATE = {"job": ID, "time": "2026-11-23T00:00:00Z", "state": "running"}
EVENT = f"id: 1\nevent: state\ndata: {json.dumps(STATE)}\n\n".encode()
EMPTY, ONE, NONE, CUT = "an empty stream", "one event", "204", "a stream that breaks off"
# (what the requests get in turn, the last one repeated; options; exit code; events that are printed; most requests)
CASES = (((EMPTY,), [], 0, 0, 1), ((ONE, EMPTY), [], 0, 1, 2), ((ONE, NONE), [], 0, 1, 2), ((ONE, NONE), ["--follow"], 0, 1, 2), ((ONE, NONE), ["--json"], 0, 1, 2),
         ((ONE, CUT), [], 3, 1, 11))


class Server(http.server.BaseHTTPRequestHandler):
    turns, asked, stored = (), [], []

    def do_GET(self):
        if "/events" not in self.path:
            return self.send(200, "application/json", json.dumps({"id": ID, "state": "running"}).encode())
        what = self.turns[min(len(self.asked), len(self.turns) - 1)]
        self.asked.append(self.headers["Last-Event-ID"])
        self.stored.append(self.path.endswith("?stored=1"))
        self.close_connection = True
        if what == NONE:
            return self.send(204, None, b"")
        return self.send(200, "text/event-stream", EVENT if what == ONE else b"", 100 if what == CUT else None)

    def send(self, status, kind, body, length=None):
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(motifctl):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failures = 0
    for turns, words, code, events, most in CASES:
        Server.turns, Server.asked, Server.stored = turns, [], []
        try:
            got = subprocess.run([motifctl, "logs", ID, *words, "--server", f"http://127.0.0.1:{server.server_port}"], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            print(f"not ok logs {' '.join(words)}, {', '.join(turns)}: no end after 60 s and {len(Server.asked)} requests")
            failures += 1
            continue
        printed = got.stdout.count("running")
        told = code == 0 or "no new event of the job" in got.stderr
        continued = all(last == "1" for last in Server.asked[1:])
        right = set(Server.stored) == {"--follow" not in words} and got.returncode == code and printed == events and len(Server.asked) <= most and told and continued
        if "--json" in words:
            right = right and json.loads(got.stdout) == STATE
        failures += not right
        print(f"{'ok' if right else 'not ok'} logs {' '.join(words)}, {', '.join(turns)}: {got.returncode}, {printed} events, {len(Server.asked)} requests"
              + ("" if right else f"\n{got.stdout}{got.stderr}"))
    server.shutdown()
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
