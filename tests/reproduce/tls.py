#!/usr/bin/env python3
"""Tests what OpenSSL's client can negotiate with a daemon: protocol versions, cipher suites, and a renegotiation.

usage: tls.py MOTIFD        prints one line for each attempt; exit code 1 if an attempt with weak cryptography succeeds or one with strong cryptography fails"""
import os
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness")]
from daemon import Daemon  # noqa: E402

WEAK = ["eNULL", "aNULL", "kRSA", "AES128-SHA256", "ECDHE-ECDSA-AES128-SHA"]
STRONG = ["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"]


def client(port, *options, text=b""):
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        if text:
            process.stdin.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            process.stdin.flush()
            time.sleep(1)
        try:
            out, _ = process.communicate(text, timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
    return out.decode(errors="replace")


def connects(port, *options):
    return "Cipher is (NONE)" not in (out := client(port, *options)) and "Cipher is " in out


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        os.chmod(key, 0o600)
        with Daemon(sys.argv[1], os.path.join(folder, "db"), "--tls-cert", certificate, "--tls-key", key) as daemon:
            cases = [((version, "-cipher", "ALL:@SECLEVEL=0"), wanted)
                     for version, wanted in (("-tls1", False), ("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True))]
            cases += [(("-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0"), False) for cipher in WEAK]
            cases += [(("-tls1_2", "-cipher", cipher), True) for cipher in STRONG]
            for options, wanted in cases:
                got = connects(daemon.port, *options)
                wrong += got != wanted
                print(f"{options[0]} {options[-1]}: {'connects' if got else 'refused'}{'' if got == wanted else ' (WRONG)'}")
            # The daemon must refuse renegotiations, because each would cost it a handshake on an open connection.
            many = client(daemon.port, "-tls1_2", text=b"R\n").split("RENEGOTIATING")
            renewed = len(many) > 1 and "verify return" in many[1]
            wrong += renewed
            print(f"renegotiation: {'accepted (WRONG)' if renewed else 'refused'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
