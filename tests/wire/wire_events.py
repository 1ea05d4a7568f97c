#!/usr/bin/env python3
"""Event streams over the wire: their events, where they start, how many may be open, and how they end.

usage: wire_events.py MOTIFD"""
import os
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402
from event_stream import Stream  # noqa: E402

PATIENCE = 240  # seconds


def a_stream_follows_a_job(daemon):
    everything = Stream(daemon.port)
    assert everything.status == 200 and everything.headers["content-type"] == "text/event-stream", everything.headers
    job = daemon.submit()
    seen = list(Stream(daemon.port, f"/v1/jobs/{job}/events"))  # ends with the job
    ids = [id for id, _, _ in seen]
    assert ids == sorted(set(ids)) and all(data["job"] == job for _, _, data in seen)
    assert [data["state"] for _, kind, data in seen if kind == "state"] == ["queued", "running", "succeeded"], seen
    result = daemon.ask("GET", f"/v1/jobs/{job}")[2]["result"]
    assert list(result)[:2] == ["verdict", "findings"] and result["verdict"] in ("learned", "partly", "not-learned"), list(result)
    assert [data.get("verdict") for _, kind, data in seen if kind == "state"] == [None, None, result["verdict"]], "the last event has the verdict"
    kinds = [kind for _, kind, _ in seen]
    assert set(kinds) == {"state", "progress", "metric", "checkpoint"}, set(kinds)
    assert [data["seq"] for _, kind, data in seen if kind == "checkpoint"] == list(range(1, kinds.count("checkpoint") + 1))
    progress = [data["progress"] for _, kind, data in seen if kind == "progress"]
    assert progress[-1]["fraction"] == 1 and progress[-1].keys() == daemon.ask("GET", f"/v1/jobs/{job}")[2]["progress"].keys()
    series = daemon.ask("GET", f"/v1/jobs/{job}/metrics")[2]["series"]
    streamed = {name: [] for name in series}
    for _, kind, data in seen:
        for name, points in (data["series"].items() if kind == "metric" else ()):
            streamed[name] += points
    assert streamed == series, "the points of the events are those of the series"
    both = []
    for event in everything:
        both.append(event)
        if event[1] == "state" and event[2]["state"] == "succeeded":
            break
    assert both == seen, "the stream of all jobs, opened before, has the same events"
    everything.close()


def a_stream_begins_after_the_requested_id(daemon):
    job = daemon.submit()
    path = f"/v1/jobs/{job}/events"
    seen = list(Stream(daemon.port, path))
    third = seen[2][0]
    assert list(Stream(daemon.port, path, last=third)) == seen[3:]
    assert list(Stream(daemon.port, f"{path}?after={third}")) == seen[3:]
    assert list(Stream(daemon.port, f"{path}?after=0", last=third)) == seen[3:]
    first = next(Stream(daemon.port, "/v1/events?after=now").blocks())
    assert first == {"retry": "1000", "id": str(seen[-1][0])}, first
    assert next(Stream(daemon.port, last=10**15).blocks())["id"] == str(seen[-1][0])
    assert Stream(daemon.port, path, last=seen[-1][0]).status == 204
    assert Stream(daemon.port, f"{path}?after=now").status == 204
    for last, after in (("x", None), ("-1", None), (None, "x"), (None, "-1"), (None, "1e3")):
        assert Stream(daemon.port, path + (f"?after={after}" if after else ""), last=last).status == 400, (last, after)
    assert daemon.ask("GET", "/v1/jobs/nobody/events")[0] == 404
    status, headers, content = daemon.ask("HEAD", path)
    assert status == 200 and headers["Content-Type"] == "text/event-stream" and content == b""


def await_that(what, holds):
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def await_streams(daemon, count):
    await_that(f"{count} streams are open", lambda: daemon.metric("motifd_event_streams") == count)


