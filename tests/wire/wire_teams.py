#!/usr/bin/env python3
"""Two teams with four roles on one daemon: every operation of /openapi.json on the caller's own objects, the team's, a colleague's private ones, those that
another team shares with everyone, and those of another team. Then a second team attacks the first one with its ids, names, tags, hashes and data sets.

The list of operations comes from the document of the daemon, so an operation that states no right, or one that this test cannot classify, fails it.

usage: wire_teams.py MOTIFD MOTIFCTL [--requests N]"""
import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_checks  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("motifd")
parser.add_argument("motifctl")
parser.add_argument("--requests", type=int, default=5000)
options = parser.parse_args()
MOTIFD, MOTIFCTL = (os.path.abspath(path) for path in (options.motifd, options.motifctl))

ROLES = ("reader", "member", "manager", "admin")
RELATIONS = ("own", "team", "private", "everyone", "other")
ACTIONS = {"read": "r", "use": "u", "change": "c", "delete": "d"}
# docs/explanation/teams.md
TABLE = {"reader": ("r", "r", "", "r", ""), "member": ("rucd", "ru", "", "ru", ""), "manager": ("rucd", "rucd", "rucd", "ru", ""), "admin": ("rucd",) * 5}
SCOPES = {"read": 0, "submit": 1, "manage": 2, "admin": 3, "operator": 4, "trainer": 5}
MISSING = {"job": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "study": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "dataset": "no-such-set-here"}
CSV = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n1,3,y\n2,5,x\n4,4,y\n"
# Bodies without which an operation would answer before it looks at its object.
JSON_BODIES = {"changeJob": {"priority": 1}, "shareStudy": {"visibility": "team"}, "shareDataset": {"visibility": "team"}}


class Caller:
    """A token on a connection that stays open."""

    def __init__(self, daemon, secret):
        self.secret, self.port = secret, daemon.port
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)

    def ask(self, method, path, body=None, kind="application/json", headers=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.secret}", **({"Content-Type": kind} if data is not None else {}), **(headers or {})}
        try:
            self.connection.request(method, path, data, sent)
            answer = self.connection.getresponse()
        except (http.client.HTTPException, ConnectionError, OSError):  # the daemon closes a connection after some refusals
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.request(method, path, data, sent)
            answer = self.connection.getresponse()
        if "event-stream" in answer.headers.get("Content-Type", ""):
            text = answer.read(4000) if answer.status != 200 else b""
            self.connection.close()
            return answer.status, text.decode()
        return answer.status, answer.read().decode(errors="replace")

    def must(self, expected, *words, **more):
        status, text = self.ask(*words, **more)
        assert status == expected, (words, status, text)
        return json.loads(text) if text.startswith(("{", "[")) else text


def detail(text):
    try:
        return json.loads(text).get("detail", "")
    except (ValueError, AttributeError):
        return ""


def plain(text, *names):
    """An answer without what differs between any two requests, and with the names of the object replaced."""
    try:
        document = json.loads(text)
        document.pop("instance", None)
        text = json.dumps(document, sort_keys=True)
    except (ValueError, AttributeError):
        pass
    for name in names:
        text = text.replace(name, "NAME")
    return text


