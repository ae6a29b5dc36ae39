#!/usr/bin/env python3
"""topic_observer_test.py SPINDRIFT PEER: `spindrift topic echo` and `hz` read as observers: stopped, they cost the only member of the domain
nothing, and say afterwards what is missing; they read writers and topics that come later, and those of a program that is killed and
started again; a broken file of a member's endpoints is refused; and who wants to be a participant is one."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from typed_peer import PATIENCE, TypedPeer
from waiting import until

SPINDRIFT, PEER = sys.argv[1:3]


def status():
    done = subprocess.run([SPINDRIFT, 'group', 'status', '--group', 'dds-0', '--json'], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return [(each['node'], each['view']) for each in json.loads(done.stdout)['nodes'] if each['condition'] == 'active']


class Observers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='spindrift-topic-')
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        os.environ['SPINDRIFT_RUNTIME_DIRECTORY'] = scratch.name

    def peer(self):
        peer = TypedPeer(PEER)
        self.addCleanup(peer.kill)
        return peer

    def command(self, *words):
        output = open(f'{self.directory}/out', 'w+', encoding='utf-8')
        self.addCleanup(output.close)
        process = subprocess.Popen([SPINDRIFT, 'topic', *map(str, words)], stdout=output, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def lines(self):
        with open(f'{self.directory}/out', encoding='utf-8') as output:
            return [line for line in output if line.endswith('\n')]

    def write_until(self, peer, value, line=None):
        """Writes until the command has read it: it begins with what comes once a member feeds it."""
        sign = line or f'"value":{value}'

        def read():
            peer.tell(f'reading 9 {value}')
            return any(sign in each for each in self.lines())
        until(read, lambda: f'{sign} is never read: {self.lines()}')

    def test_one_that_is_stopped_costs_nobody_anything_and_says_what_is_missing(self):
        peer = self.peer()
        echo = self.command('echo', 'readings', '--json')
        self.write_until(peer, -1)
        before = status()
        self.assertEqual(len(before), 1, 'a member besides the writer')
        echo.send_signal(signal.SIGSTOP)
        # More than the ring of a feed holds, which has some eight mebibytes.
        bursts = 3000
        for _ in range(bursts):
            peer.tell('burst 1')
        self.assertEqual(status(), before, 'the view has changed')
        echo.send_signal(signal.SIGCONT)
        more = []

        def goes_on():
            more.append(f'reading 9 {-2 - len(more)}')
            peer.tell(more[-1])
            return any('"sensor":9' in each and '"value":-1.0' not in each for each in self.lines())
        until(goes_on, lambda: 'it does not go on')
        lines = [json.loads(each) for each in self.lines()]
        last = next(at for at, each in enumerate(lines) if each['data']['value'] < -1)
        lines = lines[:last + 1]
        # One that has come is printed or counted; those are not known that were written ahead of the first.
        repeated = sum(each['data']['value'] == -1 for each in lines)
        self.assertEqual(sum(1 + each['lost'] for each in lines), repeated + 50 * bursts - 1 - lines[last]['data']['value'])
        self.assertGreater(sum(each['lost'] for each in lines), 100_000)
        self.assertEqual(status(), before)

    def test_nobody_sees_it_but_as_a_participant(self):
        peer = self.peer()
        self.command('hz', 'readings', '--json')
        self.write_until(peer, 1.5, '"samples":1')
        self.assertEqual(len(status()), 1)
        done = subprocess.run([SPINDRIFT, 'topic', 'info', 'readings', '--json'], capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertEqual(json.loads(done.stdout)['topic']['readers'], 1)
        self.command('echo', 'readings', '--as', 'participant')
        until(lambda: len(status()) == 2, lambda: 'it is no participant')

    def test_it_waits_for_a_program_and_founds_no_domain(self):
        self.command('echo', 'later', '--timeout', 60000)
        until(lambda: os.path.isdir(f'{self.directory}/dds-0/endpoints'), lambda: 'it does not look')
        peer = self.peer()
        self.assertEqual(len(os.listdir(f'{self.directory}/dds-0/status')), 1, 'it founded a domain')
        peer.tell('later')
        # It has the topic, and a writer comes.
        writer = subprocess.Popen([SPINDRIFT, 'topic', 'pub', 'later'], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(writer.communicate)

        def read():
            writer.stdin.write('{"f0": "note", "f1": []}\n')
            writer.stdin.flush()
            return any('"f0":"note"' in each for each in self.lines())
        until(read, lambda: f'nothing is read: {self.lines()}')

    def test_a_program_that_is_killed_and_started_again_is_read_again(self):
        first = self.peer()
        self.command('echo', 'readings', '--as', 'observer')
        self.write_until(first, 1.5)
        first.kill()
        until(lambda: any(each.endswith('no writers\n') for each in self.lines()), lambda: f'its end is not told: {self.lines()}')
        second = self.peer()
        self.write_until(second, 2.5)

    def test_what_is_no_file_of_endpoints_is_refused(self):
        self.peer()
        reason = re.escape(f'{self.directory}/dds-0/endpoints/') + r'\d+\.endpoints: not a member\'s endpoints: it does not begin like such a file; fix: '

        def is_refused(*words):
            # The member writes its file again while the last news of its beginning come.
            for name in os.listdir(f'{self.directory}/dds-0/endpoints'):
                with open(f'{self.directory}/dds-0/endpoints/{name}', 'w', encoding='utf-8') as broken:
                    broken.write('garbage that is longer than a number')
            done = subprocess.run([SPINDRIFT, 'topic', 'hz', 'readings', '--count', '1', *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.returncode == 1 and re.search(reason, done.stderr) is not None
        for words in ((), ('--as', 'observer')):
            until(lambda these=words: is_refused(*these), lambda: 'it is never refused')
        done = subprocess.run([SPINDRIFT, 'topic', 'hz', 'readings', '--as', 'participant', '--count', '1'], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_observer_has_no_history(self):
        peer = self.peer()
        peer.tell('note kept')
        done = subprocess.run([SPINDRIFT, 'topic', 'echo', 'notes', '--from', 'last', '--as', 'observer'], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('an observer is given nothing that was kept for late joiners', done.stderr)
        done = subprocess.run([SPINDRIFT, 'topic', 'echo', 'notes', '--from', 'last', '--count', '1'], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn('"f0":"kept"', done.stdout)

    def test_a_signal_and_a_timeout_end_it(self):
        peer = self.peer()
        for words, code in ((('echo', 'readings'), 0), (('echo', 'readings', '--count', 900), 130)):
            process = self.command(*words)
            self.write_until(peer, 1.5)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, code, words)
        done = subprocess.run([SPINDRIFT, 'topic', 'echo', 'readings', '--timeout', '100'], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn('no sample came for 100 ms', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
