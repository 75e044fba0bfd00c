# SPDX-License-Identifier: MIT
"""Schemathesis asks the data of `attune serve` in all ways that its OpenAPI document allows, and in some that it does not: every answer is as
the document says, and none is a failure of the server."""
import os
import shutil
import subprocess
import sys
import urllib.request

import story
from story import FAKE, SHAPES

PROGRAM = shutil.which("schemathesis", path=os.environ.get("ATTUNE_CLIENTS", ""))
# unsupported_method: a method that HTTP does not know is answered with 400 by the library, before a route is looked for.
# positive_data_acceptance: a problem's key is a text that is no problem more often than not, and then refused with 400.
LEFT_OUT = "unsupported_method,positive_data_acceptance"


class Schemathesis(story.Story):
    def test_every_answer_is_as_the_document_says(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.attune("quarantine", "add", "fake.gemm@1:x=1", "--reason", "<b>wrong</b>")
        faults = self.put("faults.tsv", "*\tsplit_k=1;tile_m=16;tile_n=16\tsegfault\tprepare\talways\n")
        self.put("dies.csv", "M,N,K,dtype\n9,32,64,fp32\n")
        self.attune("tune", "-i", "dies.csv", "-o", "d.csv", "--search", "exhaustive", *FAKE, env={"ATTUNE_FAKE_FAULTS": str(faults)})
        _, port = self.serve("-t", "t.csv")
        url = f"http://127.0.0.1:{port}"
        asked = subprocess.run([PROGRAM, "run", f"{url}/api/v1/openapi.json", "--checks=all", f"--exclude-checks={LEFT_OUT}", "--seed=1",
                                "--max-examples=100", "--max-response-time=2", "--generation-database=none", "--no-color"],
                               cwd=self.work, capture_output=True, text=True, timeout=300, env=self.environment(PATH=os.environ["PATH"]))
        self.assertEqual(asked.returncode, 0, asked.stdout[-6000:] + asked.stderr[-2000:])
        self.assertRegex(asked.stdout, r"[1-9]\d\d+ generated", "it asked next to nothing")
        with urllib.request.urlopen(f"{url}/healthz", timeout=20) as answer:
            self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    if PROGRAM is None:
        print("skipped: schemathesis is not here; tests/clients/run installs it from PyPI")
        sys.exit(77)
    story.main()
