#!/usr/bin/env python3
"""demo_page_test.py SPINDRIFT [DIRECTORY]: the page of `spindrift demo --web` in a headless Chromium: what it shows moves, a member
that is killed is shown as gone, nobody complains, and the demo ends in order. 77 (skipped) where Chromium is not installed. With a
directory it leaves pictures there."""
import os
import re
import signal
import subprocess
import sys
import unittest

import browser
from waiting import until

SPINDRIFT = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None
PATIENCE_S = 60

DRAWN = '''(() => {
  const canvas = document.getElementById('%s');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
  return seen.size > %d;
})()'''


def started(*words):
    demo = subprocess.Popen([SPINDRIFT, 'demo', '--web', '--kill', 'none', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in demo.stdout:
        found = re.search(r'http://127\.0\.0\.1:\d+/', line)
        if found:
            return demo, found[0]
    raise AssertionError(f'no address: {demo.communicate()[1]}')


def runs(process):
    try:
        with open(f'/proc/{process}/stat', encoding='ascii') as stat:
            return ' Z ' not in stat.read()
    except FileNotFoundError:
        return False


class DemoPage(unittest.TestCase):
    def setUp(self):
        self.demo, self.url = started()
        self.addCleanup(self.demo.communicate)
        self.addCleanup(self.demo.kill)

    def page_process(self):
        with open(f'/proc/{self.demo.pid}/task/{self.demo.pid}/children', encoding='ascii') as children:
            for process in children.read().split():
                with open(f'/proc/{process}/cmdline', encoding='ascii') as words:
                    if 'demo-page' in words.read().split('\0'):
                        return int(process)
        return None

    def picture(self, page, name):
        if PICTURES:
            page.value('scrollTo(0, 0)')
            page.screenshot(os.path.join(PICTURES, name + '.png'), whole='phone' in name)

    def moves(self, page, selector):
        before = page.text(selector)
        until(lambda: page.text(selector) != before, lambda: f'{selector} stays {before}')

    def fits(self, page):
        self.assertLessEqual(page.value('document.documentElement.scrollWidth'), page.value('innerWidth'), 'it is wider than the window')

    def test_the_flight_is_shown_live(self):
        with browser.opened(self.url) as page:
            page.size(1280, 800)
            page.await_value('document.getElementById("link")?.dataset.state', 'live')
            page.await_value('document.querySelectorAll("#members [data-state=alive]").length', 4)
            for selector in ('#time', '#roll', '#heading', '#height', '#ground-speed', '#all-rate'):
                self.moves(page, selector)
            page.await_value('document.querySelectorAll("#topics tr").length > 50')
            self.assertRegex(page.text('#pitch'), r'^\u2212?\d+\.\d$')
            page.await_value(DRAWN % ('horizon', 3))
            page.await_value(DRAWN % ('map', 3))
            self.fits(page)
            self.picture(page, 'wide')
            self.kill_one(page)
            self.picture(page, 'wide-killed')
            self.narrow_and_other_colors(page)
            self.assertEqual(page.complaints, [])
            self.ends(page)

    def test_the_end_of_the_page_is_said_and_the_flight_goes_on(self):
        until(lambda: self.page_process(), lambda: 'no process serves the page')
        os.kill(self.page_process(), signal.SIGKILL)
        said = next(line for line in self.demo.stderr if 'page' in line)
        self.assertEqual(said, 'the page has ended, nobody answers at its address anymore; the flight goes on without it\n')
        self.demo.send_signal(signal.SIGINT)
        self.demo.communicate(timeout=PATIENCE_S)
        self.assertEqual(self.demo.returncode, 130)

    def kill_one(self, page):
        process = int(re.search(r'process (\d+)', page.text('#members [data-node="1"]'))[1])
        os.kill(process, signal.SIGKILL)
        page.await_value('document.querySelector("#members [data-node=\'1\']").dataset.state', 'gone')
        self.assertEqual(page.value('document.querySelectorAll("#members [data-state=alive]").length'), 3)
        self.assertIn('failed 1', page.text('#news li'))
        self.moves(page, '#time')
        self.moves(page, '#roll')

    def narrow_and_other_colors(self, page):
        ground = page.value('getComputedStyle(document.body).backgroundColor')
        page.value('document.getElementById("theme").click()')
        self.assertNotEqual(page.value('getComputedStyle(document.body).backgroundColor'), ground)
        self.picture(page, 'wide-other')
        page.size(390, 844, phone=True)
        self.moves(page, '#time')
        self.fits(page)
        self.picture(page, 'phone-other')
        page.value('document.getElementById("theme").click()')
        self.moves(page, '#time')
        self.picture(page, 'phone')

    def ends(self, page):
        alive = page.value('[...document.querySelectorAll("#members [data-state=alive]")].map((each) => each.textContent).join()')
        processes = [int(each) for each in re.findall(r'process (\d+)', alive)]
        self.assertEqual(len(processes), 3)
        self.demo.send_signal(signal.SIGINT)
        page.await_value('document.getElementById("link").dataset.state', 'over')
        self.demo.communicate(timeout=PATIENCE_S)
        self.assertEqual(self.demo.returncode, 130)
        self.assertFalse([each for each in processes if runs(each)], 'a process is left')


if __name__ == '__main__':
    if not browser.program():
        print('skipped: Chromium is not installed (tools/setup --dev)')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
