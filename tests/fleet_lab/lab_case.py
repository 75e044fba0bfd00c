# SPDX-License-Identifier: MIT
"""Stories about a store on a server that tools/lab starts: one class a server."""
import contextlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import story

LAB = story.REPOSITORY / "tools" / "lab"
NOT_INSTALLED = 77


class LabStory(story.Story):
    """A class for a server names it; its tests have a database each."""

    server = None
    num_databases = 0

    @classmethod
    def setUpClass(cls):
        # Short: the sockets are in it.
        cls.lab_folder = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
        os.chmod(cls.lab_folder, 0o711)
        cls.addClassCleanup(cls.end_lab)
        cls.lab_environment = dict(re.findall(r"export (\w+)=(.*)", cls.lab("start")))

    @classmethod
    def end_lab(cls):
        try:
            cls.lab("stop")
        finally:
            shutil.rmtree(cls.lab_folder, ignore_errors=True)

    @classmethod
    def lab(cls, verb, name=None):
        done = subprocess.run([LAB, verb, name or cls.server, "--folder", cls.lab_folder], capture_output=True, text=True)
        if done.returncode == NOT_INSTALLED:
            raise unittest.SkipTest(done.stderr.strip().removeprefix("tools/lab: "))
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def setUp(self):
        super().setUp()
        self.password = (self.lab_folder / "password").read_text().strip()
        LabStory.num_databases += 1
        self.address = self.lab_environment[f"ATTUNE_LAB_{self.server.upper()}"]
        self.database = f"story_{os.getpid()}_{LabStory.num_databases}"
        self.sql(f"CREATE DATABASE {self.database}", database={"mariadb": "mysql", "postgresql": "postgres"}[self.server])
        self.store = f"{self.address}/{self.database}"

    def environment(self, **more):
        return super().environment(**{"ATTUNE_STORE": self.store, "ATTUNE_STORE_PASSWORD": self.password, **more})

    def client_command(self, text, database=None):
        user, host, port = re.fullmatch(r"\w+://(\w+)@([\d.]+):(\d+)", self.address).groups()
        database = database or self.database
        if self.server == "mariadb":
            return ["mariadb", "--no-defaults", "-N", "-B", "-h", host, "-P", port, "-u", user, database, "-e", text]
        return ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-h", host, "-p", port, "-U", user, "-d", database, "-c", text]

    def client_environment(self):
        return {**os.environ, "MYSQL_PWD": self.password, "PGPASSWORD": self.password}

    def sql_or_nothing(self, text, database=None):
        """What a query gives, as lines of words; None: it fails."""
        done = subprocess.run(self.client_command(text, database), capture_output=True, text=True, env=self.client_environment())
        return [line.split("\t") for line in done.stdout.splitlines()] if done.returncode == 0 else None

    def sql(self, text, database=None):
        done = subprocess.run(self.client_command(text, database), capture_output=True, text=True, env=self.client_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]


class FileStory(story.Story):
    """The same for a store in a file, which no server keeps."""

    server = "sqlite"

    def setUp(self):
        super().setUp()
        self.store = f"sqlite:{self.folder / 'fleet.db'}"

    def environment(self, **more):
        return super().environment(**{"ATTUNE_STORE": self.store, **more})

    def sql(self, text):
        with contextlib.closing(sqlite3.connect(self.folder / "fleet.db", timeout=60)) as database:
            return [["" if one is None else str(one) for one in row] for row in database.execute(text)]


def is_installed(server):
    return subprocess.run([LAB, "status", server], capture_output=True).returncode != NOT_INSTALLED


def run_as_plain_user():
    """As root: runs this program again as the user of tools/lab, who must be the one that submits to its Slurm."""
    if os.getuid() != 0:
        return
    loader = importlib.machinery.SourceFileLoader("lab", str(LAB))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab", loader))
    loader.exec_module(module)
    module.make_user()
    os.environ.pop("ATTUNE_CACHE", None)  # Root's.
    program = os.path.abspath(sys.argv[0])
    os.chdir("/")
    os.execvp("setpriv", ["setpriv", f"--reuid={module.USER}", f"--regid={module.USER}", "--clear-groups", sys.executable,
                          "-B", program, *sys.argv[1:]])


def on_each_server(base):
    """Makes a class of each server; returns them by their names for a module's globals()."""
    return {f"{base.__name__}{name}": type(f"{base.__name__}{name}", (base, LabStory), {"server": name.lower()})
            for name in ("Mariadb", "Postgresql")}
