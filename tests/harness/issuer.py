"""An issuer of OpenID Connect for a test, on loopback: its configuration, its keys, and tokens that it signs with openssl."""
import base64
import http.server
import json
import os
import subprocess
import threading
import time


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).rstrip(b"=").decode()


def openssl(*words, given=None):
    return subprocess.run(["openssl", *words], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout


def raw_signature(der):
    """The two numbers of an ECDSA signature of P-256, 32 bytes each."""
    at, numbers = 2, b""
    for _ in range(2):
        length = der[at + 1]
        numbers += der[at + 2:at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + length
    return numbers


class Key:
    def __init__(self, folder, name, kind="ES256"):
        self.name, self.kind, self.file = name, kind, os.path.join(folder, name + ".pem")
        if kind == "RS256":
            openssl("genrsa", "-out", self.file, "2048")
            modulus = bytes.fromhex(openssl("rsa", "-in", self.file, "-noout", "-modulus").decode().strip().split("=")[1])
            self.public = {"kty": "RSA", "kid": name, "use": "sig", "n": b64(modulus), "e": "AQAB"}
        else:
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.file)
            point = openssl("ec", "-in", self.file, "-pubout", "-outform", "DER")[-64:]
            self.public = {"kty": "EC", "crv": "P-256", "kid": name, "use": "sig", "x": b64(point[:32]), "y": b64(point[32:])}

    def sign(self, claims, **header):
        text = b64(json.dumps({"alg": self.kind, "kid": self.name, "typ": "JWT", **header})) + "." + b64(json.dumps(claims))
        signature = openssl("dgst", "-sha256", "-sign", self.file, given=text.encode())
        return text + "." + b64(raw_signature(signature) if self.kind == "ES256" else signature)


class Issuer:
    """Serves a configuration and the public halves of `keys`, which a test may change, and counts the requests."""

    def __init__(self, *keys):
        self.keys, self.asked, issuer = list(keys), {}, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked[self.path] = issuer.asked.get(self.path, 0) + 1
                body = issuer.answer(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path == "/realm/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": self.url + "/keys"}
        return {"keys": [key.public for key in self.keys]} if path == "/realm/keys" else None

    def claims(self, **changes):
        now = int(time.time())
        return {"iss": self.url, "aud": "motif", "sub": "ann", "iat": now, "exp": now + 300, **changes}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
