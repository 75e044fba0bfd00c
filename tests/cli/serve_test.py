# SPDX-License-Identifier: MIT
"""A journal in the browser: `attune serve` as a program, beside a run that writes, and against hostile clients."""
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import time
import unittest
import urllib.parse

import story
from story import SHAPES


@unittest.skipUnless(story.HAS_SERVER, "this build has no server, libboost-dev is not installed")
class Serve(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")

    def get(self, port, path, headers=None, method="GET", body=None):
        """The status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        found = (answer.status, dict(answer.getheaders()), answer.read())
        connection.close()
        return found

    def data(self, port, path):
        status, _, body = self.get(port, f"/api/v1/{path}")
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def wait_until_read(self, port):
        end = time.monotonic() + 10
        while not self.data(port, "state")["complete"]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_the_journal_is_shown_and_what_a_run_adds_within_a_second(self):
        server, port = self.serve()
        for path in ("/", "/pages/results", "/pages/problem?key=x", "/app.js", "/events.js", "/style.css", "/chart.min.js", "/healthz"):
            status, headers, body = self.get(port, path)
            self.assertEqual(status, 200, path)
            self.assertTrue(body)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.wait_until_read(port)
        run = self.data(port, "runs")["runs"][0]
        self.assertEqual((run["decisions"], run["problems"], run["left_s"]), (3, 3, None))
        results = self.data(port, "results?sort=ratio")["results"]
        self.assertEqual(len(results), 3)
        one = self.data(port, f"problem?key={urllib.parse.quote(results[0]['problem'])}")
        self.assertEqual(one["decisions"][0]["winner"], results[0]["winner"])
        self.assertEqual([c["candidate"] for c in one["candidates"] if c["ending"] == "won"], [results[0]["winner"]])
        self.put("more.csv", "M,N,K,dtype\n4,64,64,fp32\n")
        self.tune("-i", "more.csv", "-o", "t.csv")
        end = time.monotonic() + 5
        while len(self.data(port, "results")["results"]) < 4 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(len(self.data(port, "results")["results"]), 4)
        self.assertIn(b'attune_problems_total{ending="faster"}', self.get(port, "/metrics")[2])
        for number in (signal.SIGINT, signal.SIGTERM):
            server.send(number)
            self.assertEqual(server.wait(10).status, 0)
            server, port = self.serve()

    def test_a_server_writes_nothing(self):
        _, port = self.serve()
        before = {name: fact for name, fact in story.snapshot(self.folder).items() if not name.endswith("served")}
        for path in ("/", "/api/v1/runs", "/api/v1/results", "/api/v1/fleet", "/metrics", "/nothing"):
            self.get(port, path)
        after = {name: fact for name, fact in story.snapshot(self.folder).items() if not name.endswith("served")}
        self.assertEqual({name for name in after if not name.endswith(("-wal", "-shm"))},
                         {name for name in before if not name.endswith(("-wal", "-shm"))})
        self.assertEqual({name: fact for name, fact in after.items() if name.endswith(".db")},
                         {name: fact for name, fact in before.items() if name.endswith(".db")})

    def sent(self, port, text):
        """What comes first for some bytes; nothing for a connection that is closed."""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
            try:
                raw.sendall(text)
                return raw.recv(65536)
            except ConnectionError:
                return b""

    def test_hostile_requests_are_refused_and_the_server_goes_on(self):
        _, port = self.serve()
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/pages/../../x", "/api/v1/../../x"):
            status, _, body = self.get(port, path)
            self.assertTrue(status < 500 and b"root:" not in body, f"{path}: {status}")
        self.assertEqual(self.get(port, "/", {"Host": "evil.example.org"})[0], 421)
        self.assertEqual(self.get(port, "/api/v1/runs", {"Host": f"localhost.evil.example.org:{port}"})[0], 421)
        for method in ("PUT", "DELETE", "PATCH", "POST", "OPTIONS"):
            self.assertIn(self.get(port, "/api/v1/runs", method=method)[0], (400, 405), method)
        own = b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port
        self.assertRegex(self.sent(port, b"GET /" + own + b"Content-Length: 30\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n"), rb"\AHTTP/1\.1 400 ")
        self.assertRegex(self.sent(port, b"GET /api/v1/results?text=" + b"x" * 8000 + own + b"\r\n"), rb"\AHTTP/1\.1 200 ")
        for text in (b"GET /api/v1/results?text=" + b"x" * 1_000_000 + own + b"\r\n", b"GET /" + b"x" * 1_000_000 + own + b"\r\n"):
            self.assertEqual(self.sent(port, text), b"", "its connection is closed before it is read to its end")
        for text in (b"GET /" + own + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n", b"\x00" * 100_000, b"GET /api/v1/results?text=" + b"%ff" * 2000):
            self.assertRegex(self.sent(port, text), rb"(?s)\A(HTTP/1\.1 4\d\d .*)?\Z")
        for text in ("%00", "%ff%fe", "%3Cscript%3E", "'%20OR%201=1--"):
            self.assertEqual(self.get(port, f"/api/v1/results?text={text}")[0], 200, text)
        self.assertEqual(self.get(port, "/healthz")[0], 200)

    def many_descriptors(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_1000_slow_connections_keep_nobody_out_and_cost_little(self):
        self.many_descriptors()
        server, port = self.serve()
        takes_nothing = b"GET /chart.min.js HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port * 40
        small_answers = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port * 400  # The system takes all of them.
        for beginning, count in ((b"GET / HTTP/1.1\r\nX", 1000), (takes_nothing, 200), (small_answers, 200), (b"", 200)):
            for i in range(count):
                one = socket.socket()
                self.addCleanup(one.close)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # Takes no answer.
                one.settimeout(5)
                one.connect(("127.0.0.1", port))
                one.sendall(beginning)
                if i % 25 == 24:
                    self.assertEqual(self.get(port, "/healthz")[0], 200, f"{beginning[:20]} {i}")
            with open(f"/proc/{server.process.pid}/status") as file:
                facts = dict(line.split(":", 1) for line in file)
            self.assertLess(int(facts["VmRSS"].split()[0]), 200_000, "KiB")
            self.assertLess(int(facts["Threads"]), 80)

    def test_sessions_and_the_jobs_of_agents_are_shown(self):
        _, port = self.serve()
        self.assertIn("attune configs import makes one", self.data(port, "fleet")["failure"])
        self.assertFalse((self.home / "fleet.db").exists())
        self.put("lines.txt", "MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n")
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        self.attune("session", "init", "-l", "<b>why</b>", "--ticket", "T-7", "--devices", "fake:0")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-l", "x")
        with contextlib.closing(sqlite3.connect(self.home / "fleet.db")) as store:
            now = int(time.time() * 1000)
            store.execute("UPDATE job SET state = 'leased', agent = 'n1/7', lease_token = 5, lease_until = ? WHERE step = 'find_compile'", (now + 60_000,))
            store.execute("INSERT INTO attempt SELECT id, 5, 'n1/7', ?, 0, '', '' FROM job WHERE step = 'find_compile'", (now - 5_000,))
            store.execute("INSERT INTO event (at, session, job, agent, kind, text) VALUES (?, 1, 1, 'n0/1', 'lease_expired', 'gone')", (now,))
            store.commit()
        end = time.monotonic() + 10
        while (fleet := self.data(port, "fleet"))["failure"] and time.monotonic() < end:
            time.sleep(0.1)
        session = fleet["sessions"][0]
        self.assertEqual((session["reason"], session["ticket"], session["jobs"], session["left"]), ("<b>why</b>", "T-7", 2, 2))
        self.assertEqual([(one["step"], one["leased"], one["queued"]) for one in session["steps"]],
                         [("find_compile", 1, 0), ("find_eval", 0, 1)])
        held = fleet["held"][0]
        self.assertEqual((held["agent"], held["step"], held["since_ms"]), ("n1/7", "find_compile", now - 5_000))
        self.assertTrue(40 < held["lease_left_s"] <= 60, held)
        self.assertEqual([(one["kind"], one["agent"]) for one in fleet["events"]], [("lease_expired", "n0/1")])
        self.assertEqual(self.get(port, "/pages/fleet")[0], 200)
        self.assertEqual(self.get(port, "/api/v1/fleet?x=1")[0], 400)

    def test_tables_are_shown_beside_the_journal(self):
        rows = self.read("t.csv").splitlines()
        kernel = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64"
        column = rows[0].split(",").index("kernelName")
        changed = rows[2].split(",")
        self.assertNotEqual(changed[column], kernel)
        changed[column] = kernel
        self.put("mine.csv", "\n".join((rows[0], rows[1], ",".join(changed), "")))
        _, port = self.serve("-t", "mine.csv")
        self.wait_until_read(port)
        page = self.data(port, "tables")
        self.assertEqual([line["state"] for line in page["tables"]], ["same", "other", "unpublished"])
        self.assertEqual(page["tables"][0]["row"]["place"], "mine.csv:2")
        self.assertEqual(page["tables"][1]["row"]["kernel"], kernel)
        self.assertEqual(page["tables"][1]["result"]["winner"], rows[2].split(",")[column])
        large = "\n".join([rows[0], *[rows[1]] * (9 * 2**20 // len(rows[1])), ""])
        for content, notice in (("no table", "mine.csv"), (large, "at most 8 MiB of them are shown")):
            self.put("mine.csv", content)
            end = time.monotonic() + 10
            while notice not in str(self.data(port, "tables")["notices"]):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
        self.assertEqual(self.data(port, "tables?state=unpublished")["found"], 3)
        self.refused("serve", "-t", "mine.csv", "--listen", "127.0.0.1:0", says=["mine.csv", "--table"])
        self.put("mine.csv", "no table")
        self.refused("serve", "-t", "mine.csv", "--listen", "127.0.0.1:0", says=["mine.csv"])
        self.refused("serve", "-t", "absent.csv", "--listen", "127.0.0.1:0", says=["absent.csv"])

    def test_beyond_this_machine_it_wants_a_token(self):
        self.refused("serve", "--listen", "0.0.0.0:0", says=["--token-file"])
        token = self.put("token", "0123456789abcdef0123\n")
        os.chmod(token, 0o644)
        self.refused("serve", "--listen", "0.0.0.0:0", "--token-file", str(token), says=["chmod 600"])
        os.chmod(token, 0o600)
        for hosts, answered in (((), ""), (("--allow-host", "tuner.example.org"), " or tuner.example.org")):
            with open(self.work / "any", "wb") as file:
                server = self.start("serve", "--listen", "0.0.0.0:0", "--token-file", str(token), *hosts, stdout=file)
            end = time.monotonic() + 20
            while not (said := re.match(r"(0\.0\.0\.0:\d+) shows ", (self.work / "any").read_text())):
                self.assertLess(time.monotonic(), end, "the server does not say where it listens")
                time.sleep(0.02)
            server.send(signal.SIGTERM)
            self.assertEqual(server.wait().stderr, f"note: requests are answered if their Host is {said.group(1)}{answered}, every "
                             "other name or address of this machine gets 421 until it is given by --allow-host\n")
        _, port = self.serve("--token-file", str(token))
        self.assertEqual(self.get(port, "/api/v1/runs")[0], 401)
        self.assertEqual(self.get(port, "/api/v1/runs?token=0123456789abcdef0123")[0], 401)
        self.assertEqual(self.get(port, "/api/v1/runs", {"Authorization": "Bearer 0123456789abcdef0123"})[0], 200)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(self.get(port, "/login", form, "POST", "token=wrong")[0], 403)
        status, headers, _ = self.get(port, "/login", form, "POST", "token=0123456789abcdef0123")
        self.assertEqual(status, 303)
        self.assertIn("HttpOnly; SameSite=Strict", headers["Set-Cookie"])
        self.assertEqual(self.get(port, "/api/v1/runs", {"Cookie": headers["Set-Cookie"].split(";")[0]})[0], 200)

    def test_odd_lines_of_a_journal_hide_no_others_and_cost_little(self):
        with contextlib.closing(sqlite3.connect(self.home / "journal.db")) as journal:
            columns = [one[1] for one in journal.execute("PRAGMA table_info(entries)")]
            row = journal.execute("SELECT * FROM entries WHERE kind = 1 AND stage = 'verify' LIMIT 1").fetchone()
            record = {**dict(zip(columns, row)), "status": "crashed", "id": None}
            payload = json.loads(record["payload"])

            def add(**changes):
                values = {**record, **changes}
                journal.execute(f"INSERT INTO entries VALUES ({','.join('?' * len(values))})", tuple(values.values()))

            for i in range(16):
                payload["candidate"]["config"] = f"tile_m={1000 + i}"
                payload["outcome"] = {"status": "crashed", "detail": "<b>" + "x" * (10 << 20), "errors": payload["outcome"]["errors"]}
                add(candidate=f"fake.gemm@1:tile_m={1000 + i}", payload=json.dumps(payload))
            add(problem="gemm_of_another_version <b>", candidate="fake.gemm@1:tile_m=1")
            journal.execute("UPDATE entries SET solver = CAST(x'ff22' AS TEXT) WHERE id = (SELECT max(id) FROM entries)")
            journal.commit()
        server, port = self.serve()
        self.wait_until_read(port)
        listed = [one["problem"] for one in self.data(port, "quarantine")["quarantine"]]
        self.assertEqual((len(listed), listed[0]), (17, "gemm_of_another_version <b>"))
        self.assertIn('solver="\ufffd\\""} 1', self.get(port, "/metrics")[2].decode())
        told = self.data(port, f"problem?key={urllib.parse.quote(record['problem'])}")
        self.assertEqual(sum(one["detail"].startswith("<b>x") for one in told["candidates"]), 16)
        if not story.HAS_ADDRESS_SANITIZER:
            with open(f"/proc/{server.process.pid}/status") as file:
                facts = dict(line.split(":", 1) for line in file)
            self.assertLess(int(facts["VmHWM"].split()[0]), 200_000, "KiB")

    def test_large_entries_and_many_deaths_are_answered_in_parts_and_at_once(self):
        with contextlib.closing(sqlite3.connect(self.home / "journal.db")) as journal:
            columns = [one[1] for one in journal.execute("PRAGMA table_info(entries)")]
            row = journal.execute("SELECT * FROM entries WHERE kind = 1 AND stage = 'verify' LIMIT 1").fetchone()
            record = {**dict(zip(columns, row)), "id": None}

            def verified(number, status, detail):
                payload = json.loads(record["payload"])
                payload["candidate"]["config"] = f"tile_m={number}"
                payload["outcome"] = {"status": status, "detail": detail, "errors": payload["outcome"]["errors"]}
                return {**record, "candidate": f"fake.gemm@1:tile_m={number}", "status": status, "payload": json.dumps(payload)}

            numbers = [verified(1000 + i, "crashed", "") for i in range(1000)] + [verified(5000 + i, "ok", "") for i in range(10_000)]
            numbers += [verified(20_000 + i, "wrong_result", "x" * 60_000) for i in range(1000)]
            numbers += [verified(1000, "ok", "")]
            journal.executemany(f"INSERT INTO entries VALUES ({','.join('?' * len(columns))})", [tuple(one.values()) for one in numbers])
            journal.commit()
        server, port = self.serve()
        self.wait_until_read(port)
        began = time.monotonic()
        listed = self.data(port, "quarantine?limit=1000")["quarantine"]
        self.assertLess(time.monotonic() - began, 3, "of 20,000 later verdicts 0.035 s, and 43 s where each death read them")
        self.assertEqual(len(listed), 999)
        first = self.data(port, "entries?limit=1")["entries"][0]["id"]
        newest = self.data(port, "state")["newest_id"]
        with contextlib.ExitStack() as clients:
            for _ in range(20):
                one = clients.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.connect(("127.0.0.1", port))
                one.sendall(b"GET /api/v1/entries?limit=1000&after=%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (newest - 1001, port))
            page = self.data(port, f"entries?limit=1000&after={newest - 1001}")
            self.assertLess(len(page["entries"]), 20)
            self.assertEqual(page["next"], page["entries"][-1]["id"])
            self.assertLess(first, page["next"])
            if not story.HAS_ADDRESS_SANITIZER:
                with open(f"/proc/{server.process.pid}/status") as file:
                    facts = dict(line.split(":", 1) for line in file)
                self.assertLess(int(facts["VmHWM"].split()[0]), 100_000, "KiB")

    def test_bad_input_is_refused(self):
        self.refused("serve", "--journal", "absent.db", says=["absent.db"])
        self.refused("serve", "--listen", "a b:80", says=["host:port"])
        self.refused("serve", "--listen", "127.0.0.1:70000", says=["host:port"])
        self.put("text.db", "no journal")
        self.refused("serve", "--journal", "text.db", "--listen", "127.0.0.1:0", says=["text.db"])
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.refused("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", says=["cannot listen"], status=3)

    def test_several_journals_are_served_apart(self):
        self.put("more.csv", "M,N,K,dtype\n4,64,64,fp32\n")
        self.tune("-i", "more.csv", "-o", "other.csv", "--journal", "other.db")
        _, alone = self.serve()
        _, port = self.serve("--journal", str(self.home / "journal.db"), "--journal", "other.db")
        for one in (alone, port):
            self.wait_until_read(one)
        self.assertEqual(self.get(port, "/api/v1/results")[2], self.get(alone, "/api/v1/results")[2])
        self.assertEqual(self.get(port, "/journals/1/api/v1/results")[2], self.get(alone, "/api/v1/results")[2])
        end = time.monotonic() + 10
        while len(found := json.loads(self.get(port, "/journals/2/api/v1/results")[2])["results"]) != 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        key = urllib.parse.quote(found[0]["problem"])
        self.assertEqual([self.get(port, f"{prefix}/api/v1/problem?key={key}")[0] for prefix in ("", "/journals/2")], [404, 200])
        self.assertEqual(self.get(port, "/journals/2/pages/results")[2], self.get(alone, "/")[2])
        self.assertEqual([one["name"] for one in self.data(port, "journals")["journals"]], ["journal.db", "other.db"])
        self.assertEqual(self.get(port, "/journals/3/")[0], 404)
        self.assertIn(b'attune_launches_total{journal="2"} ', self.get(port, "/metrics")[2])
        self.assertNotIn(b"journal=", self.get(alone, "/metrics")[2])

    def test_a_token_is_that_of_all_journals(self):
        token = self.put("token", "0123456789abcdef0123\n")
        os.chmod(token, 0o600)
        _, port = self.serve("--token-file", str(token))
        for path, status in (("/journals/1/", 303), ("/journals/1/pages/results", 303), ("/journals/1/api/v1/runs", 401), ("/journals/1/events", 401),
                             ("/journals/9/api/v1/runs", 401), ("/journals/1/style.css", 401)):
            self.assertEqual(self.get(port, path)[0], status, path)

    def test_the_same_journal_twice_and_too_many_are_refused(self):
        same = ("--journal", str(self.home / "journal.db"), "--journal", f"{self.home}/../{self.home.name}/journal.db")
        self.refused("serve", *same, "--listen", "127.0.0.1:0", says=["/journal.db is given twice"])
        many = [f"--journal=j{i}.db" for i in range(33)]
        self.refused("serve", *many, "--listen", "127.0.0.1:0", says=["at most 32 journals, got 33"])

    def test_events_come_as_entries_are_committed(self):
        _, port = self.serve()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/events?after=0", headers={"Accept": "text/event-stream"})
        answer = connection.getresponse()
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        lines = [answer.readline() for _ in range(9)]
        self.assertEqual([line for line in lines if line.startswith(b"id: ")], [b"id: 1\n", b"id: 2\n", b"id: 3\n"])
        connection.close()

    def test_16_streams_are_held_and_another_one_is_refused(self):
        _, port = self.serve()
        held = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(16)]
        for one in held:
            self.addCleanup(one.close)
            one.request("GET", "/events")
            self.assertEqual(one.getresponse().status, 200)
        self.assertEqual(self.get(port, "/events")[0], 503)
        self.assertEqual(self.get(port, "/healthz")[0], 200)


if __name__ == "__main__":
    story.main()
