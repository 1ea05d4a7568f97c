#!/usr/bin/env python3
"""Signs in through the daemon at a certified provider of OpenID Connect (oidc-provider from npm), as a browser does: redirections, forms and cookies. Skipped
(77) if the npm registry does not answer.

usage: wire_oidc.py MOTIFD MODULES

MODULES is a folder for the provider's packages, which the test fetches once."""
import html
import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from daemon import Daemon, run_each  # noqa: E402

MOTIFD, MODULES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
FILES = os.path.join(HERE, "oidc")


def fetch_modules():
    lock = os.path.join(FILES, "package-lock.json")
    with open(lock, "rb") as file:
        wanted = file.read()
    done = os.path.join(MODULES, "fetched")
    if os.path.exists(done):
        with open(done, "rb") as file:
            if file.read() == wanted:
                return True
    os.makedirs(MODULES, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(FILES, name), MODULES)
    store = "/etc/ssl/certs/ca-certificates.crt"
    environment = {**os.environ, **({"NODE_EXTRA_CA_CERTS": store} if os.path.exists(store) else {})}
    try:
        got = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1"], cwd=MODULES, env=environment, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if got.returncode == 0:
        shutil.copy(lock, done)
    return got.returncode == 0


class Browser:
    """Follows redirections, keeps cookies and submits forms."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def ask(self, method, url, data=None, headers=None):
        request = urllib.request.Request(url, data, headers or {}, method=method)
        try:
            answer = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.geturl(), answer.read().decode()

    def sign_in(self, url, name):
        """Begins at the daemon and fills the provider's forms. Returns where it ends."""
        status, at, page = self.ask("GET", url + "/v1/sign-in")
        for _ in range(4):
            form = re.search(r'<form[^>]*action="([^"]+)"(.*?)</form>', page, re.S)
            if not form:
                break
            fields = {key: html.unescape(value) for key, value in re.findall(r'name="(\w+)" value="([^"]*)"', form[2])}
            if 'name="login"' in form[2]:
                fields.update(login=name, password="any")
            status, at, page = self.ask("POST", urllib.parse.urljoin(at, html.unescape(form[1])), urllib.parse.urlencode(fields).encode())
        return status, at, page

    def session(self, url):
        return json.loads(self.ask("GET", url + "/v1/session")[2])


class NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def step(url, cookie=None):
    """One request without redirections. Returns the status, Location and Set-Cookie."""
    opener = urllib.request.build_opener(NoRedirection())
    try:
        answer = opener.open(urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {}), timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers.get("Location", ""), answer.headers.get("Set-Cookie", "")


def people_sign_in_and_out(daemon):
    zoe = Browser()
    for _ in range(100):  # until the daemon knows the issuer
        if step(daemon.url + "/v1/sign-in")[0] == 303:
            break
        time.sleep(0.1)
    assert zoe.session(daemon.url) == {"sign_in": True, "name": None, "team": None, "role": None}
    assert zoe.ask("GET", daemon.url + "/v1/jobs")[0] == 401
    status, at, page = zoe.sign_in(daemon.url, "zoe")
    assert (status, at) == (200, daemon.url + "/"), (status, at, page[:300])
    assert zoe.session(daemon.url) == {"sign_in": True, "name": "oidc:zoe", "team": "proteins", "role": "admin"}, zoe.session(daemon.url)
    assert zoe.ask("GET", daemon.url + "/v1/jobs")[0] == 200
    cookie = next(c for c in zoe.jar if c.name == "motif_session")
    assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "Lax" and not cookie.secure, cookie
    job, kind = json.dumps({"kind": "sparling"}).encode(), {"Content-Type": "application/json"}
    own = {"Origin": daemon.url, "X-Motif": "1"}
    for headers, wanted in (({}, 401), ({"Origin": daemon.url}, 401), ({"X-Motif": "1"}, 401), ({**own, "Origin": "https://evil.example.org"}, 403),
                            ({**own, "Origin": "null"}, 403), (own, 200)):
        status, _, text = zoe.ask("POST", daemon.url + "/v1/jobs?dry_run=1", job, {**kind, **headers})
        assert status == wanted, (headers, status, text)
    ann = Browser()
    ann.sign_in(daemon.url, "ann")
    assert ann.session(daemon.url)["role"] == "member"
    assert ann.ask("GET", daemon.url + "/v1/audit")[0] == 403
    for _ in range(100):  # the database gets the entries within a second
        seen = {(entry["who"], entry["method"], entry["status"]) for entry in json.loads(zoe.ask("GET", daemon.url + "/v1/audit")[2])["changes"]}
        wanted = {("oidc:zoe", "sign-in", 303), ("oidc:ann", "sign-in", 303), ("", "GET", 401)}
        if wanted <= seen:
            break
        time.sleep(0.1)
    assert wanted <= seen, seen
    assert zoe.ask("POST", daemon.url + "/v1/sign-out", b"", own)[0] == 204
    assert zoe.ask("GET", daemon.url + "/v1/jobs")[0] == 401
    assert ann.ask("GET", daemon.url + "/v1/jobs")[0] == 200
    # a stolen cookie is of no use after the sign-out
    assert step(daemon.url + "/v1/jobs", f"motif_session={cookie.value}")[0] == 401


def an_answer_counts_only_in_its_browser(daemon):
    status, location, pending = step(daemon.url + "/v1/sign-in")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(location).query)
    assert status == 303 and query["code_challenge_method"] == ["S256"] and query["response_type"] == ["code"] and len(query["nonce"][0]) == 43, location
    assert "HttpOnly" in pending and "SameSite=Lax" in pending, pending
    state, pending = query["state"][0], pending.split(";")[0]
    other = step(daemon.url + "/v1/sign-in")[2].split(";")[0]
    for cookie, sent in ((None, state), (pending, "x" * 43), (pending, ""), (other, state), (pending[:-2] + "AA", state), ("motif_sign_in=AAAA", state)):
        assert step(f"{daemon.url}/v1/sign-in/callback?code=c&state={sent}", cookie)[0] in (400, 403), (cookie, sent)
    assert step(f"{daemon.url}/v1/sign-in/callback?code=made-up&state={state}", pending)[0] == 403  # the issuer refuses the code
    assert step(f"{daemon.url}/v1/sign-in/callback?error=access_denied&state={state}", pending)[0] == 403


def main():
    if shutil.which("npm") is None or not fetch_modules():
        print("skipped: npm is missing, or its registry does not answer")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        provider = subprocess.Popen(["node", os.path.join(FILES, "provider.mjs"), MODULES, "http://127.0.0.1/v1/sign-in/callback"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
        try:
            issuer = provider.stdout.readline().strip()
            with Daemon(MOTIFD, os.path.join(folder, "oidc.db"), "--data", os.path.join(folder, "data"), "--oidc-issuer", issuer, "--oidc-client", "motif",
                        "--oidc-team-claim", "groups", "--signin-teams", "proteins=proteins", "--oidc-role-claim", "groups",
                        "--signin-roles", "chiefs=admin,*=member") as daemon:
                run_each((daemon,), people_sign_in_and_out, an_answer_counts_only_in_its_browser)
        finally:
            provider.kill()
            provider.wait()


main()
