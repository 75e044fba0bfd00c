# SPDX-License-Identifier: MIT
"""Bad days of a fleet: each ends as one sentence or a counted class, and every job ends in the end."""
import os
import shutil
import subprocess
import threading
import time

import lab_case
import story

FAKE = ("--devices", "fake:0", "--quiet-wait", "0")
STEPS = "perf_compile,perf_eval"
CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(id, t);
  if (status == 0 && id == CLOCK_REALTIME) t->tv_sec += OFFSET;
  return status;
}
int gettimeofday(struct timeval* t, void* zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
"""
# Says 1 GB, and that it does not compile.
LOUD_COMPILER = """#!/bin/sh
case " $* " in *kernel.c*) head -c 1000000000 /dev/zero | tr '\\\\0' e >&2; exit 1;; esac
exec {compiler} "$@"
"""


class Day:
    def begin(self, count, device="fake:0", steps=STEPS):
        self.put("lines.txt", "".join(f"MIOpenDriver conv -n {n} -c 4 -H 7 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1\n"
                                      for n in range(1, count + 1)))
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", device)
        self.attune("session", "init", "-l", "why", "--devices", device)
        self.attune("applicability", "update", "--session", "1")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", steps, "-o", "-l", "why")

    def run_agent(self, *more, **how):
        return self.attune("fleet", "run", "--session", "1", *FAKE, *more, **how)

    def start_agent(self, name, *more, **how):
        return self.start("fleet", "run", "--session", "1", *FAKE, "--journal", self.folder / f"{name}.db", *more, **how)

    def wait_for_results(self, agent, count):
        end = time.monotonic() + 60
        while int(self.sql("SELECT count(*) FROM job WHERE state = 'done'")[0][0]) < count:
            self.assertFalse(agent.has_ended(), agent.errors())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def check_each_job_ended_once(self):
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["done"]])
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE class = 'ok'"), self.sql("SELECT count(*) FROM job"))
        self.assertEqual(self.sql("SELECT count(*) FROM job WHERE attempts > 0"), [["0"]])

    def check_is_one_sentence(self, result):
        errors = [line for line in result.stderr.splitlines() if line.startswith("attune: ")]
        self.assertLessEqual(len(errors), 1, str(result))
        for word in ("HINT", "terminate called", "what():", "Assertion", "Traceback", "soci"):
            self.assertNotIn(word, result.stderr)


class OnServers(Day):
    def test_connections_that_are_killed_all_the_time(self):
        self.begin(15)
        stop = threading.Event()
        num_killed = []

        def kill_connections():
            while not stop.wait(0.1):
                if self.server == "mariadb":
                    ids = self.sql(f"SELECT id FROM information_schema.processlist WHERE db = '{self.database}'"
                                   " AND id <> connection_id()")
                    for one, in ids:
                        subprocess.run(self.client_command(f"KILL {one}"), env=self.client_environment(), capture_output=True)
                        num_killed.append(one)
                else:
                    num_killed.extend(self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
                                               f" '{self.database}' AND application_name = 'attune'", "postgres"))

        agent = self.start_agent("a")
        killer = threading.Thread(target=kill_connections)
        killer.start()
        try:
            result = agent.wait(timeout=120)
        finally:
            stop.set()
            killer.join()
        self.assertEqual(result.status, 0, str(result))
        self.assertGreater(len(num_killed), 5)
        self.check_each_job_ended_once()

    def test_a_full_disk_of_the_server_is_a_sentence_and_its_jobs_go_on_later(self):
        if self.server == "mariadb" and not os.environ.get("ATTUNE_LAB_LONG"):
            self.skipTest("ATTUNE_LAB_LONG is not set: the other server has a full disk")
        self.check_may_mount()
        self.begin(15)
        data = self.lab_folder / self.server / "data"
        self.lab("stop")
        before = data.with_name("before")
        data.rename(before)
        data.mkdir()
        size = sum(path.stat().st_blocks for path in before.rglob("*") if path.is_file()) * 512 + (40 << 20)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", data], check=True)
        self.addCleanup(self.unmount, data, before)
        subprocess.run(["cp", "-a", "--sparse=always", f"{before}/.", data], check=True)
        shutil.copystat(before, data)
        os.chown(data, before.stat().st_uid, before.stat().st_gid)
        self.lab("start")
        agent = self.start_agent("a", "--patience", "3s")
        self.wait_for_results(agent, 16)
        with open(data / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                pass
        self.sql_or_nothing("CREATE TABLE filler (a VARCHAR(200))")
        rows = ",".join(["('" + "x" * 180 + "')"] * 300)
        answers = [self.sql_or_nothing(f"INSERT INTO filler VALUES {rows}") for _ in range(12)]
        self.assertIn(None, answers, "the server refused no write")
        result = agent.wait(timeout=120)
        print(f"{self.server}, full: status {result.status}, {result.stderr.splitlines()[-1][:300]}", flush=True)
        self.assertIn(result.status, (0, 1, 3), str(result))
        self.check_is_one_sentence(result)
        (data / "filler").unlink()
        self.lab("stop")
        self.lab("start")
        again = self.run_agent("--journal", self.folder / "a.db", status=None, timeout=120)
        self.assertEqual(again.status, 0, str(again))
        self.check_each_job_ended_once()

    def check_may_mount(self):
        folder = self.folder / "mounted"
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
        if os.getuid() != 0 or mounted.returncode != 0:
            self.skipTest("mounting a small tmpfs is not permitted")
        subprocess.run(["umount", folder], check=True)

    def unmount(self, data, before):
        self.lab("stop")
        subprocess.run(["umount", data], check=True)
        data.rmdir()
        before.rename(data)
        self.lab("start")

    def test_a_clock_that_is_an_hour_off(self):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        self.begin(20)
        running = []
        for name, offset in (("late", -3600), ("early", 3600)):
            source, library = self.put(f"{name}.c", CLOCK), self.folder / f"{name}.so"
            subprocess.run([compiler, "-shared", "-fPIC", f"-DOFFSET={offset}", "-o", library, source, "-ldl"], check=True)
            running.append(self.start_agent(name, env={"LD_PRELOAD": str(library)}))
        running.append(self.start_agent("right"))
        for agent in running:
            result = agent.wait(timeout=120)
            self.assertEqual(result.status, 0, str(result))
        self.check_each_job_ended_once()
        self.assertEqual(self.sql("SELECT count(*) FROM event"), [["0"]])
        began = self.sql("SELECT max(began) - min(began) FROM attempt")[0][0]
        self.assertLess(int(began), 600_000, "attempts have the times of the database's clock")


class OnServersMariadb(OnServers, lab_case.LabStory):
    server = "mariadb"

    def test_a_result_that_is_longer_than_max_allowed_packet(self):
        self.begin(2)
        before = self.sql("SELECT @@global.max_allowed_packet")[0][0]
        self.addCleanup(self.sql, f"SET GLOBAL max_allowed_packet = {before}")
        self.sql("SET GLOBAL max_allowed_packet = 4096")
        result = self.run_agent("--patience", "5s", status=None)
        self.assertEqual(result.status, 3, str(result))
        self.check_is_one_sentence(result)
        self.assertIn("max_allowed_packet", result.stderr)
        self.sql(f"SET GLOBAL max_allowed_packet = {before}")
        self.run_agent()
        self.check_each_job_ended_once()


class OnServersPostgresql(OnServers, lab_case.LabStory):
    server = "postgresql"


class InAFile(Day, lab_case.FileStory):
    def test_a_run_without_jobs_is_one_sentence(self):
        self.begin(1)
        self.attune("session", "init", "-l", "another", *FAKE[:2])
        self.refused("fleet", "run", "--session", "2", *FAKE, says="session 2 has no jobs, load some first")

    def test_an_agent_leaves_the_jobs_of_another_session(self):
        self.begin(2)
        self.attune("session", "init", "-l", "another", *FAKE[:2])
        self.attune("applicability", "update", "--session", "2")
        self.attune("jobs", "load", "--session", "2", "-t", "t", "--steps", STEPS, "-o", "-l", "why")
        self.attune("fleet", "run", "--session", "2", *FAKE)
        self.assertEqual(self.sql("SELECT DISTINCT session, state FROM job ORDER BY session"), [["1", "queued"], ["2", "done"]])
        self.attune("jobs", "reset", "--session", "2", "--class", "crashed")
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job WHERE session = 1"), [["queued"]])

    def test_a_gigabyte_of_compiler_output_is_a_failed_compile(self):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        loud = self.put("loud", LOUD_COMPILER.format(compiler=compiler))
        loud.chmod(0o755)
        self.begin(1, device="cpu:0", steps="perf_compile")
        env = {"ATTUNE_CC": str(loud), "ATTUNE_CACHE": str(self.folder / "kernels")}
        result = self.attune("fleet", "run", "--session", "1", "--steps", "perf_compile", "--json", "--max-trials", "2",
                             status=None, timeout=300, env=env)
        print(f"a gigabyte of output: {result.seconds:.1f} s, {result.max_rss_kib >> 10} MiB", flush=True)
        self.check_is_one_sentence(result)
        self.assertLess(result.max_rss_kib, 300 << 10)
        self.assertNotIn("leased", {state for state, in self.sql("SELECT DISTINCT state FROM job")})
        self.assertIn(["compile_failed"], self.sql("SELECT DISTINCT class FROM attempt"), str(result))


if __name__ == "__main__":
    del Day, OnServers
    story.main()
