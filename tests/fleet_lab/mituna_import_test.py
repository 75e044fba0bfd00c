# SPDX-License-Identifier: MIT
"""A session of MITuna's database, whose tables are made here, as a session of the fleet's store."""
import os
import re
import subprocess

import lab_case
import story

STAMPS = "id INT PRIMARY KEY AUTO_INCREMENT, valid TINYINT NOT NULL DEFAULT 1"
TABLES = f"""
CREATE TABLE `session` ({STAMPS}, arch VARCHAR(20), num_cu INT, rocm_v VARCHAR(64), miopen_v VARCHAR(64),
  reason VARCHAR(60), ticket VARCHAR(64), docker VARCHAR(128));
CREATE TABLE solver ({STAMPS}, solver VARCHAR(128));
CREATE TABLE tensor ({STAMPS}, dim0 INT, dim1 INT, dim2 INT, dim3 INT, dim4 INT, layout VARCHAR(60), num_dims INT,
  data_type VARCHAR(60));
CREATE TABLE conv_config ({STAMPS}, batchsize INT, spatial_dim INT DEFAULT 2, pad_h INT DEFAULT 0, pad_w INT DEFAULT 0,
  pad_d INT DEFAULT 0, conv_stride_h INT DEFAULT 1, conv_stride_w INT DEFAULT 1, conv_stride_d INT DEFAULT 1,
  dilation_h INT DEFAULT 1, dilation_w INT DEFAULT 1, dilation_d INT DEFAULT 1, group_count INT DEFAULT 1,
  mode VARCHAR(40) DEFAULT 'conv', pad_mode VARCHAR(40) DEFAULT 'default', trans_output_pad_h INT DEFAULT 0,
  trans_output_pad_w INT DEFAULT 0, trans_output_pad_d INT DEFAULT 0, direction VARCHAR(8), input_tensor INT,
  weight_tensor INT, out_layout VARCHAR(60) DEFAULT 'NCHW');
CREATE TABLE conv_config_tags ({STAMPS}, config INT, tag VARCHAR(128), recurrent TINYINT);
CREATE TABLE conv_job ({STAMPS}, config INT, `session` INT, solver VARCHAR(128), state VARCHAR(40));
CREATE TABLE conv_find_db ({STAMPS}, config INT, `session` INT, solver INT, fdb_key VARCHAR(128), params TEXT,
  kernel_time FLOAT, workspace_sz BIGINT, alg_lib VARCHAR(64), opencl TINYINT);
CREATE TABLE conv_golden ({STAMPS}, golden_miopen_v INT, arch VARCHAR(20), num_cu INT, config INT, solver INT,
  params VARCHAR(128), kernel_time FLOAT, workspace_sz BIGINT, alg_lib VARCHAR(64), opencl TINYINT);
"""
ROWS = """
INSERT INTO `session` (arch, num_cu, rocm_v, miopen_v, reason, ticket, docker) VALUES
  ('gfx908', 120, '5.4', 'ab12', 'it''s "one"', 'N/A', 'rocm/miopen:1'), ('gfx90a', 104, '6.0', 'cd34', 'two', 'T-9', 'N/A');
INSERT INTO solver (solver) VALUES ('ConvAsm1x1U'), ('ConvDirectNaiveConvFwd');
INSERT INTO tensor (dim0, dim1, dim2, dim3, dim4, layout, num_dims, data_type) VALUES
  (1, 8, 1, 9, 7, 'NCHW', 2, 'FP32'), (16, 8, 1, 3, 1, 'NCHW', 2, 'FP32'),
  (1, 1, 9, 7, 8, 'NHWC', 2, 'BF16'), (16, 8, 1, 3, 1, 'NHWC', 2, 'BF16'),
  (1, 8, 5, 9, 7, 'NCDHW', 3, 'FP16'), (16, 8, 2, 3, 1, 'NCDHW', 3, 'FP16'),
  (1, 8, 1, 9, 7, 'NCHW', 2, 'FP99');
INSERT INTO conv_config (batchsize, direction, input_tensor, weight_tensor, pad_h) VALUES (4, 'F', 1, 2, 1), (5, 'B', 1, 2, 0);
INSERT INTO conv_config (batchsize, direction, input_tensor, weight_tensor, out_layout) VALUES (4, 'W', 3, 4, 'NHWC');
INSERT INTO conv_config (batchsize, direction, input_tensor, weight_tensor, out_layout, spatial_dim, conv_stride_d)
  VALUES (4, 'F', 5, 6, 'NCDHW', 3, 2);
INSERT INTO conv_config (batchsize, direction, input_tensor, weight_tensor) VALUES (4, 'F', 7, 2), (9, 'F', 1, 2);
INSERT INTO conv_config_tags (config, tag, recurrent) VALUES (1, 'resnet50', 1), (1, 'other', 0), (6, 'unused', 0);
INSERT INTO conv_job (config, `session`, solver, state) VALUES (2, 1, 'ConvAsm1x1U', 'errored'), (4, 1, 'x', 'new'), (5, 1, 'x', 'new'), (6, 2, 'x', 'new');
INSERT INTO conv_find_db (config, `session`, solver, params, kernel_time, workspace_sz, alg_lib, opencl) VALUES
  (1, 1, 1, '1,8,1', 0.25, 64, 'miopenConvolutionFwdAlgoDirect', 0), (1, 1, 1, '', 9, 0, 'x', 1),
  (1, 1, 2, '', -1, 0, NULL, 0), (3, 1, 1, '2', 0.5, 0, 'a', 0), (6, 2, 1, '', 1, 0, 'a', 0);
INSERT INTO conv_golden (golden_miopen_v, arch, num_cu, config, solver, params, kernel_time, workspace_sz, alg_lib, opencl) VALUES
  (2, 'gfx908', 120, 1, 1, '7', 0.125, 0, 'a', 0), (2, 'gfx90a', 104, 1, 2, '8', 0.5, 0, 'a', 0), (1, 'gfx908', 120, 6, 1, '', 1, 0, 'a', 0);
"""


