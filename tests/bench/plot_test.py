#!/usr/bin/env python3
"""plot_test.py TREE: tools/plot draws every point of every bench, marks what a paper says, and refuses what it cannot read."""
import json
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree

PLOT = pathlib.Path(sys.argv.pop(1)) / "tools/plot"


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

    def test_what_is_no_line_of_a_bench_is_refused_with_its_place(self):
        for text in ("not JSON\n", '{"a": 1}\n', ""):
            result = plot(text)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("plot:", result.stderr)


if __name__ == "__main__":
    unittest.main()
