# SPDX-License-Identifier: MIT
"""What tools/setup installs, lists and returns, with programs in place of Debian's."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEWER = """#!/bin/sh
case "$2" in *2.0 | *-14-dev | clang-14) echo "  Candidate: (none)" ;; *) echo "  Candidate: 3" ;; esac
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        for name in ("bash", "grep", "cat", "dirname", "env"):
            (self.bin / name).symlink_to(shutil.which(name))

    def put(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def setup(self, *sets):
        return subprocess.run([ROOT / "tools" / "setup", *sets], env={"PATH": str(self.bin)}, capture_output=True, text=True)

    def on_debian(self, installed):
        self.put("apt-get", f'#!/bin/sh\necho "$@" >> {self.bin}/asked\n')
        self.put("apt-cache", NEWER)
        self.put("id", "#!/bin/sh\necho 0\n")
        self.put("dpkg-query", f'#!/bin/sh\ncase " {installed} " in *" $3 "*) printf installed ;; esac\n')

    def test_without_apt_get_it_lists_the_libraries_and_what_to_run_next(self):
        done = self.setup("build", "solver")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for text in ("apt-get is missing", "{fmt}  [libfmt-dev]", "oneDNN 2 or 3", "[libdnnl-dev]", "Then run: cmake --preset release"):
            self.assertIn(text, done.stderr)
        self.assertNotIn("GoogleTest", done.stderr)

    def test_of_the_packages_in_a_line_the_one_that_the_release_has_is_installed(self):
        self.on_debian("sqlite3")
        done = self.setup("test")
        self.assertEqual(done.returncode, 0, done.stderr)
        update, install = (self.bin / "asked").read_text().splitlines()
        self.assertEqual(update, "update -qq")
        for package in ("libmimalloc3", "clang-19", "libc++-19-dev", "libgtest-dev", "libtcmalloc-minimal4"):
            self.assertIn(package, install.split())
        for package in ("libmimalloc2.0", "clang-14", "sqlite3", "libtcmalloc-minimal4t64"):
            self.assertNotIn(package, install.split())

    def test_nothing_is_asked_where_one_package_of_each_line_is_installed(self):
        lines = [line.split() for line in (ROOT / "tools" / "packages.txt").read_text().splitlines() if not line.startswith("#")]
        self.on_debian(" ".join(packages.split("|")[-1] for _, packages, *_ in lines))
        self.assertEqual(self.setup("build", "solver", "test").returncode, 0)
        self.assertFalse((self.bin / "asked").exists())


if __name__ == "__main__":
    unittest.main()
