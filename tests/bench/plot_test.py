#!/usr/bin/env python3
"""plot_test.py TREE SPINDRIFT: tools/plot draws every point of every bench, one that runs here among them, marks what a paper says, shows
kept results, and refuses what it cannot read."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TREE = pathlib.Path(sys.argv.pop(1))
SPINDRIFT = sys.argv.pop(1)
PLOT = TREE / "tools/plot"


def line(bench, parameters, median, **more):
    return {"bench": bench, "parameters": parameters, "median": median, "min": median, "max": median, "unit": "GB/s",
            "limit_median": None, "ratio": None, "machine": {"cpus": 2, "model": "a <model>", "kernel": "6"},
            "version": 1, "release": "0.1", "commit": "c"} | more


def plot(lines):
    text = lines if isinstance(lines, str) else "".join(json.dumps(each) + "\n" for each in lines)
    return subprocess.run([PLOT, "-", "--output", "-"], input=text, capture_output=True, text=True)


def drawings(page):
    """The figures' SVG elements, without those of the keys."""
    parts = page.split('<svg viewBox="0 0 600 360"')[1:]
    return [xml.etree.ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>") for part in parts]


class Plot(unittest.TestCase):
    points = [line("model, figure 3: one: throughput", {"series": series, "members": members}, members * 1.5)
              for series in ("Spindle, a", "Spindrift, a") for members in (2, 4, 8)]

    def test_every_point_is_drawn_with_its_value(self):
        result = plot(self.points)
        self.assertEqual(result.returncode, 0, result.stderr)
        drawing, = drawings(result.stdout)
        titles = [title.text for title in drawing.iter("title")]
        self.assertEqual(len(titles), 6)
        self.assertIn("Spindrift, a: 12 GB/s at members 8", titles)
        self.assertEqual(len([path for path in drawing.iter("path") if path.get("class") == "line"]), 2)

    def test_higher_values_are_drawn_higher(self):
        drawing, = drawings(plot(self.points).stdout)
        hits = [float(circle.get("cy")) for circle in drawing.iter("circle") if circle.get("class") == "hit"]
        self.assertEqual(hits[:3], sorted(hits[:3], reverse=True))
        self.assertNotEqual(hits[0], hits[2])

    def test_the_papers_numbers_are_marks_and_a_table(self):
        stars = [line("model, figure 3: one: throughput", {"series": "in the paper", "members": 8}, 9.7)]
        claims = [line("model, figure 3: one: in the paper", {"claim": "the peak"}, 6, limit_median=9, ratio=2 / 3)]
        page = plot(self.points + stars + claims).stdout
        drawing, = drawings(page)
        self.assertEqual(len([path for path in drawing.iter("path") if path.get("class") == "line"]), 2)
        self.assertEqual(len(list(drawing.iter("title"))), 7)
        self.assertIn("the peak", page)
        self.assertIn("-33 %", page)

    def test_benches_of_any_kind_have_a_figure_each(self):
        lines = [line("multicast throughput", {"members": members, "touched": touched}, 1e6 * members)
                 for members in (2, 3) for touched in (True, False)]
        lines += [line("cache line there and back", {}, 100)]
        page = plot(lines).stdout
        self.assertEqual(len(drawings(page)), 1)
        self.assertEqual(page.count("<figure>"), 2)
        self.assertIn("touched True", page)

    def test_the_page_needs_no_network_and_escapes_what_it_shows(self):
        page = plot(self.points).stdout
        for outside in ("http://", "https://", "@import", "url(", " src="):
            self.assertNotIn(outside, page)
        self.assertIn("a &lt;model&gt;", page)

    def test_a_zero_does_not_break_a_figure_that_spans_magnitudes(self):
        lines = [line("b", {"members": members}, value) for members, value in ((2, 1e6), (4, 1), (8, 0))]
        result = plot(lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(drawings(result.stdout)), 1)

    def test_a_number_that_follows_from_others_is_neither_axis_nor_name(self):
        lines = [line("multicast throughput", {"members": members, "senders": 1 if one else members, "bytes": size, "window": 100000 // size,
                                               "messages": members * 1000 + size + one}, members * size)
                 for one in (True, False) for members in (2, 3, 4) for size in (100, 1000)]
        drawing, = drawings(plot(lines).stdout)
        titles = [title.text for title in drawing.iter("title")]
        self.assertEqual(titles[:3], [f"one sender, bytes 100: {members * 100} GB/s at members {members}" for members in (2, 3, 4)])
        self.assertEqual(titles[-1], "all senders, bytes 1000: 4000 GB/s at members 4")
        self.assertEqual(len([path for path in drawing.iter("path") if path.get("class") == "line"]), 4)

    def test_what_a_bench_measures_here_is_drawn_point_by_point(self):
        with tempfile.TemporaryDirectory() as directory:
            lines, page = pathlib.Path(directory) / "lines.jsonl", pathlib.Path(directory) / "report.html"
            subprocess.run([SPINDRIFT, "bench", "multicast", "--members", "2,3", "--size", "100,1024", "--senders", "all", "--touch",
                            "--seconds", "0.005", "--repeat", "1", "--json", lines], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([PLOT, lines, "--output", page], check=True)
            measured = [json.loads(text) for text in lines.read_text().splitlines()]
            drawing, = drawings(page.read_text())
        medians = {(each["parameters"]["bytes"], each["parameters"]["members"]): each["median"] for each in measured}
        self.assertEqual(set(medians), {(100, 2), (100, 3), (1024, 2), (1024, 3)})
        heights = {}
        for circle in drawing.iter("circle"):
            if circle.get("class") == "hit":
                size, value, suffix, members = re.fullmatch(r"bytes (\d+): (\S+) (\w?) ?messages/s at members (\d), limit .*",
                                                            circle.find("title").text).groups()
                key = int(size), int(members)
                self.assertAlmostEqual(float(value) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[suffix] / medians[key], 1, 2)
                heights[key] = float(circle.get("cy"))
        self.assertEqual(set(heights), set(medians))
        self.assertEqual(sorted(medians, key=medians.get), sorted(heights, key=heights.get, reverse=True))

    def test_results_that_are_kept_are_tables(self):
        result = subprocess.run([PLOT, TREE / "docs/results/multicast.json", "--output", "-"], capture_output=True, text=True, check=True)
        kept = json.loads((TREE / "docs/results/multicast.json").read_text())
        self.assertEqual(result.stdout.count("<tr>"), len(kept["rows"]) + 1)
        first = next(cell for cell in kept["rows"][0] if isinstance(cell, dict))
        self.assertIn(f"<td>{first['median']} {first['unit']} ({first['min']}–{first['max']})</td>", result.stdout)
        self.assertIn(kept["title"], result.stdout)
        self.assertIn(kept["recorded"]["commit"], result.stdout)

    def test_what_is_no_line_of_a_bench_is_refused_with_place_cause_and_fix(self):
        later = json.dumps(line("b", {}, 1, version=2)) + "\n"
        good = json.dumps(line("b", {}, 1)) + "\n"
        for text, cause in (("not JSON\n", "-:1: not JSON"), (good + '{"a": 1}\n', "-:2: not a line"), ("[1]\n", "-:1: not a line"),
                            ("", "nothing to draw"), (good + later, "-:2: a line of version 2, not 1")):
            result = plot(text)
            self.assertEqual(result.returncode, 1)
            self.assertIn("plot: ", result.stderr)
            self.assertIn(cause, result.stderr)
            self.assertIn("; fix: ", result.stderr)
        for path, cause in (("/bin/true", "not text"), ("/nowhere", "No such file or directory")):
            result = subprocess.run([PLOT, path, "--output", "-"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"plot: {path}: {cause}; fix: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
