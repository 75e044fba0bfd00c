# SPDX-License-Identifier: MIT
"""Debian's Prometheus scrapes `attune serve` while `attune tune` measures, and promtool finds nothing wrong with the metrics."""
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import story
from story import FAKE

SIZES = [(m, n) for m in range(1, 9) for n in (32, 48)]
CONFIG = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
scrape_configs:
- job_name: attune
  authorization: {{credentials_file: {token}}}
  static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus(story.Story):
    def setUp(self):
        super().setUp()
        self.put("first.csv", "M,N,K,dtype\n16,64,64,fp32\n")
        self.attune("tune", "-i", "first.csv", "-o", "t.csv", *FAKE)
        self.token = self.put("token", "0123456789abcdef0123\n")
        os.chmod(self.token, 0o600)
        _, self.port = self.serve("--token-file", str(self.token))

    def scrape(self):
        """Starts a Prometheus that scrapes the server five times a second."""
        self.put("prometheus.yml", CONFIG.format(token=self.token, port=self.port))
        self.listen = f"127.0.0.1:{free_port()}"
        with open(self.work / "prometheus.log", "wb") as log:
            process = subprocess.Popen(["prometheus", f"--config.file={self.work}/prometheus.yml", f"--storage.tsdb.path={self.work}/data",
                                        f"--web.listen-address={self.listen}", "--log.level=warn"], stdout=log, stderr=log, cwd=self.work)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def ask(self, query):
        """The values of an instant query by their labels; none while Prometheus starts."""
        url = f"http://{self.listen}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            return {}
        return {tuple(sorted((k, v) for k, v in one["metric"].items() if k not in ("__name__", "instance", "job"))): float(one["value"][1])
                for one in found}

    def wait_for(self, query, is_right):
        end = time.monotonic() + 30
        while not is_right(found := self.ask(query)):
            self.assertLess(time.monotonic(), end, f"{query}: {found}; {(self.work / 'prometheus.log').read_text()[-2000:]}")
            time.sleep(0.1)
        return found

    def test_a_scrape_beside_a_tuning_has_its_counters(self):
        self.scrape()
        self.wait_for("up", lambda found: found == {(): 1})
        self.wait_for("sum(attune_problems_total)", lambda found: found == {(): 1})
        self.put("more.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},64,fp32\n" for m, n in SIZES))
        tuning = self.start("tune", "-i", "more.csv", "-o", "t.csv", *FAKE)
        self.wait_for('attune_runs{state="open"}', lambda found: found == {(("state", "open"),): 1})
        self.wait_for("sum(attune_problems_total)", lambda found: 1 < found.get((), 0) <= len(SIZES) + 1)
        self.assertEqual(tuning.wait(120).status, 0)
        self.wait_for("sum(attune_problems_total)", lambda found: found == {(): len(SIZES) + 1})
        self.wait_for("attune_runs", lambda found: found == {(("state", "done"),): 2, (("state", "open"),): 0})
        rose = self.ask("sum(max_over_time(attune_problems_total[5m]) - min_over_time(attune_problems_total[5m]))")
        self.assertGreater(rose[()], 0, "no scrape lies between the first problem and the last")
        candidates = self.ask("attune_candidates_total")
        self.assertTrue(any(dict(labels) == {"solver": "fake.gemm", "status": "ok"} for labels in candidates), candidates)
        for name in ("attune_best_ratio", "attune_launches_total", "attune_journal_bytes"):
            self.assertGreater(self.ask(name).get((), 0), 0, name)
        self.assertEqual(self.ask("attune_worker_deaths_total"), {(): 0})
        self.assertEqual(self.ask("min_over_time(up[5m])"), {(): 1}, "a scrape has failed")

    def test_promtool_finds_nothing_wrong(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/metrics", headers={"Authorization": "Bearer 0123456789abcdef0123"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""), text.decode())


if __name__ == "__main__":
    missing = [program for program in ("prometheus", "promtool") if shutil.which(program) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed, run tools/setup check")
        sys.exit(77)
    story.main()
