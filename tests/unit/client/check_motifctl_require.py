#!/usr/bin/env python3
"""Tests the exit codes of `motifctl watch` with and without --require, for every state and verdict of a job.

The script runs a server that answers with the job.

usage: check_motifctl_require.py MOTIFCTL"""
import http.server
import json
import subprocess
import sys
import threading

ID = "0" * 26
FINDING = {"code": "not-read", "severity": "error", "text": "No name is read.", "try": "motifctl show JOB"}
# (state, verdict, exit code of watch, exit code of watch --require)
CASES = (("succeeded", "learned", 0, 0), ("succeeded", "partly", 0, 4), ("succeeded", "not-learned", 0, 5), ("failed", None, 1, 1),
         ("cancelled", None, 1, 1))
ANSWER = {}


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path.split("?")[0] == f"/v1/jobs/{ID}"
        body = json.dumps(ANSWER if found else {"title": "Not Found", "status": 404}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json" if found else "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def job(state, verdict):
    result = {"verdict": verdict, "findings": [FINDING] if verdict != "learned" else []} if verdict else None
    return {"id": ID, "name": "j", "kind": "sparling", "state": state, "task": "train", "created_at": "2026-11-23T00:00:00Z", "config": {},
            "progress": {"fraction": 1}, "result": result, "error": {"message": "no"} if state == "failed" else None}


def main(motifctl):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failures = 0
    for state, verdict, plain, required in CASES:
        ANSWER.clear()
        ANSWER.update(job(state, verdict))
        for words, expected in (([], plain), (["--require"], required)):
            got = subprocess.run([motifctl, "watch", ID, *words, "--server", f"http://127.0.0.1:{server.server_port}"], capture_output=True,
                                 text=True, timeout=30)
            right = got.returncode == expected and (verdict is None or verdict in got.stdout)
            failures += not right
            print(f"{'ok' if right else 'not ok'} watch {' '.join(words)} of a job that is {state}, {verdict}: {got.returncode}"
                  + ("" if right else f"\n{got.stdout}{got.stderr}"))
    server.shutdown()
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
