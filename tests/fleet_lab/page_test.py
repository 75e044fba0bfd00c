# SPDX-License-Identifier: MIT
"""`attune serve` beside a store on a server: what its page of the fleet is made of."""
import http.client
import json
import unittest

import lab_case
import story


@unittest.skipUnless(story.HAS_SERVER, "this build has no server, libboost-dev is not installed")
class FleetPage:
    def fleet(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/v1/fleet")
        found = json.loads(connection.getresponse().read())
        connection.close()
        return found

    def test_sessions_held_jobs_and_events_are_read_from_the_server(self):
        self.put("shapes.csv", story.SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")  # A journal, which the server shows.
        self.put("lines.txt", "MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n")
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        self.attune("session", "init", "-l", "why", "--ticket", "T-7", "--devices", "fake:0")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-l", "x")
        now = self.sql("SELECT max(created_at) FROM tuning_session")[0][0]
        self.sql(f"UPDATE job SET state = 'leased', agent = 'n1/7', lease_token = 5, lease_until = {now} + 60000 WHERE step = 'find_compile'")
        self.sql(f"INSERT INTO attempt SELECT id, 5, 'n1/7', {now}, 0, '', '' FROM job WHERE step = 'find_compile'")
        self.sql(f"INSERT INTO event (at, session, job, agent, kind, text) VALUES ({now}, 1, 1, 'n0/1', 'lease_expired', 'gone')")
        _, port = self.serve()
        fleet = self.fleet(port)
        self.assertEqual(fleet["failure"], "")
        self.assertNotIn(self.password, json.dumps(fleet))
        session = fleet["sessions"][0]
        self.assertEqual((session["ticket"], session["jobs"], session["left"]), ("T-7", 2, 2))
        self.assertEqual([(one["agent"], one["step"], one["since_ms"]) for one in fleet["held"]], [("n1/7", "find_compile", int(now))])
        self.assertEqual([one["kind"] for one in fleet["events"]], ["lease_expired"])


globals().update(lab_case.on_each_server(FleetPage))

if __name__ == "__main__":
    story.main()
