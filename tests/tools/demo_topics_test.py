#!/usr/bin/env python3
"""demo_topics_test.py SPINDRIFT: the demo's topics are those of any domain: `spindrift topic` lists, reads, measures and writes them
while the flight goes on, a member is killed and comes back beside a program that looks on, and the members still agree."""
import json
import re
import subprocess
import sys
import unittest

SPINDRIFT = sys.argv[1]
PATIENCE_S = 100


class DemoTopics(unittest.TestCase):
    def setUp(self):
        self.demo = subprocess.Popen([SPINDRIFT, 'demo', '--rate', 'real', '--rounds', '2'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.demo.communicate)
        self.addCleanup(self.demo.kill)
        for line in self.demo.stdout:
            found = re.fullmatch(r'look on: spindrift topic ls (--config \S+) --id (\d+)\n', line)
            if found:
                self.config, self.node = found[1].split(), int(found[2])
                return
        raise AssertionError('the demo does not say how to look on')

    def words(self, *words):
        self.node += 1
        return [SPINDRIFT, 'topic', *map(str, words), *self.config, '--id', str(self.node)]

    def run_topic(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, f'{words}: {done.stdout}{done.stderr}')
        return done.stdout

    def test_they_are_read_while_a_member_dies_and_comes_back(self):
        info = json.loads(self.run_topic('info', 'vehicle_attitude', '--timeout', 30000, '--json'))['topic']
        self.assertEqual([(each['name'], each['kind'], each['key']) for each in info['fields']],
                         [('timestamp', 'u64', False), ('q', 'f32[4]', False), ('delta_q_reset', 'f32[4]', False), ('quat_reset_counter', 'u8', False), ('multi_id', 'u8', True)])
        echo = subprocess.Popen(self.words('echo', 'vehicle_attitude', '--json'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(echo.communicate)
        self.addCleanup(echo.kill)
        for topic in ('vehicle_local_position', 'sensor_combined'):
            self.run_topic('info', topic, '--timeout', 30000)
        names = {each['name'] for each in json.loads(self.run_topic('ls', '--json'))['topics']}
        self.assertLessEqual({'vehicle_attitude', 'vehicle_local_position', 'sensor_combined'}, names)
        rate = json.loads(self.run_topic('hz', 'vehicle_attitude', '--count', 1, '--json').splitlines()[-1])
        self.assertGreater(rate['samples'], 0)
        line = json.loads(self.run_topic('echo', 'vehicle_local_position', '--count', 1, '--json').splitlines()[0])
        self.run_topic('pub', 'vehicle_local_position', json.dumps(line['data']))  # of another writer: none of the flight's
        output, _ = self.demo.communicate(timeout=PATIENCE_S)
        self.assertEqual(self.demo.returncode, 0, output)
        self.assertIn('ok: 55 topics, 29208 samples; every member delivered the same sequence', output)
        self.assertRegex(output, r'failed 2 \(')
        self.assertRegex(output, r'member 2: killed and started again: got \d+ messages as state')
        echo.kill()
        turned = [json.loads(each)['data'] for each in echo.communicate()[0].splitlines() if each.endswith('}')]
        self.assertGreater(len(turned), 100)
        for each in turned:
            self.assertAlmostEqual(sum(part * part for part in each['q']), 1, places=3)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