class House:
    """A daemon with tokens of two teams: in each a reader, two members and a manager, and an administrator."""

    def __init__(self, folder):
        database = os.path.join(folder, "teams.db")
        self.daemon = Daemon(MOTIFD, database, "--data", os.path.join(folder, "sets"), "--workers", "1", "--threads-per-job", "1", "--rate-limit", "0",
                             "--queue-limit", "100000")
        self.secrets = {}
        for team in ("alpha", "beta"):
            for name, role in (("reader", "reader"), ("member", "member"), ("colleague", "member"), ("manager", "manager")):
                self.secrets[team, name] = self.token(database, f"{name}-{team}", role, "--team", team)
        self.secrets["", "admin"] = self.token(database, "root", "admin")
        self.callers = {who: Caller(self.daemon, secret) for who, secret in self.secrets.items()}
        self.dice = random.Random(7)

    def token(self, database, name, role, *more):
        made = subprocess.run([MOTIFD, "token", "create", "--db", database, "--name", name, "--role", role, *more], capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def make(self, kind, who, visibility, name=None, **more):
        """Makes an object for a caller; returns its id or name. The worker is busy, so that jobs stay in the queue."""
        # far from every other name, so that no answer suggests another one
        caller, name = self.callers[who], name or f"thing{self.dice.getrandbits(60):015x}"
        if kind == "dataset":
            caller.must(201, "PUT", f"/v1/datasets/{name}?visibility={visibility}", CSV, kind="text/csv")
            return name
        body = {"kind": "sparling", "preset": "digitcircle-quick", "config": TINY, "name": name, "visibility": visibility, **more}
        return caller.must(201, "POST", "/v1/jobs" if kind == "job" else "/v1/studies", {**body, **({"seeds": 2} if kind == "study" else {})})["id"]

    def occupy(self):
        """Lets a job of the administrator take the only worker."""
        self.callers["", "admin"].must(201, "POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "name": "blocker", "priority": 100,
                                                                 "config": {**TINY, "total_samples": 100000000, "validation_every": 10000000}})
        while self.callers["", "admin"].must(200, "GET", "/v1/jobs/blocker")["state"] != "running":
            time.sleep(0.05)


def operations(daemon):
    """(method, path, operationId, right, scope, kind of object, operation) of every operation that names an object."""
    found, plainly = [], []
    document = daemon.ask("GET", "/openapi.json")[2]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method == "parameters":
                continue
            right = operation.get("x-motifd-right")
            assert right in ("nothing", "trainer", "read", "use", "change", "delete"), f"{method} {path} states the right {right}"
            scope = next((s for one in operation["security"] for scopes in one.values() for s in scopes), None)
            names = any(path.startswith(p) for p in ("/v1/jobs/{id}", "/v1/studies/{id}", "/v1/datasets/{name}", "/v2/models/{id}"))
            # an object in the path needs a right; an upload makes its object
            assert names == (right != "nothing") or operation["operationId"] == "putDataset", f"{method} {path} has the right {right}"
            kind = "study" if "/studies/" in path else "dataset" if "/datasets/" in path else "job"
            (found if right not in ("nothing", "trainer") else plainly).append((method.upper(), path, operation["operationId"], right, scope, kind, operation))
    assert len(found) > 50, len(found)
    return found, plainly


def request_of(operation, path, name):
    target = path.replace("{id}", name).replace("{name}", name, 1) if "{id}" not in path else path.replace("{id}", name).replace("{name}", "a.png")
    for part, value in (("{seq}", "1"), ("{name}", "a.png")):
        target = target.replace(part, value)
    while "{" in target:  # the number of an item
        target = target[:target.index("{")] + "0" + target[target.index("}") + 1:]
    content = operation.get("requestBody", {}).get("content", {})
    kind = next(iter(content), None)
    body = None if kind is None else JSON_BODIES.get(operation["operationId"], {}) if kind == "application/json" else b"x"
    return target, body, kind


def owner_of(house, role, relation):
    """(who owns it, its visibility) of an object to which the caller of team alpha with this role has the relation."""
    own = ("", "admin") if role == "admin" else ("alpha", role)
    if relation == "own":
        # readers own nothing that they made; their relation "own" is tested in the unit test of the table
        return own, "private"
    return {"team": (("alpha", "colleague"), "team"), "private": (("alpha", "colleague"), "private"), "everyone": (("beta", "member"), "everyone"),
            "other": (("beta", "member"), "team")}[relation]