def the_number_of_streams_has_a_limit(daemon):
    await_streams(daemon, 0)
    streams = [Stream(daemon.port) for _ in range(32)]
    status, headers, problem = daemon.ask("GET", "/v1/events")  # one address may not have all streams
    assert status == 429 and int(headers["Retry-After"]) > 0 and problem["status"] == 429, headers
    streams += [Stream(daemon.port, source="127.0.0.2") for _ in range(32)]
    assert all(stream.status == 200 for stream in streams)
    streams.pop().close()
    await_streams(daemon, 63)
    streams.append(Stream(daemon.port, source="127.0.0.3"))
    refused = Stream(daemon.port, source="127.0.0.3")
    assert refused.status == 503 and int(refused.headers["retry-after"]) > 0, refused.headers
    assert refused.headers["content-type"] == "application/problem+json"
    job = daemon.submit()  # the job can run, because open streams occupy no worker and no database connection
    for stream in streams:
        ends = [event for event in (next(iter(stream)) for _ in range(1))]
        assert ends[0][2] == {"job": job, "time": ends[0][2]["time"], "state": "queued"}, ends
        stream.close()
    await_streams(daemon, 0)  # the daemon notices that clients have closed streams on which nothing is sent
    assert Stream(daemon.port).status == 200


def silent_streams_get_comments_and_stalled_ones_end(daemon):
    """The daemon sends a comment after 200 ms of silence, and cuts a reader that takes nothing for 1 s."""
    quiet = Stream(daemon.port)
    stuck = Stream(daemon.port, "/v1/events?after=0", receive_buffer=4096)
    thread = threading.Thread(target=lambda: [None for _ in quiet])
    thread.start()
    await_that("three comments arrive", lambda: quiet.comments >= 3)
    job = daemon.submit(total_samples=10**6)  # events until the socket of the stuck reader is full
    await_that("the stuck reader is cut", lambda: daemon.metric("motifd_event_streams_cut_total") == 1)
    daemon.ask("POST", f"/v1/jobs/{job}/cancel")
    stuck.close()
    return thread


def a_stream_ends_with_the_daemon(daemon, thread):
    job = daemon.submit(total_samples=10**6)
    path = f"/v1/jobs/{job}/events"
    streams = [Stream(daemon.port, path) for _ in range(20)]
    readers = [iter(stream) for stream in streams]
    while next(readers[0])[2].get("state") != "running":
        pass
    begun = time.monotonic()
    assert daemon.end() == 0
    assert time.monotonic() - begun < 10, time.monotonic() - begun
    seen = list(readers[0])
    assert [data["state"] for _, kind, data in seen if kind == "state"] == ["queued"], "the yield was still streamed"
    thread.join(PATIENCE)
    assert not thread.is_alive()
    daemon.start()
    again = iter(Stream(daemon.port, path, last=seen[-1][0]))
    event = next(again)
    assert event[0] > seen[-1][0] and event[2]["state"] == "running", event
    daemon.ask("POST", f"/v1/jobs/{job}/cancel")
    assert [data["state"] for _, kind, data in again if kind == "state"] == ["cancelled"]


def check(name, *test):
    try:
        result = test[0](*test[1:])
        print(f"ok {name}", flush=True)
        return result
    except Exception:
        traceback.print_exc()
        print(f"not ok {name}", flush=True)
        check.failed = True


def main(motifd):
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(motifd, os.path.join(folder, "db"), "--event-heartbeat-ms", "200", "--event-stall-ms", "1000")
        check("events: a stream follows a job to its end", a_stream_follows_a_job, daemon)
        check("events: a stream begins after the requested id", a_stream_begins_after_the_requested_id, daemon)
        check("events: at most 64 streams are open", the_number_of_streams_has_a_limit, daemon)
        thread = check("events: silent streams get comments, stalled ones end", silent_streams_get_comments_and_stalled_ones_end, daemon)
        check("events: streams end with the daemon and continue with the next", a_stream_ends_with_the_daemon, daemon, thread)
        daemon.end()


if __name__ == "__main__":
    check.failed = False
    main(sys.argv[1])
    sys.exit(check.failed)
