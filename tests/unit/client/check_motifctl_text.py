#!/usr/bin/env python3
"""Tests that no control character of a server's text reaches the terminal, because motifctl prints escapes for them.

The script runs a server. It answers every request with documents in which names, labels, errors and member names contain terminal escapes.

usage: check_motifctl_text.py MOTIFCTL"""
import http.server
import json
import re
import subprocess
import sys
import threading

EVIL = "n\x1b[31mA\x07\x9b31mB\u202eC\x7f"
SHOWN = "n\\x1b[31mA\\x07\\x9b31mB\\u202eC\\x7f"
ID = "0" * 26
JOB = {"id": ID, "name": EVIL, "kind": EVIL, "preset": EVIL, "state": "failed", "task": "train", "created_at": EVIL, "executor": EVIL,
       "error": {"message": EVIL, EVIL: EVIL}, "config": {EVIL: EVIL}, "progress": {"fraction": 0.5, "stage": EVIL},
       "result": {EVIL: EVIL, "confusion": {"symbols": [EVIL], "counts": [[1, 2]]}}}
ANSWERS = {
    "/v1/jobs": {"jobs": [JOB], "next_cursor": None},
    f"/v1/jobs/{ID}": JOB,
    f"/v1/jobs/{ID}/checkpoints": {"checkpoints": [{"seq": 1, "step": 1, "state": EVIL, "reason": EVIL, "bytes": 1, "sha256": EVIL}]},
    f"/v1/jobs/{ID}/artifacts": {"artifacts": [{"name": EVIL, "bytes": 1, "media_type": EVIL}]},
    f"/v1/jobs/{ID}/attestation": {"chain": EVIL, EVIL: EVIL, "checkpoints": [{"seq": 1, "step": 1, "kept": EVIL, "sha256": EVIL}]},
    f"/v1/jobs/{ID}/metrics": {"series": [{"name": EVIL, "points": [[1, 2]]}]},
    "/v1/datasets": {"datasets": [{"name": EVIL, "sha256": EVIL, "shape": {}, "vocabulary": [EVIL], "target": EVIL}]},
    "/v1/datasets/evil": {"name": EVIL, "sha256": EVIL, "shape": {}, "vocabulary": [EVIL], "target": EVIL},
    "/v1/kinds": {"kinds": [{"kind": EVIL, "title": EVIL, "summary": EVIL, "presets": [{"name": EVIL, "summary": EVIL}]}]},
    "/v1/system": {"version": EVIL, EVIL: EVIL, "cpu": {"model": EVIL}},
}
COMMANDS = (["list"], ["show", ID], ["checkpoints", ID], ["artifacts", ID], ["attestation", ID], ["metrics", ID], ["datasets", "list"],
            ["datasets", "show", "evil"], ["kinds"], ["system"], ["watch", ID], ["cancel", ID], ["submit", "--kind", "x"], ["evaluate", ID],
            ["motifs", ID], ["compare", ID, ID], ["channels", ID])


class Server(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        document = ANSWERS.get(self.path.split("?")[0]) if self.command == "GET" else None
        status = 200 if document else 422
        document = document or {"title": EVIL, "detail": EVIL, "errors": [{"pointer": EVIL, "detail": EVIL}]}
        body = json.dumps(document, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


def main(motifctl):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failures, shown = 0, 0
    for command in COMMANDS:
        for form in ([], ["--json"]):
            words = [motifctl, *command, *form, "--server", f"http://127.0.0.1:{server.server_port}"]
            got = subprocess.run(words, capture_output=True, timeout=30)
            text = (got.stdout + got.stderr).decode(errors="surrogateescape")
            bad = re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\udc80-\udcff]", text)
            shown += SHOWN in text
            if bad or got.returncode < 0:
                failures += 1
                print(f"not ok {' '.join(command + form)}: code {got.returncode}, {text[:400]!r}")
    print(f"{failures} commands sent control characters; {shown} answers contain the escaped text")
    assert shown >= len(COMMANDS) - 4
    server.shutdown()
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
