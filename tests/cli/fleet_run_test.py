# SPDX-License-Identifier: MIT
"""Tuning sessions from driver lines to MIOpen's files: agents, kills, exports. Most run on fake:0; no time is asserted."""
import re
import signal
import sqlite3
import time
import unittest

import story

LINES = """./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1
./bin/MIOpenDriver conv -n 1 -c 4 -H 7 -W 7 -k 6 -y 1 -x 1 -F 2
./bin/MIOpenDriver conv -n 1 -c 4 -H 6 -W 5 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 4
"""
FAKE = ("--devices", "fake:0")
QUIET = ("--quiet-wait", "0")


class Session(story.Story):
    """A session of three convolutions with the jobs of some steps."""

    device = FAKE

    def begin(self, steps, lines=LINES, applicable=True):
        self.put("lines.txt", lines)
        self.attune("configs", "import", "-t", "few", "-f", "lines.txt")
        self.attune("solvers", "update", *self.device)
        self.attune("session", "init", "-l", "test", *self.device)
        self.attune("applicability", "update", "--session", "1")
        only = ("-o",) if applicable else ()
        self.attune("jobs", "load", "--session", "1", "-t", "few", "--steps", steps, *only, "-l", "test")

    def run_steps(self, steps, *arguments, **how):
        return self.attune("fleet", "run", "--session", "1", "--steps", steps, *self.device, *QUIET, *arguments, **how)

    def jobs(self):
        return self.attune("jobs", "list", "--session", "1", "--json").json

    def states(self):
        return {(one["step"], one["solver"], one["problem"]): one["state"] for one in self.jobs()}

    def export(self, *what, **how):
        return self.attune("export", "--session", "1", *what, "--json", **how).json

    def query(self, sql):
        with sqlite3.connect(self.home / "fleet.db") as store:
            return store.execute(sql).fetchall()

    def change(self, sql, *values):
        with sqlite3.connect(self.home / "fleet.db") as store:
            store.execute(sql, values)

    def check_files(self, platform="HOST", num_keys=3):
        """Exports all files and has each parsed again."""
        made = self.export("-f", "-p", "-k", "-c", "-o", "files")
        self.assertEqual(made["lacking"], [])
        names = [one["file"].rsplit("/", 1)[1] for one in made["files"]]
        stem = names[1].removesuffix(".db")
        self.assertEqual(names, [f"{stem}.{platform}.fdb.txt", f"{stem}.db", f"{stem}.db.txt", f"{stem}.kdb",
                                 "conv_tuned.csv"])
        for name in names[:-1]:
            self.attune("check", f"files/{name}")
        find_db = self.read(f"files/{names[0]}").splitlines()
        self.assertEqual(len(find_db), num_keys)
        self.assertEqual(find_db, sorted(find_db))
        self.assertEqual(len(self.rows("files/conv_tuned.csv")), num_keys)
        return names


