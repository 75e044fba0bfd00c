# SPDX-License-Identifier: MIT
"""What stories in a browser share: Debian's chromium, axe-core with the rules of WCAG AA, and where screenshots go."""
import os
import pathlib

import story
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SHOTS = pathlib.Path(os.environ["ATTUNE_SHOTS"])
WCAG_AA = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}


class BrowserStory(story.Story):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def check_accessibility(self, page):
        found = Axe().run(page, options=WCAG_AA)
        self.assertEqual(found.violations_count, 0, found.generate_report())