class MitunaImport(lab_case.LabStory):
    server = "mariadb"

    def setUp(self):
        super().setUp()
        self.sql(TABLES + ROWS)
        self.older, self.store = self.store, f"sqlite:{self.folder / 'fleet.db'}"
        self.put("secret", self.password + "\n").chmod(0o600)
        self.from_older = f"{self.older}?password_file={self.work / 'secret'}"

    def environment(self, **more):
        return {**super().environment(), "ATTUNE_STORE_PASSWORD": "another", **more}

    def import_session(self, *more, **how):
        return self.attune("session", "import", "-l", "why", "--from", self.from_older, *more, **how)

    def test_a_session_is_imported_with_its_tags_and_results(self):
        done = self.import_session("--session_id", "1", "-t", "older")
        self.assertIn("session 1 of gfx908/120: 4 configurations, 4 new, 3 results kept as foreign", done.stdout)
        self.assertIn("conv_config 5 is left out: ", done.stderr)
        lines = {one["line"]: one for one in self.attune("configs", "list", "--json").json}
        self.assertEqual(len(lines), 4)
        first = next(one for line, one in lines.items() if " -p 1 " in line)
        self.assertEqual((set(first["tags"]), first["recurrent"]), ({"older", "resnet50", "other"}, True))
        self.assertIn("h=9 w=7", first["problem"])
        problems = {one["problem"] for one in lines.values()}
        for part in ("direction=bwd_data n=5", "layout=NHWC", "d=5 h=9 w=7 k=16 z=2 y=3 x=1 stride_d=2"):
            self.assertTrue([one for one in problems if part in one], f"{part} {problems}")
        shown = self.attune("configs", "show", first["id"]).stdout
        self.assertRegex(shown, r"foreign .*/story_\w+ session 1 ConvAsm1x1U 0.25 ms 1,8,1\n")
        self.assertRegex(shown, r"session 1 ConvDirectNaiveConvFwd\n")
        session = self.attune("session", "show", "1", "--json").json
        self.assertEqual((session["state"], session["image"], session["ticket"]), ("closed", "rocm/miopen:1", ""))
        self.assertEqual((session["versions"]["miopen"], session["device"]["gfx"]), ("ab12", "gfx908"))
        self.assertIn("closed", self.attune("session", "list").stdout)
        self.assertIn("imported from mariadb://", self.attune("status", "--session", "1").stdout)
        again = self.import_session("--session_id", "1", "-t", "older", "--json").json
        self.assertEqual((again["session"]["id"], again["new"], again["results"]), (1, 0, 3))

    def test_the_only_session_needs_no_number(self):
        self.refused("session", "import", "-l", "why", "--from", self.from_older,
                     says=("2 sessions, choose one with --session_id: 1 (gfx908", "2 (gfx90a two)"))
        self.refused("session", "import", "-l", "why", "--from", self.from_older, "--session_id", "7", says="has no session 7")
        self.sql("DELETE FROM `session` WHERE id = 1")
        self.assertIn("session 1 of gfx90a/104: 1 configuration", self.import_session().stdout)
        self.assertEqual(self.attune("session", "show", "1", "--json").json["ticket"], "T-9")

    def test_a_golden_version_is_imported(self):
        importing = ("session", "import", "-l", "why", "--from", self.from_older, "--golden_v")
        self.refused(*importing, "2", says="several devices, choose one with --arch and --num_cu: gfx908 120, gfx90a 104")
        self.refused(*importing, "3", says="no golden version 3")
        self.refused(*importing, "2", "--session_id", "1", says="or a golden version with --golden_v")
        self.assertIn("session 1 of gfx90a/104: 1 configuration, 1 new, 1 result",
                      self.attune(*importing, "2", "-a", "gfx90a", "-n", "104").stdout)
        self.assertIn("session 2 of gfx908/120: 1 configuration, 1 new", self.attune(*importing, "1").stdout)
        first = self.attune("configs", "list", "--json").json[0]
        self.assertIn("golden 2 gfx90a68 ConvDirectNaiveConvFwd 0.5 ms 8", self.attune("configs", "show", first["id"]).stdout)

    def test_a_dump_is_imported_from_the_database_that_it_was_loaded_into(self):
        user, host, port = re.fullmatch(r"\w+://(\w+)@([\d.]+):(\d+)", self.address).groups()
        at = ["--no-defaults", "-h", host, "-P", port, "-u", user]
        secret = {**os.environ, "MYSQL_PWD": self.password}
        with open(self.work / "dump.sql", "wb") as file:
            subprocess.run(["mariadb-dump", *at, "--no-tablespaces", self.database], stdout=file, env=secret, check=True)
        importing = ("session", "import", "-l", "why")
        self.refused(*importing, "-t", "t", "-f", "dump.sql", says="load it into an empty one with `mariadb DATABASE < dump.sql`")
        scratch = self.database + "_scratch"
        self.sql(f"CREATE DATABASE {scratch}", database="mysql")
        with open(self.work / "dump.sql", "rb") as file:
            subprocess.run(["mariadb", *at, scratch], stdin=file, env=secret, check=True)
        secret = f"?password_file={self.work / 'secret'}"
        said = self.attune(*importing, "--from", f"{self.address}/{scratch}{secret}", "--session_id", "2").stdout
        self.assertIn("session 1 of gfx90a/104: 1 configuration", said)

    def test_what_cannot_be_imported_is_one_sentence(self):
        importing = ("session", "import", "-l", "why")
        self.refused(*importing, says="name one source")
        self.refused(*importing, "--from", "postgresql://a@b/c", says="is on MariaDB or MySQL")
        self.refused(*importing, "--from", self.from_older, "-a", "gfx908", "-n", "120", says="MITuna's database states them")
        self.refused(*importing, "--from", self.older, says="reading MITuna's database: ")  # No password.
        empty = self.address + "/mysql?password_file=" + str(self.work / "secret")
        self.refused(*importing, "--from", empty, says="does not have MITuna's tables")
        self.put("dump.sql", "-- MariaDB dump 10.19\n" + TABLES)
        self.refused(*importing, "-t", "t", "-f", "dump.sql", says="mariadb DATABASE < dump.sql")


if __name__ == "__main__":
    story.main()