def every_operation(house):
    found, _ = operations(house.daemon)
    order = {"read": 0, "use": 1, "change": 2, "delete": 3}
    found.sort(key=lambda o: (order[o[3]], o[2] in ("cancelJob", "cancelStudy")))
    counts = {"allowed": 0, "refused": 0, "hidden": 0, "scope": 0}
    for role in ROLES:
        caller = house.callers["", "admin"] if role == "admin" else house.callers["alpha", role]
        for relation, rights in zip(RELATIONS, TABLE[role]):
            if role == "reader" and relation == "own":
                continue
            who, visibility = owner_of(house, role, relation)
            things = {kind: house.make(kind, who, visibility) for kind in ("job", "study", "dataset")}
            shown = {kind: f"{who[0]}:{name}" if kind == "dataset" and who[0] and (role == "admin" or who[0] != "alpha") else name
                     for kind, name in things.items()}
            for method, path, name, right, scope, kind, operation in found:
                target, body, media = request_of(operation, path, shown[kind])
                status, text = caller.ask(method, target, body, kind=media or "application/json")
                case = (role, relation, method, path, status, text[:300])
                lost, lost_text = caller.ask(method, request_of(operation, path, MISSING[kind])[0], body, kind=media or "application/json")
                if ROLES.index(role) < SCOPES[scope]:
                    assert status == lost == 403 and "scope" in detail(text), case
                    counts["scope"] += 1
                elif "r" not in rights:
                    assert status == lost == 404, case
                    assert plain(text, shown[kind]) == plain(lost_text, MISSING[kind]), (case, lost_text)
                    counts["hidden"] += 1
                elif ACTIONS[right] not in rights:
                    assert status == 403 and detail(text).startswith("Only "), case
                    counts["refused"] += 1
                else:
                    assert status != 403 and not detail(text).startswith(("There is no job", "There is no study", "There is no data set")), case
                    assert status < 500 or "memory" in text, case
                    counts["allowed"] += 1
    assert min(counts.values()) > 30, counts
    print("   ", counts)