class FakeSession(Session):
    def test_perf_steps_alone_end_with_all_files(self):
        self.begin("perf_compile,perf_eval")
        self.assertIn("perf_contest", {step for step, _, _ in self.states()})
        result = self.attune("fleet", "run", "--session", "1", "--steps", "miopen_perf_compile")
        self.assertRegex(result.stdout, "[0-9]+ jobs done")
        done = self.run_steps("perf_eval", "--json").json
        self.assertEqual((done["ending"], done["failed"], done["given_back"], done["left"]), ("done", 0, 0, []))
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(self.run_steps("perf_compile,perf_eval", "--json").json["jobs"], [])
        names = self.check_files()
        for line in self.read(f"files/{names[0]}").splitlines():
            self.assertRegex(line, r"-(F|B|W)=fake\.conv:[0-9.]+,[0-9]+,miopenConvolution(Fwd|BwdData|BwdWeights)Algo")

    def test_find_steps_alone_do_so_without_a_search(self):
        self.begin("find_compile,find_eval")
        self.run_steps("find_compile,find_eval")
        self.assertEqual(set(self.states().values()), {"done"})
        self.check_files()
        tried = {story.candidate_name(one["candidate"]) for kind, one in self.journal() if kind == "record"}
        self.assertEqual(len([name for name in tried if "fake.conv" in name]), 1)

    def test_without_steps_all_loaded_ones_are_run(self):
        self.begin("find_compile,find_eval")
        done = self.attune("fleet", "run", "--session", "1", *self.device, *QUIET, "--json").json
        self.assertEqual((done["ending"], done["left"]), ("done", []))
        self.assertEqual(set(self.states().values()), {"done"})

    def test_an_export_is_compared_with_the_file_that_it_replaces(self):
        self.begin("find_compile,find_eval")
        self.run_steps("find_compile,find_eval")
        first = self.export("-f", "-p", "-k", "-c")
        self.assertFalse([one for one in first["files"] if "against_previous" in one])
        again = self.export("-f", "-p", "-k", "-c")
        for one in again["files"]:
            counts = one["against_previous"]["counts"]
            self.assertEqual(sum(counts.values()), counts["same"], str(one))
        path = self.work / again["files"][0]["file"].rsplit("/", 1)[-1]
        lines = path.read_text().splitlines()
        slow, rest = lines[0].split("=")[0], lines[1]
        path.write_text(f"{slow}=fake.conv:1e-9,0,A\n{rest.split('=')[0]}=fake.conv:99999,0,A\n"
                        "8-9-8-3x3-8-9-8-99-1x1-1x1-1x1-0-NCHW-FP32-F=other.conv:1,0,A\n")
        result = self.attune("export", "--session", "1", "-f")
        for says in (f"slower   {slow}: fake.conv 1e-09 ms → fake.conv", f"faster   {rest.split('=')[0]}: ",
                     "missing  8-9-8-3x3-8-9-8-99-1x1-1x1-1x1-0-NCHW-FP32-F: no configuration of this export has the key",
                     "against the file before: 1 slower, 1 missing, 1 faster, 1 added, 0 the same"):
            self.assertIn(says, result.stdout)

    def test_golden_sets_keep_the_best_known_results(self):
        self.begin("find_compile,find_eval")
        self.run_steps("find_compile,find_eval")
        self.assertIn("no golden set", self.attune("golden", "list").stdout)
        self.refused("golden", "diff", "--golden_v", "1", "--session", "1", says="there is no golden set 1")
        made = self.attune("golden", "update", "--golden_v", "1", "--session", "1", "--force", "--json").json
        self.assertEqual((made["added"], made["refused"], made["lacking"]), (3, [], []))
        self.assertEqual(self.attune("tuna", "update_golden", "--golden_v", "2", "--base_golden_v", "1", "--session_id", "1",
                                     "--overwrite", "--json").json["same"], 3)
        one, two = self.attune("golden", "list", "--json").json
        self.assertEqual((one["version"], one["entries"], two["version"]), (1, 3, 2))
        self.assertIn("3 the same", self.attune("golden", "diff", "--golden_v", "2", "--base", "1").stdout)
        self.assertIn("3 the same", self.attune("golden", "diff", "--golden_v", "2", "--session", "1").stdout)
        session = self.export("-f", "-p", "-k", "-o", "a")
        golden = self.attune("export", "--golden_v", "1", "-f", "-p", "-k", "-o", "b", "--json").json
        self.assertEqual([one["content"] for one in golden["files"]], [one["content"] for one in session["files"]])
        for path in (self.work / "a").glob("*.txt"):
            self.assertEqual((self.work / "b" / path.name).read_bytes(), path.read_bytes())
        for arguments, says in ((("export", "-f"), "say whose results"), (("export", "--golden_v", "7", "-f"), "no golden set 7"),
                                (("export", "--golden_v", "1", "--session", "1", "-f"), "say whose results"),
                                (("golden", "diff", "--golden_v", "1"), "--base"),
                                (("golden", "update", "--golden_v", "1", "--base", "1", "--session", "1"), "another version")):
            self.refused(*arguments, says=says)

    def test_stale_configurations_are_tuned_again(self):
        self.begin("find_compile,find_eval")
        self.run_steps("find_compile,find_eval")
        init = ("session", "init", "--retune-stale", *self.device, "-l")
        self.assertEqual(self.attune(*init, "test").stdout, "session 1\nno configuration is stale\n")
        with sqlite3.connect(self.home / "fleet.db") as store:
            store.execute("UPDATE decision SET payload = replace(payload, '\"fake.conv\":\"1', '\"fake.conv\":\"0.1')")
        result = self.attune(*init, "again").stdout
        self.assertIn("session 2\nstale conv direction", result)
        self.assertIn("3 configurations tagged retune-2, ", result)
        self.attune("fleet", "run", "--session", "2", *self.device, *QUIET)
        self.assertEqual(self.attune("export", "--session", "2", "-t", "retune-2", "-f", "--json").json["lacking"], [])

    def test_a_solver_that_does_not_apply_ends_unsupported(self):
        self.begin("perf_compile,perf_eval", applicable=False)
        done = self.run_steps("perf_compile,perf_eval", "--json").json
        self.assertEqual((done["failed"], done["left"]), (0, []))
        self.assertLessEqual(set(self.states().values()), {"done", "excluded"})
        self.check_files()

    def test_an_eval_step_waits_for_its_compile_step(self):
        self.begin("perf_compile,perf_eval")
        result = self.run_steps("perf_eval", status=1)
        self.assertIn("attune fleet run --session 1 --steps perf_compile", result.stderr)

    def test_another_environment_is_refused_and_each_difference_named(self):
        self.begin("find_compile,find_eval")
        result = self.run_steps("find_compile", status=4, env={"BLIS_ARCH_TYPE": "3"})
        self.assertIn("BLIS_ARCH_TYPE is absent in the session and '3' here", result.stderr)
        self.assertEqual(set(self.states().values()), {"queued"})
        with sqlite3.connect(self.home / "fleet.db") as store:
            store.execute("UPDATE session_solver SET version = '0' WHERE solver = 'fake.conv' AND op = 'conv'")
            store.execute("UPDATE solver SET version = '0' WHERE id = 'fake.conv' AND op = 'conv'")
        result = self.run_steps("find_compile", status=4)
        self.assertRegex(result.stderr, "fake.conv for conv is '0' in the session and '[0-9]+' here")

    def test_an_agent_whose_device_fails_ends_with_the_reason_in_the_store(self):
        self.begin("find_compile,find_eval")
        broken = self.put("broken", "")
        result = self.run_steps("find_eval", status=5, env={"ATTUNE_FAKE_BROKEN_DEVICE": str(broken)})
        self.assertIn("the device is lost", result.stderr)
        (lost,) = self.attune("fleet", "status", "--session", "1", "--json").json["lost_devices"]
        self.assertIn(lost["why"], result.stderr)
        self.assertEqual(set(self.states().values()), {"queued"})
        self.run_steps("find_compile,find_eval")
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(self.query("SELECT max(attempts) FROM job"), [(0,)])

    def test_compile_steps_need_no_device(self):
        self.begin("find_compile,find_eval")
        broken = self.put("broken", "")
        done = self.attune("fleet", "run", "--session", "1", "--steps", "find_compile", "--json",
                           env={"ATTUNE_FAKE_BROKEN_DEVICE": str(broken)}).json
        self.assertEqual((done["failed"], done["unsupported"], done["left"]), (0, 0, []))
        self.assertEqual({state for (step, _, _), state in self.states().items() if step == "find_compile"}, {"done"})

    def test_an_eval_step_waits_for_agents_that_compile(self):
        self.begin("perf_compile,perf_eval")
        measuring = self.start("fleet", "run", "--session", "1", "--steps", "perf_eval", *self.device, *QUIET, "--wait", "60s")
        end = time.monotonic() + 30
        while "of a step before" not in measuring.errors() and time.monotonic() < end:
            time.sleep(0.05)
        self.run_steps("perf_compile", status=None)
        self.assertEqual(measuring.wait().status, 0)
        self.assertEqual(set(self.states().values()), {"done"})
        self.attune("fleet", "run", "--session", "1", "--wait", "soon", status=2)

    def test_without_a_store_none_is_made(self):
        self.refused("fleet", "run", "--session", "1", "--steps", "find_eval", *self.device, says="no fleet's store yet")
        self.assertFalse((self.home / "fleet.db").exists())

    def test_bad_input_is_one_sentence(self):
        self.begin("find_compile,find_eval")
        for arguments, says in (("--session 7 --steps find_eval", "7"), ("--session 1 --steps tune", "'tune'"),
                                ("--session 1 --steps find_eval --budget soon", "--budget"),
                                ("--session 0 --steps find_eval", "--session")):
            with self.subTest(arguments):
                result = self.attune("fleet", "run", *arguments.split(), *self.device, status=2)
                self.assertEqual(len(result.stderr.splitlines()), 1, str(result))
                self.assertIn(says, result.stderr)
        self.refused("export", "--session", "1", says="say what to export")
        self.refused("fleet", says="attune fleet needs one of its commands: run, submit, ")

    def test_an_export_lists_what_it_lacks_and_writes_the_rest(self):
        self.begin("find_compile,find_eval")
        made = self.export("-f", "-c", "-t", "few", status=1)
        self.assertEqual(len(made["lacking"]), 3)
        self.assertEqual((made["files"], list(self.work.glob("*fdb*")), list(self.work.glob("conv_tuned*"))), ([], [], []))
        self.assertIn("no configuration is decided, so no file is written", made["notices"][0])
        self.assertTrue(all(one["reason"] for one in made["lacking"]))
        self.run_steps("find_compile,find_eval")
        self.put("more.txt", LINES.replace("-n 1 -c 4 -H 6", "-n 3 -c 4 -H 6"))
        self.attune("configs", "import", "-t", "few", "-f", "more.txt")
        result = self.attune("export", "--session", "1", "-f", "-t", "few", status=1)
        self.assertIn("lacks conv", result.stderr)
        self.assertIn("the files lack 1 configuration", result.stderr)
        self.assertEqual(sum(len(path.read_text().splitlines()) for path in self.work.glob("*.fdb.txt")), 3)

    def test_an_export_refuses_to_replace_another_file(self):
        self.begin("find_compile,find_eval")
        self.run_steps("find_compile,find_eval")
        made = self.export("-k")
        name = made["files"][0]["file"].rsplit("/", 1)[-1]
        left = self.put(f".{name}.999999.0.tmp", "half of a file")  # By an export that was killed.
        self.export("-k")
        self.assertFalse(left.exists())
        self.put(name, "a letter")
        self.refused("export", "--session", "1", "-k", says="name another folder with -o")
        what = ("export", "--session", "1", "-f", "-c")
        self.put("conv_tuned.csv", "date,amount\n")
        self.refused(*what, says="conv_tuned.csv:1: ")
        (self.work / "conv_tuned.csv").unlink()
        (self.work / "conv_tuned.csv").mkdir()
        self.refused(*what, says="not a regular file")
        self.assertEqual(list(self.work.glob("*.fdb.txt")), [])


