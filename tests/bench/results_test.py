#!/usr/bin/env python3
"""results_test.py TREE: tools/results writes tables where a page marks them, notices what is not up to date, and refuses what it cannot read."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RESULTS = pathlib.Path(sys.argv.pop(1)) / "tools/results"
RATES = {"title": "t", "command": "c", "machine": "m", "recorded": {"commit": "abc", "date": "2026-01-02"}, "columns": ["members", "rate"],
         "rows": [[2, {"median": 2.5, "min": 2.4, "max": 2.6, "decimals": 2, "unit": "M"}], [3, "none"]]}
PAGE = "before\n<!-- results: rates -->\nold\n<!-- /results -->\nafter\n"


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tree = pathlib.Path(self.folder.name)
        (self.tree / "docs/results").mkdir(parents=True)
        self.store("rates", RATES)
        self.store("readme", {"lines": ["- {rates/2/rate} with two, {rates/3/rate} with three"]})
        (self.tree / "docs/bench.md").write_text(PAGE)
        (self.tree / "docs/peers.md").write_text("nothing\n")
        (self.tree / "docs/bench").mkdir()
        (self.tree / "docs/bench/topics.md").write_text(PAGE)
        (self.tree / "README.md").write_text("<!-- figures -->\n<!-- /figures -->\n")

    def store(self, name, result):
        (self.tree / f"docs/results/{name}.json").write_text(json.dumps(result))

    def run_tool(self, *arguments):
        return subprocess.run([RESULTS, "--tree", self.tree, *arguments], capture_output=True, text=True)

    def test_tables_and_figures_are_written_between_their_marks_and_nowhere_else(self):
        self.assertEqual(self.run_tool().returncode, 0)
        page = (self.tree / "docs/bench.md").read_text()
        self.assertTrue(page.startswith("before\n<!-- results: rates -->\n| members | rate |\n|---|---|\n| 2 | 2.50 M (2.40–2.60) |\n"), page)
        self.assertTrue(page.endswith("commit abc.*\n<!-- /results -->\nafter\n"), page)
        self.assertIn("- 2.50 M with two, none with three\n", (self.tree / "README.md").read_text())
        self.assertEqual((self.tree / "docs/peers.md").read_text(), "nothing\n")
        self.assertEqual((self.tree / "docs/bench/topics.md").read_text(), page)

    def test_a_page_that_is_not_up_to_date_is_named_and_left_alone(self):
        result = self.run_tool("--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("docs/bench.md", result.stderr)
        self.assertEqual((self.tree / "docs/bench.md").read_text(), PAGE)
        self.run_tool()
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_what_is_no_result_is_refused(self):
        for broken in (RATES | {"rows": [[1]]}, RATES | {"surprise": 1}, []):
            self.store("rates", broken)
            self.assertIn("rates.json", self.run_tool().stderr)
        self.assertIn("no_such", self.run_tool("--show", "no_such").stderr)

    def test_a_figure_that_names_no_cell_is_refused(self):
        self.store("readme", {"lines": ["{rates/4/rate}"]})
        result = self.run_tool()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("names no cell", result.stderr)


if __name__ == "__main__":
    unittest.main()