def tokens_keep_their_team(house):
    database = house.daemon.command[house.daemon.command.index("--db") + 1]
    refused = subprocess.run([MOTIFD, "token", "create", "--db", database, "--name", "colleague-alpha", "--team", "beta"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "exists already" in refused.stderr, refused
    for words in (("revoke", "--name", "colleague-alpha"), ("create", "--name", "colleague-alpha", "--team", "beta")):
        done = subprocess.run([MOTIFD, "token", words[0], "--db", database, *words[1:]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "belonged to another team" in done.stderr, done
    for wrong in ("Alpha", "a:b", "-a", "a" * 32):
        done = subprocess.run([MOTIFD, "token", "create", "--db", database, "--name", "x", "--team", wrong], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "name of a team" in done.stderr, done
    listed = subprocess.run([MOTIFD, "token", "list", "--db", database], capture_output=True, text=True, timeout=60).stdout
    assert any(line.startswith("colleague-alpha") and "revoked" in line and line.endswith("team alpha") for line in listed.splitlines()), listed
    assert house.callers["alpha", "colleague"].ask("GET", "/v1/jobs")[0] == 401
    house.secrets["alpha", "colleague"] = house.token(database, "colleague-alpha", "member", "--team", "alpha")
    house.callers["alpha", "colleague"] = Caller(house.daemon, house.secrets["alpha", "colleague"])


def sharing(house):
    """A job, a study and a data set become private, everyone's and the team's again; the other team sees exactly the second."""
    member, other, manager = house.callers["alpha", "member"], house.callers["beta", "member"], house.callers["alpha", "manager"]
    for kind, route in (("job", "/v1/jobs/"), ("study", "/v1/studies/"), ("dataset", "/v1/datasets/")):
        name = house.make(kind, ("alpha", "member"), "private")
        there = f"alpha:{name}" if kind == "dataset" else name
        for visibility, colleague, stranger in (("private", 404, 404), ("everyone", 200, 200), ("team", 200, 404)):
            document = member.must(200, "PATCH", route + name, {"visibility": visibility})
            assert document["visibility"] == visibility and document["owner"] == "member-alpha" and document["team"] == "alpha", document
            assert house.callers["alpha", "colleague"].ask("GET", route + name)[0] == colleague, (kind, visibility)
            assert other.ask("GET", route + there)[0] == stranger, (kind, visibility)
            assert manager.ask("GET", route + name)[0] == 200
        for body in ({"visibility": "public"}, {"visibility": None}, {"colour": 1}):
            assert member.ask("PATCH", route + name, body)[0] == 422
    study = house.make("study", ("alpha", "member"), "team")
    job = member.must(200, "GET", f"/v1/studies/{study}")["jobs"][0]["id"]
    assert member.ask("PATCH", f"/v1/jobs/{job}", {"visibility": "everyone"})[0] == 409
    member.must(200, "PATCH", f"/v1/studies/{study}", {"visibility": "private"})
    assert house.callers["alpha", "colleague"].ask("GET", f"/v1/jobs/{job}")[0] == 404
    own = house.make("dataset", ("alpha", "member"), "team")
    assert house.callers["alpha", "colleague"].ask("DELETE", f"/v1/datasets/{own}")[0] == 403
    member.must(204, "DELETE", f"/v1/datasets/{own}")


def names_of_data_sets(house):
    """Both teams use one name; each means its own, and jobs train on what their owner meant."""
    alpha, beta, root = house.callers["alpha", "member"], house.callers["beta", "member"], house.callers["", "admin"]
    other = CSV.replace(b"6,x", b"7,x")
    alpha.must(201, "PUT", "/v1/datasets/proteins", CSV, kind="text/csv")
    beta.must(201, "PUT", "/v1/datasets/proteins", other, kind="text/csv")
    root.must(201, "PUT", "/v1/datasets/proteins?visibility=everyone", CSV + b"9,9,x\n", kind="text/csv")
    sizes = {}
    for name, caller, expected in (("proteins", alpha, 6), ("proteins", beta, 6), ("proteins", root, 7), (":proteins", alpha, 7), ("alpha:proteins", root, 6)):
        document = caller.must(200, "GET", f"/v1/datasets/{name}")
        assert document["samples"] == expected and document["name"] == name, document
        sizes[name, caller.secret] = document["sha256"]
    assert sizes["proteins", alpha.secret] != sizes["proteins", beta.secret]
    assert beta.ask("GET", "/v1/datasets/alpha:proteins")[0] == 404
    listed = [d["name"] for d in beta.must(200, "GET", "/v1/datasets")["datasets"]]
    assert "proteins" in listed and ":proteins" in listed and not any(n.startswith("alpha:") for n in listed if n not in ("alpha:shared",)), listed
    assert alpha.ask("PUT", "/v1/datasets/beta:mine", CSV, kind="text/csv")[0] == 403
    assert alpha.ask("PUT", "/v1/datasets/" + "x" * 60, CSV, kind="text/csv")[0] == 400
    for caller, folder in ((alpha, "alpha:proteins"), (beta, "beta:proteins"), (root, "proteins")):
        dry = caller.must(200, "POST", "/v1/jobs?dry_run=1", {"kind": "factors", "preset": "dataset", "config": {"dataset_name": "proteins"}})
        assert dry["config"]["dataset_name"] == folder, dry["config"]
    house.make("dataset", ("alpha", "member"), "everyone", "shared")
    dry = beta.must(200, "POST", "/v1/jobs?dry_run=1", {"kind": "factors", "preset": "dataset", "config": {"dataset_name": "alpha:shared"}})
    assert dry["config"]["dataset_name"] == "alpha:shared"
    root.must(204, "DELETE", "/v1/datasets/proteins")
    alpha.must(204, "DELETE", "/v1/datasets/shared")
    # a colleague's private data set takes its name in the team, and tells nothing else
    house.make("dataset", ("alpha", "colleague"), "private", "mine")
    same, differs = (alpha.ask("PUT", "/v1/datasets/mine", body, kind="text/csv") for body in (CSV, other))
    assert same[0] == differs[0] == 409 and plain(same[1]) == plain(differs[1]), (same, differs)


def treasure(house):
    """What the first team has: a trained job with a name, a tag and a checkpoint, a study, data sets, keys. Returns texts that only its answers contain."""
    member = house.callers["alpha", "member"]
    body = {"kind": "sparling", "preset": "digitcircle-quick", "name": "quiet-fox", "tags": ["heron"], "config": TINY}
    job = member.must(201, "POST", "/v1/jobs", body, headers={"Idempotency-Key": "the-key"})["id"]
    while member.must(200, "GET", f"/v1/jobs/{job}")["state"] not in ("succeeded", "failed"):
        time.sleep(0.1)
    assert member.must(200, "GET", f"/v1/jobs/{job}")["state"] == "succeeded"
    checkpoint = member.must(200, "GET", f"/v1/jobs/{job}/checkpoints")["checkpoints"][-1]["sha256"]
    member.must(201, "PUT", "/v1/datasets/grey-owl", CSV + b"8,8,y\n", kind="text/csv")
    house.make("dataset", ("alpha", "manager"), "private", "grey-wolf")
    digest = member.must(200, "GET", "/v1/datasets/grey-owl")["sha256"]
    return {"job": job, "checkpoint": checkpoint, "sha256": digest}


def snapshot(house):
    """Everything of the first team that a change would show."""
    manager = house.callers["alpha", "manager"]
    found = {}
    for path in ("/v1/jobs?limit=1000&fields=state,name,priority,tags,visibility,owner,requested_state", "/v1/studies?limit=1000", "/v1/datasets"):
        document = manager.must(200, "GET", path)
        found[path] = [d for members in ("jobs", "studies", "datasets") for d in document.get(members, []) if d.get("team", "alpha") == "alpha"]
    for job in found["/v1/jobs?limit=1000&fields=state,name,priority,tags,visibility,owner,requested_state"]:
        job["checkpoints"] = manager.must(200, "GET", f"/v1/jobs/{job['id']}/checkpoints")
    return json.dumps(found, sort_keys=True)


def adversary(house, known):
    """A second team asks for what the first one has, in every way that this test knows."""
    study = house.make("study", ("alpha", "member"), "team", "still-elk")
    before = snapshot(house)
    secrets = [known["job"], "quiet-fox", "heron", "still-elk", study, known["checkpoint"], known["sha256"], "grey-owl", "grey-wolf", "member-alpha", "manager-alpha"]
    names = [known["job"], "quiet-fox", "heron", study, "still-elk", "latest", "alpha:quiet-fox"]
    sets = ["grey-owl", "grey-wolf", "alpha:grey-owl", "alpha:grey-wolf", ":grey-owl", "grey-ow", "alpha:grey-ow"]
    found, plainly = operations(house.daemon)
    dice = random.Random(1)
    attackers = [house.callers["beta", name] for name in ("reader", "member", "manager")]
    own = house.make("job", ("beta", "member"), "team", "own-job")
    answered = {}
    for number in range(options.requests):
        caller = dice.choice(attackers)
        choice = dice.random()
        headers, media, body = {}, "application/json", None
        if choice < 0.6:
            method, path, _, right, _, kind, operation = dice.choice(found)
            target, body, media = request_of(operation, path, dice.choice(sets if kind == "dataset" else names))
            if body == {}:
                body = {"with": known["job"], "checkpoint": dice.choice([1, "latest"])} if dice.random() < 0.3 else {}
            if right == "change" and "latest" in target:
                continue  # of the attacker's own team
        elif choice < 0.8:
            method = "GET"
            target = dice.choice(["/v1/jobs?name=quiet-fox", "/v1/jobs?tag=heron", "/v1/jobs?owner=member-alpha", "/v1/jobs?limit=1000", f"/v1/jobs?study={study}",
                                  "/v1/jobs?sort=name", "/v1/jobs?sort=owner&limit=1", "/v1/studies", "/v1/studies?owner=member-alpha", "/v1/datasets", "/metrics",
                                  "/v1/system", "/v1/audit", "/v1/tokens", "/v1/kinds", f"/v1/uploads/{known['sha256']}", "/v1/usage", "/v1/usage?team=alpha", "/v1/jobs/latest",
                                  "/v1/studies/latest", "/v1/jobs/quiet-fo", "/v1/datasets/grey-ow", f"/v2/models/{known['job']}", "/v2/models/quiet-fox"])
        else:
            method = "POST"
            target, body = dice.choice([
                ("/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "from": {"job": dice.choice(names[:2])}}),
                ("/v1/jobs", {"kind": "factors", "preset": "dataset", "config": {"dataset_name": dice.choice(sets)}}),
                ("/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": dice.choice(sets)}}),
                ("/v1/studies?dry_run=1", {"kind": "factors", "preset": "dataset", "grid": {"dataset_name": sets[:3]}}),
                ("/v1/pathways/recover", {"job": known["job"]}),
                ("/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "config": {"seed": 10 ** 17}}),
                (f"/v1/jobs/{own}/compare", {"with": known["job"]})])
            headers = {"Idempotency-Key": "the-key"}
        status, text = caller.ask(method, target, body, kind=media or "application/json", headers=headers)
        answered[status] = answered.get(status, 0) + 1
        sent = target + json.dumps(body if not isinstance(body, bytes) else "")
        for secret in secrets:
            if secret in text:
                # an error may repeat what the request said, but a success may not name it at all
                assert secret in sent and status >= 400, (method, target, body, status, secret, text[:600])
        assert status < 500, (method, target, body, status, text[:300])
    assert house.callers["", "admin"].must(200, "GET", "/v1/jobs/blocker")["state"] == "running"
    assert snapshot(house) == before
    print("   ", dict(sorted(answered.items())))


def streams(house, known):
    """The event stream of all jobs has no event of the other team, from the very first one."""
    house.make("job", ("beta", "member"), "team")
    house.make("job", ("alpha", "member"), "team")
    for team, other in (("beta", "alpha"), ("alpha", "beta")):
        visible = {j["id"] for j in house.callers[team, "member"].must(200, "GET", "/v1/jobs?limit=1000")["jobs"]}
        connection = http.client.HTTPConnection("127.0.0.1", house.daemon.port, timeout=2)
        connection.request("GET", "/v1/events?after=0", headers={"Authorization": f"Bearer {house.secrets[team, 'member']}"})
        answer, seen = connection.getresponse(), set()
        try:
            while True:
                line = answer.readline().decode()
                if line.startswith("data: "):
                    seen.add(json.loads(line[6:])["job"])
        except OSError:  # the stream is silent: everything stored was sent
            connection.close()
        assert seen and seen <= visible, seen - visible
        assert (known["job"] in seen) == (team == "alpha")


def ctl(daemon, secret, *words, code=0):
    done = subprocess.run([MOTIFCTL, "--server", daemon.url, "--token", secret, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done.stdout + done.stderr


def usage(house, known):
    """Everybody sees the own usage; managers that of the team's members; administrators that of all. The sums are those of the lists."""
    member, manager, root = house.callers["alpha", "member"], house.callers["alpha", "manager"], house.callers["", "admin"]
    mine = member.must(200, "GET", "/v1/usage")
    assert (mine["owner"], mine["team"], mine["role"]) == ("member-alpha", "alpha", "member") and "members" not in mine, mine
    checkpoints = sum(c["bytes"] for c in member.must(200, "GET", f"/v1/jobs/{known['job']}/checkpoints")["checkpoints"])
    assert mine["jobs"]["succeeded"] == 1 and mine["job_bytes"] >= checkpoints > 0 and 0 < mine["thread_seconds_day"] < 600 and mine["dataset_bytes"] > 0, mine
    assert all(limit is None for limit in mine["limits"].values())
    team = manager.must(200, "GET", "/v1/usage")
    assert {m["team"] for m in team["members"]} == {"alpha"} and {"member-alpha", "colleague-alpha", "manager-alpha"} == {m["owner"] for m in team["members"]}, team
    one = next(m for m in team["members"] if m["owner"] == "member-alpha")
    assert {k: one[k] for k in ("jobs", "threads", "job_bytes", "dataset_bytes")} == {k: mine[k] for k in ("jobs", "threads", "job_bytes", "dataset_bytes")}
    listed = [j for j in manager.must(200, "GET", "/v1/jobs?limit=1000")["jobs"] if j["team"] == "alpha"]
    assert sum(team["total"]["jobs"].values()) == len(listed) > 10, (team["total"], len(listed))
    assert team == manager.must(200, "GET", "/v1/usage?team=alpha")
    for who, path in ((("alpha", "manager"), "/v1/usage?team=beta"), (("alpha", "manager"), "/v1/usage?team=none"), (("alpha", "member"), "/v1/usage?team=alpha")):
        assert house.callers[who].ask("GET", path)[0] == 403
    everyone = root.must(200, "GET", "/v1/usage")
    assert {m["team"] for m in everyone["members"]} == {None, "alpha", "beta"} and everyone["threads"] == 1, everyone
    assert {m["team"] for m in root.must(200, "GET", "/v1/usage?team=beta")["members"]} == {"beta"}
    text = ctl(house.daemon, house.secrets["alpha", "manager"], "usage")
    assert "colleague-alpha" in text and "all of these" in text, text


def share_with_motifctl(house):
    secret, daemon = house.secrets["alpha", "member"], house.daemon
    job, study, name = (house.make(kind, ("alpha", "member"), "team") for kind in ("job", "study", "dataset"))
    assert "visible to everyone" in ctl(daemon, secret, "share", job, "everyone")
    assert f"{name}: private" in ctl(daemon, secret, "share", "--dataset", name, "private")
    assert "visible to the team alpha" in ctl(daemon, secret, "share", "--study", study, "team")
    assert "Only its owner member-alpha, the managers of the team alpha" in ctl(daemon, house.secrets["alpha", "colleague"], "share", job, "team", code=2)
    assert "There is no job" in ctl(daemon, house.secrets["beta", "member"], "share", study, "team", code=2)
    for words in (("share", job), ("share", job, "public"), ("share", "--dataset", name, "--study", study, "team"), ("share", "--dataset", name, job, "team")):
        ctl(daemon, secret, *words, code=2)
    ctl(daemon, secret, "share", job, "team")


def quotas(folder):
    """A team may have two unfinished jobs, and one thread: its second job waits while another team's job runs."""
    database = os.path.join(folder, "quotas.db")
    with Daemon(MOTIFD, database, "--workers", "3", "--threads-per-job", "1", "--jobs-per-team", "2", "--threads-per-team", "1") as daemon:
        made = {}
        for name, team in (("ann", "alpha"), ("bob", "alpha"), ("cid", "beta"), ("dan", "")):
            done = subprocess.run([MOTIFD, "token", "create", "--db", database, "--name", name, "--team", team], capture_output=True, text=True, timeout=60, check=True)
            made[name] = Caller(daemon, done.stdout.strip())
        body = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 100000000, "validation_every": 10000000}}
        first, second = (made[name].must(201, "POST", "/v1/jobs", body)["id"] for name in ("ann", "bob"))
        for name in ("ann", "bob"):
            status, text = made[name].ask("POST", "/v1/jobs", body)
            assert status == 429 and "This team has 2 unfinished jobs" in text, text
        status, text = made["cid"].ask("POST", "/v1/studies", {**body, "seeds": 3})
        assert status == 429 and "The study has 3 jobs, and this team" in text, text
        status, text = made["cid"].ask("POST", "/v1/jobs", {**body, "threads": 2})
        assert status == 422 and "of a team; got 2" in text, text
        others = [made[name].must(201, "POST", "/v1/jobs", body)["id"] for name in ("cid", "dan")]
        for name, job in zip(("cid", "dan"), others):
            while made[name].must(200, "GET", f"/v1/jobs/{job}")["state"] != "running":
                time.sleep(0.05)
        assert made["ann"].must(200, "GET", f"/v1/jobs/{first}")["state"] == "running"
        assert made["bob"].must(200, "GET", f"/v1/jobs/{second}")["state"] == "queued"
        assert made["ann"].must(200, "GET", "/v1/usage")["limits"]["team_jobs"] == 2
        made["ann"].must(202, "POST", f"/v1/jobs/{first}/cancel")
        while made["bob"].must(200, "GET", f"/v1/jobs/{second}")["state"] != "running":
            time.sleep(0.05)
        for name, job in (("bob", second), ("cid", others[0]), ("dan", others[1])):
            made[name].must(202, "POST", f"/v1/jobs/{job}/cancel")


def main():
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        with house.daemon:
            known = treasure(house)
            house.occupy()
            run_checks(("tokens keep their team", lambda: tokens_keep_their_team(house)),
                       ("sharing", lambda: sharing(house)),
                       ("names of data sets", lambda: names_of_data_sets(house)),
                       ("every operation", lambda: every_operation(house)),
                       ("usage", lambda: usage(house, known)),
                       ("share with motifctl", lambda: share_with_motifctl(house)),
                       ("streams", lambda: streams(house, known)),
                       ("adversary", lambda: adversary(house, known)))
            house.callers["", "admin"].must(202, "POST", "/v1/jobs/blocker/cancel")
        run_checks(("quotas", lambda: quotas(folder)))


main()