class Interrupted(Session):
    def test_a_signal_gives_leases_back(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                if number == signal.SIGTERM:
                    self.begin("perf_compile,perf_eval")
                running = self.start("fleet", "run", "--session", "1", "--steps", "perf_compile,perf_eval",
                                     *self.device, *QUIET)
                self.wait_for_a_lease(running)
                running.send(number)
                result = running.wait()
                if number == signal.SIGTERM:
                    self.assertEqual(result.status, 0, str(result))
                    self.assertRegex(result.stdout, "drained|jobs done in")
                elif result.status != 0:  # It had ended before the signal came.
                    self.assertEqual(result.status, 128 + number, str(result))
                self.assertNotIn("leased", self.states().values())

    def wait_for_a_lease(self, running):
        end = time.monotonic() + 30
        while time.monotonic() < end and not running.has_ended():
            if self.query("SELECT count(*) FROM job WHERE state = 'leased'")[0][0] > 0:
                return
            time.sleep(0.005)

    def test_kills_change_nothing(self):
        """An agent that is killed at many points leaves the same jobs, and no committed one is measured twice."""
        self.begin("perf_compile,perf_eval")
        delay, num_kills = 0.05, 0
        while True:
            running = self.start("fleet", "run", "--session", "1", "--steps", "perf_compile,perf_eval", *self.device,
                                 *QUIET)
            end = time.monotonic() + delay
            while time.monotonic() < end and not running.has_ended():
                time.sleep(0.005)
            if running.has_ended():
                self.assertEqual(running.wait().status, 0)
                break
            running.send(signal.SIGKILL)
            self.assertEqual(running.wait().status, -signal.SIGKILL)
            num_kills += 1
            delay *= 1.3
        self.assertGreater(num_kills, 3)
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(len(self.jobs()), len(self.states()))
        self.assertEqual(set(self.query("SELECT count(*) FROM attempt WHERE class = 'ok' GROUP BY job")), {(1,)})
        self.assertEqual(self.query("SELECT count(*) FROM configuration"), [(3,)])
        self.check_files()


class HostSession(Session):
    device = ("--devices", "cpu:0")

    def test_the_processor_from_lines_to_files(self):
        self.begin("perf_compile,perf_eval", "\n".join(LINES.splitlines()[:1]) + "\n")
        done = self.run_steps("perf_compile,perf_eval", "--max-trials", "4", "--json", timeout=110).json
        self.assertEqual((done["failed"], done["left"]), (0, []), done)
        names = self.check_files(num_keys=1)
        kernels = self.attune("check", f"files/{names[3]}", "--json").json
        self.assertTrue(kernels)
        solvers = {entry.split(":")[0] for entry in self.read(f"files/{names[0]}").split("=", 1)[1].split(";")}
        self.assertIn("conv.im2col", solvers)


    def test_one_agent_compiles_and_another_without_a_compiler_measures_what_is_built(self):
        cache = {"ATTUNE_CACHE": str(self.folder / "shared")}
        nothing = {**cache, "PATH": str(self.work)}
        self.begin("perf_compile,perf_eval", "\n".join(LINES.splitlines()[1:2]) + "\n")
        run = ("fleet", "run", "--session", "1", "--json", "--max-trials", "4")
        refused = self.attune(*run, "--steps", "perf_compile", env=nothing, status=4)
        self.assertRegex(refused.stderr, "compiler.hostcc is '.*' in the session and absent here")
        (versions,), = self.query("SELECT versions FROM environment")
        self.change("UPDATE environment SET versions = ?", re.sub(r'(kernel\.jit_cpu\.conv\W+)\w+', r'\1other', versions))
        refused = self.attune(*run, "--steps", "perf_compile", env=cache, status=4)
        self.assertRegex(refused.stderr, "kernel.jit_cpu.conv is 'other' in the session and '.*' here")
        self.change("UPDATE environment SET versions = ?", versions)
        built = self.attune(*run, "--steps", "perf_compile", env=cache, timeout=110).json
        self.assertEqual((built["failed"], built["left"]), (0, []))
        # An eval job without a compiler goes back for the kernels that its search wants, three times at most.
        measure = ("--steps", "perf_eval", *self.device, *QUIET)
        deferred = 0
        for _ in range(4):
            kernels = story.snapshot(self.folder / "shared")
            measured = self.attune(*run, *measure, env=nothing, timeout=110, status=None)
            self.assertIn("because this machine lacks compiler.hostcc", measured.stderr)
            self.assertEqual(measured.json["failed"], 0, str(measured))
            self.assertEqual({name for name in story.snapshot(self.folder / "shared") if name.endswith(".so")},
                             {name for name in kernels if name.endswith(".so")})
            self.assertEqual(measured.status, 1 if measured.json["deferred"] else 0, str(measured))
            if not measured.json["deferred"]:
                break
            deferred += measured.json["deferred"]
            self.assertRegex(str(measured.json["left"]), "attune fleet run --session 1 --steps perf_compile")
            built = self.attune(*run, "--steps", "perf_compile", env=cache, timeout=110).json
            self.assertEqual((built["failed"], built["left"]), (0, []))
        self.assertGreater(deferred, 0)
        self.assertEqual(measured.json["left"], [], str(measured))
        self.assertEqual(set(self.states().values()), {"done"})
        self.assertEqual(self.query("SELECT max(attempts) FROM job"), [(0,)])
        found = {solver for solver, in self.query("SELECT DISTINCT solver FROM shortlist")}
        self.assertTrue(found & {"jit_cpu.conv", "conv.im2col"}, found)


if __name__ == "__main__":
    story.main()
