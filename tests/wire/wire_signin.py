#!/usr/bin/env python3
"""People whom an issuer of OpenID Connect or a proxy signs in: who they are, what they may do, which tokens and headers are refused, how often the daemon
asks the issuer, and what the audit log says.

usage: wire_signin.py MOTIFD"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402
from issuer import Issuer, Key, b64  # noqa: E402

MOTIFD = os.path.abspath(sys.argv[1])
ROLES = "--oidc-role-claim", "roles", "--signin-roles", "chief=admin,lab=member,*=reader"


def start(folder, issuer, *options, name="signin.db"):
    return Daemon(MOTIFD, os.path.join(folder, name), "--data", os.path.join(folder, "data"), "--oidc-issuer", issuer.url, "--oidc-audience", "motif,other",
                  "--oidc-team-claim", "groups", "--oidc-refetch-seconds", "2", *ROLES, *options)


def ask(daemon, token, method="GET", path="/v1/usage", body=None):
    status, _, answer = daemon.ask(method, path, body, headers={"Authorization": f"Bearer {token}"} if token else {})
    return status, answer


def until(daemon, token, wanted=200):
    """Asks until the daemon knows the key of a token."""
    for _ in range(100):
        status, answer = ask(daemon, token)
        if status == wanted:
            return answer
        time.sleep(0.1)
    raise AssertionError((status, answer))


def people_have_names_teams_and_roles(folder, issuer, keys):
    with start(folder, issuer) as daemon:
        usage = until(daemon, keys[0].sign(issuer.claims(groups=["proteins"], roles=["lab"])))
        assert (usage["owner"], usage["team"], usage["role"]) == ("oidc:ann", "proteins", "member"), usage
        assert ask(daemon, keys[1].sign(issuer.claims(sub="bob", aud=["other", "x"], groups="imaging")))[1]["role"] == "reader"
        assert ask(daemon, None)[0] == 401  # a daemon with an issuer requires a sign-in on loopback, too
        ann, colleague = keys[0].sign(issuer.claims(groups=["proteins"], roles=["lab"])), keys[0].sign(issuer.claims(sub="eva", groups=["proteins"]))
        bob = keys[0].sign(issuer.claims(sub="bob", groups=["imaging"], roles=["lab"]))
        status, job = ask(daemon, ann, "POST", "/v1/jobs", {"kind": "sparling", "config": {**TINY, "total_samples": 40}})
        assert status == 201 and (job["owner"], job["team"]) == ("oidc:ann", "proteins"), job
        path = f"/v1/jobs/{job['id']}"
        assert [ask(daemon, who, path=path)[0] for who in (ann, colleague, bob)] == [200, 200, 404]
        assert ask(daemon, colleague, "DELETE", path)[0] == 403
        chief = keys[0].sign(issuer.claims(sub="zoe", roles=["lab", "chief"]))
        assert ask(daemon, chief, path=path)[0] == 200
        entries = ask(daemon, chief, path="/v1/audit")[1]["changes"]
        assert any(entry["who"] == "oidc:ann" and entry["method"] == "POST" and entry["status"] == 201 for entry in entries), entries
        got = subprocess.run([MOTIFD, "token", "create", "oidc:ann", "--db", os.path.join(folder, "signin.db")], stderr=subprocess.PIPE, text=True)
        assert got.returncode == 2 and "must not begin with oidc:" in got.stderr, got
        # tokens of the database work beside those of the issuer
        got = subprocess.run([MOTIFD, "token", "create", "ci", "--db", os.path.join(folder, "signin.db")], stdout=subprocess.PIPE, text=True, check=True)
        assert ask(daemon, got.stdout.strip())[1]["owner"] == "ci"


def forged_tokens_are_refused(folder, issuer, keys):
    thief = Key(folder, "thief")
    good, now = issuer.claims(roles=["chief"]), int(time.time())
    with start(folder, issuer) as daemon:
        until(daemon, keys[0].sign(good))
        public = b64(str(keys[1].public))
        cases = [(b64('{"alg":"none"}') + "." + keys[0].sign(good).split(".")[1] + ".", "algorithm"),
                 (b64('{"alg":"HS256","kid":"rsa"}') + "." + keys[0].sign(good).split(".")[1] + "." + public[:43], "algorithm"),
                 (thief.sign(good, kid="ec"), "signature"), (keys[0].sign({**good, "aud": "else"}), "another service"),
                 (keys[0].sign({**good, "iss": "https://evil.example.org"}), "another issuer"), (keys[0].sign({**good, "exp": now - 61}), "expired"),
                 (keys[0].sign({**good, "nbf": now + 90}), "not valid yet"), (keys[0].sign(good, crit=["x"]), "no signed JSON Web Token"),
                 (keys[0].sign({**good, "sub": "x" * 60}), "too long"), (keys[0].sign(good)[:-4] + "AAAA", "signature"),
                 ("a." + "b" * 7000 + ".c", "no signed"), ("." * 3, "no signed")]
        for token, says in cases:
            status, answer = ask(daemon, token)
            assert status == 401 and says in answer["detail"], (token[:60], status, answer)
        assert ask(daemon, "a." + "b" * 9000 + ".c")[0] == 401
        assert ask(daemon, keys[0].sign({**good, "exp": now - 30}))[0] == 200  # within the skew


def unknown_keys_are_fetched_seldom(folder, issuer, keys):
    with start(folder, issuer) as daemon:
        until(daemon, keys[0].sign(issuer.claims()))
        issuer.asked.clear()
        begun, head = time.monotonic(), keys[0].sign(issuer.claims(), kid="no-such-key")
        while time.monotonic() - begun < 5:
            assert ask(daemon, head)[0] == 401
        most = 2 + int((time.monotonic() - begun) / 2)
        assert 1 <= issuer.asked.get("/realm/keys", 0) <= most, (issuer.asked, most)
        # the issuer changes its keys: the next token makes the daemon fetch them, and a key that is gone is refused
        new = Key(folder, "new")
        issuer.keys, old = [new], keys[0].sign(issuer.claims())
        until(daemon, new.sign(issuer.claims()))
        assert ask(daemon, old)[0] == 401
        issuer.keys = list(keys)


def an_issuer_that_is_down_stops_nobody_else(folder, issuer, keys):
    other = Issuer(*keys)
    token = keys[0].sign(other.claims())
    other.close()
    with start(folder, other, name="down.db") as daemon:
        got = subprocess.run([MOTIFD, "token", "create", "ci", "--db", os.path.join(folder, "down.db")], stdout=subprocess.PIPE, text=True, check=True)
        assert ask(daemon, got.stdout.strip())[0] == 200
        status, answer = ask(daemon, token)
        assert status == 401 and "did not publish" in answer["detail"], answer


def only_a_listed_proxy_names_people(folder, issuer, keys):
    names = "--proxy-user-header", "X-User", "--proxy-team-header", "X-Groups", "--proxy-role-header", "X-Groups", "--signin-roles", "lab-admins=admin,*=member"
    headers = {"X-User": "ann", "X-Groups": "proteins,lab-admins"}
    with Daemon(MOTIFD, os.path.join(folder, "proxy.db"), "--trusted-proxy", "::1, 127.0.0.1", *names) as daemon:
        status, _, usage = daemon.ask("GET", "/v1/usage", headers=headers)
        assert status == 200 and (usage["owner"], usage["team"], usage["role"]) == ("proxy:ann", "proteins", "admin"), usage
        assert daemon.ask("GET", "/v1/usage", headers={"X-User": "bob"})[2]["role"] == "member"
        assert daemon.ask("GET", "/v1/usage")[0] == 401
        assert daemon.ask("GET", "/v1/usage", headers={"X-User": "x" * 60})[0] == 401
        assert daemon.ask("GET", "/v1/usage", headers={**headers, "Authorization": "Bearer motif_wrong"})[0] == 401  # a token is not replaced by a header
        for twice in ("X-User: ann\r\nX-User: eva", "X-User: ann\r\nx-user: ann"):
            with socket.create_connection(("127.0.0.1", daemon.port)) as line:
                line.sendall(f"GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{twice}\r\n\r\n".encode())
                assert line.makefile("rb").readline().split()[1] == b"401", twice
    with Daemon(MOTIFD, os.path.join(folder, "proxy.db"), "--trusted-proxy", "192.0.2.1", *names) as daemon:
        for more in ({}, {"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}, {"X-Real-IP": "192.0.2.1"}):
            assert daemon.ask("GET", "/v1/usage", headers={**headers, **more})[0] == 401, more


def sign_ins_and_refusals_are_recorded(folder, issuer, keys):
    path = os.path.join(folder, "audit.log")
    with start(folder, issuer, "--audit-log", path, name="audit.db") as daemon:
        chief = keys[0].sign(issuer.claims(sub="zoe", roles=["chief"]))
        until(daemon, chief)
        with open(path, encoding="utf-8") as file:
            before = len(file.readlines())
        for _ in range(50):
            assert ask(daemon, "motif_wrong")[0] == 401
            assert ask(daemon, chief)[0] == 200
        reader = keys[0].sign(issuer.claims(sub="eva"))
        assert ask(daemon, reader, "POST", "/v1/jobs", {"kind": "sparling"})[0] == 403
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file.readlines()]
        assert len(lines) <= before + 4, lines  # 50 refusals count as one
        seen = {(line["who"], line["method"], line["status"]) for line in lines}
        assert {("oidc:zoe", "sign-in", 200), ("", "GET", 401), ("oidc:eva", "sign-in", 200), ("oidc:eva", "POST", 403)} <= seen, seen
        for _ in range(100):  # the database gets the entries within a second
            stored = {(line["who"], line["method"], line["status"]) for line in ask(daemon, chief, path="/v1/audit")[1]["changes"]}
            if seen <= stored:
                break
            time.sleep(0.1)
        assert seen <= stored, (seen, stored)
        assert os.stat(path).st_mode & 0o777 == 0o600
        os.rename(path, path + ".1")  # as logrotate does
        assert ask(daemon, chief, "DELETE", "/v1/datasets/none")[0] == 404
        with open(path, encoding="utf-8") as file:
            assert json.loads(file.readline())["target"] == "/v1/datasets/none"
    got = subprocess.run([MOTIFD, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(folder, "no.db"), "--audit-log", "/no/such/folder/x"],
                         stderr=subprocess.PIPE, text=True, timeout=60)
    assert got.returncode == 1 and "--audit-log" in got.stderr, got


def wrong_settings_are_refused(folder, issuer, keys):
    for options, says in (((), "--oidc-audience or --oidc-client"), (("--oidc-audience", "a", "--oidc-algorithms", "HS256"), "RS256"),
                          (("--oidc-audience", "a", "--signin-roles", "x=king"), "VALUE=ROLE"), (("--oidc-audience", "a", "--signin-teams", "x=A"), "VALUE=TEAM"),
                          (("--oidc-audience", "a", "--oidc-issuer", "http://id.example.org"), "https://"),
                          (("--oidc-audience", "a", "--oidc-issuer", "ftp://id.example.org"), "http"), (("--trusted-proxy", "proxy.example.org"), "numeric")):
        command = [MOTIFD, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(folder, "wrong.db"), "--oidc-issuer", issuer.url, *options]
        got = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        assert got.returncode == 2 and says in got.stderr, (options, got)


def main():
    with tempfile.TemporaryDirectory() as folder:
        keys = Key(folder, "ec"), Key(folder, "rsa", "RS256")
        issuer = Issuer(*keys)
        run_each((folder, issuer, keys), people_have_names_teams_and_roles, forged_tokens_are_refused, unknown_keys_are_fetched_seldom,
                 an_issuer_that_is_down_stops_nobody_else, only_a_listed_proxy_names_people, sign_ins_and_refusals_are_recorded, wrong_settings_are_refused)
        issuer.close()


main()
