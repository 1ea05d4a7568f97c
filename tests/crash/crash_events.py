#!/usr/bin/env python3
"""Tests that a reader receives every event exactly once, although connections break and the daemon is killed.

Several readers follow the events of all jobs. Each reader closes its connection after a random number of events and
connects again. Meanwhile jobs run, and the daemon is killed (SIGKILL) at random moments and started again. At the end,
each reader must have exactly the rows of the database, in the same order and with the same content.

usage: crash_events.py MOTIFD [DISCONNECTS [KILLS [SEED]]]        by default 40 and 3; prints the seed"""
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402
from event_stream import Stream  # noqa: E402

READERS = 4


class Reader(threading.Thread):
    def __init__(self, daemon, seed):
        super().__init__(daemon=True)
        self.server, self.random = daemon, random.Random(seed)
        self.events, self.last, self.disconnects, self.lost, self.done = [], 0, 0, 0, False

    def connect(self):
        try:
            return Stream(self.server.port, last=self.last, patience=5)
        except (OSError, IndexError, ValueError):
            return None

    def run(self):
        while not self.done:
            stream = self.connect()
            if stream is None or stream.status != 200:
                time.sleep(0.05)
                continue
            wanted = self.random.choice([1, 2, 5, 20, 100])
            try:
                for event in stream:
                    self.events.append(event)
                    self.last = event[0]
                    wanted -= 1
                    if wanted == 0:
                        self.disconnects += 1
                        break
                else:
                    self.lost += 1
            except OSError:
                self.lost += 1
            stream.close()


def rows(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        return db.execute("SELECT e.id, e.type, j.id FROM event e JOIN job j ON j.num = e.job ORDER BY e.id").fetchall()


def main(motifd, disconnects=40, kills=3, seed=None):
    seed = int(seed) if seed is not None else int(time.time())
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "db")
        daemon = Daemon(motifd, database)
        readers = [Reader(daemon, chance.random()) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        killed = 0
        while killed < kills or sum(reader.disconnects for reader in readers) < disconnects:
            for _ in range(chance.randint(1, 4)):
                daemon.submit(total_samples=chance.choice([40, 200, 400]), seed=chance.randint(0, 1000))
            time.sleep(chance.uniform(0.1, 1.5))
            if killed < kills:
                daemon.end(signal.SIGKILL)
                daemon.start()
                killed += 1
        running = daemon.ask("GET", "/v1/jobs?limit=1000")[2]["jobs"]
        for job in running:
            daemon.ask("POST", f"/v1/jobs/{job['id']}/cancel")
        while daemon.ask("GET", "/v1/jobs?state=running")[2]["jobs"]:
            time.sleep(0.1)
        newest = rows(database)[-1][0]
        until = time.monotonic() + 60
        while any(reader.last < newest for reader in readers) and time.monotonic() < until:
            time.sleep(0.1)
        for reader in readers:
            reader.done = True
        assert daemon.end() == 0
        for reader in readers:
            reader.join(20)
        stored = rows(database)
        for number, reader in enumerate(readers):
            received = [(id, kind, data["job"]) for id, kind, data in reader.events]
            ids = [id for id, _, _ in received]
            assert len(ids) == len(set(ids)), f"reader {number}: {len(ids) - len(set(ids))} events twice"
            assert received == stored, f"reader {number}: {len(received)} events, {len(stored)} rows, {len(set(stored) - set(received))} missing"
        print(f"{len(stored)} events, {READERS} readers, {sum(reader.disconnects for reader in readers)} disconnects, "
              f"{killed} kills ({sum(reader.lost for reader in readers)} connections lost): each reader has each event once")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *(int(value) for value in sys.argv[2:])))
