# SPDX-License-Identifier: MIT
"""The fleet's store on MariaDB and PostgreSQL: its unit tests, the steps of a session, and servers that refuse."""
import os
import subprocess
import time

import lab_case
import story

LINES = """./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1
./bin/MIOpenDriver conv -n 1 -c 4 -H 7 -W 7 -k 6 -y 1 -x 1 -F 2
./bin/MIOpenDriver conv -n 1 -c 4 -H 6 -W 5 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 4
"""
FAKE = ("--devices", "fake:0")


class Store:
    def test_unit_tests_of_the_store(self):
        tests = os.environ.get("ATTUNE_STORE_TESTS")
        if not tests:
            self.skipTest("ATTUNE_STORE_TESTS does not name the program")
        done = subprocess.run([tests, f"--gtest_filter=*/{self.server}", "--gtest_brief=1"], capture_output=True, text=True,
                              env={**os.environ, **self.lab_environment}, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\b[3-9][0-9] tests? from")

    def steps(self, **how):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "few", "-f", "lines.txt", **how)
        self.attune("solvers", "update", *FAKE, **how)
        self.attune("session", "init", "-l", "it's \"one\"; --", *FAKE, **how)
        self.attune("applicability", "update", "--session", "1", **how)
        self.attune("jobs", "load", "--session", "1", "-t", "few", "--steps", "perf_compile,perf_eval", "-o", "-l", "why", **how)
        self.attune("fleet", "run", "--session", "1", "--steps", "perf_compile", *FAKE, "--quiet-wait", "0", **how)
        self.attune("fleet", "run", "--session", "1", "--steps", "perf_eval", *FAKE, "--quiet-wait", "0", **how)
        self.attune("export", "--session", "1", "-f", "-p", "-k", "-c", "-o", "files", **how)
        return {path.name: {line.split("=")[0].split("|")[0] for line in path.read_text().splitlines()}
                for path in (self.work / "files").glob("*.fdb.txt")}

    def test_a_session_ends_with_the_files_of_one_in_sqlite(self):
        found = self.steps()
        self.assertEqual({state for _, state in self.sql("SELECT DISTINCT step, state FROM job")}, {"done"})
        self.assertIn("0 jobs queued again",
                      self.attune("jobs", "reset", "--session", "1", "--class", "crashed").stdout)
        self.assertEqual(self.attune("status", "--session", "1", "--json").json["session"], 1)
        for file in (self.work / "files").iterdir():
            file.unlink()
        self.assertEqual(self.steps(env={"ATTUNE_STORE": f"sqlite:{self.folder / 'other.db'}"}), found)

    def test_what_the_server_refuses_is_one_sentence_without_the_password(self):
        listing = ("configs", "list")
        other = self.store.replace(self.database, "not_there")
        nobody = self.store.replace("attune@", "nobody@")
        for store, password, says in ((self.store, "wrong'\\ one", "refuses to be used"), (other, self.password, "refuses to be used"),
                                      (nobody, self.password, "refuses to be used"), (self.store + "?tls=require", self.password, "")):
            with self.subTest(store):
                self.refused(*listing, env={"ATTUNE_STORE": store, "ATTUNE_STORE_PASSWORD": password}, says=says)
                said = self.attune(*listing, status=2, env={"ATTUNE_STORE": store, "ATTUNE_STORE_PASSWORD": password})
                self.assertNotIn(password, said.stderr)
                self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)

    def test_a_server_that_is_away_is_one_sentence(self):
        away = f"{self.server}://attune@127.0.0.1:1/x"
        said = self.attune("configs", "list", status=3, env={"ATTUNE_STORE": away})
        self.assertIn("does not answer", said.stderr)
        self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)

    def test_an_unknown_host_is_a_server_that_is_away(self):
        env = {"ATTUNE_STORE": f"{self.server}://attune@no-such-host.invalid/x"}
        said = self.attune("configs", "list", status=3, env=env)
        self.assertIn("does not answer", said.stderr)
        self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)
        agent = self.attune("fleet", "run", "--session", "1", *FAKE, "--patience", "2s", status=3, env=env)
        self.assertIn("waiting for at most 2", agent.stderr)

    def test_a_key_that_is_there_twice_is_one_error(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "few", "-f", "lines.txt")
        self.put("a.fdb.txt", "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=S:0.5,72,A\n")
        self.sql("CREATE UNIQUE INDEX mine ON foreign_result (algorithm)")
        self.put("b.fdb.txt", "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=S:0.5,72,A;T:0.6,0,A\n")
        self.attune("configs", "import", "-t", "few", "-f", "a.fdb.txt", "--results")
        began = time.monotonic()
        said = self.attune("configs", "import", "-t", "few", "-f", "b.fdb.txt", "--results", status=3)
        self.assertRegex(said.stderr, "(?i)duplicate")
        self.assertLess(time.monotonic() - began, 15)

    def test_a_missing_library_names_its_package(self):
        package = {"mariadb": "libsoci-mysql4.0", "postgresql": "libsoci-postgresql4.0"}[self.server]
        library = {"mariadb": "libsoci_mysql.so.4.0", "postgresql": "libsoci_postgresql.so.4.0"}[self.server]
        self.put(library, "")  # The loader takes it for a broken one.
        self.refused("configs", "list", env={"SOCI_BACKENDS_PATH": str(self.work), "LD_LIBRARY_PATH": str(self.work)},
                     says=package)

    def test_a_newer_schema_is_refused_and_one_without_rights(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "few", "-f", "lines.txt")
        self.sql("INSERT INTO schema_version VALUES (99, 0, 'attune 99')")
        self.refused("configs", "list", says="schema 99")
        if self.server == "mariadb":
            self.sql("CREATE USER reader@'%' IDENTIFIED BY 'reader'")
            self.sql(f"CREATE DATABASE {self.database}_2")
            self.sql(f"GRANT SELECT ON {self.database}_2.* TO reader@'%'")
        else:
            self.sql("CREATE USER reader PASSWORD 'reader'")
            self.sql(f"CREATE DATABASE {self.database}_2")
        store = self.store.replace("attune@", "reader@") + "_2"
        self.refused("configs", "import", "-t", "few", "-f", "lines.txt", says="denied",
                     env={"ATTUNE_STORE": store, "ATTUNE_STORE_PASSWORD": "reader"})

    def test_the_password_of_a_file(self):
        self.put("secret", self.password + "\n")
        os.chmod(self.work / "secret", 0o644)
        named = {"ATTUNE_STORE": f"{self.store}?password_file={self.work / 'secret'}", "ATTUNE_STORE_PASSWORD": ""}
        self.refused("configs", "list", env=named, says="chmod 600")
        os.chmod(self.work / "secret", 0o600)
        self.attune("configs", "list", env=named)


globals().update(lab_case.on_each_server(Store))

if __name__ == "__main__":
    story.main()
