#!/usr/bin/env python3
"""topic_test.py SPINDRIFT PEER: `spindrift topic` beside a program that has the C++ types, and the command has not: what it lists,
what it reads of that program's samples, and that the program reads what it writes; and how it ends where it cannot."""
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest

from typed_peer import PATIENCE, TypedPeer
from waiting import next_said, said_by, until

SPINDRIFT, PEER = sys.argv[1:3]


def run(*words, code=0, **options):
    done = subprocess.run([SPINDRIFT, 'topic', *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    assert done.returncode == code, f'{words} ended with {done.returncode}, not {code}: {done.stdout}{done.stderr}'
    return done


def info(topic='readings'):
    return json.loads(run('info', topic, '--json').stdout)


def status():
    command = [SPINDRIFT, 'group', 'status', '--group', 'dds-0', '--json']
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout)


def members():
    return sum(each['condition'] == 'active' for each in status()['nodes'])


class Topics(unittest.TestCase):
    @staticmethod
    def view():
        return status()['nodes'][0]['view']

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='spindrift-topic-')
        self.addCleanup(scratch.cleanup)
        os.environ['SPINDRIFT_RUNTIME_DIRECTORY'] = scratch.name
        self.peer = TypedPeer(PEER)
        self.addCleanup(self.peer.end)

    def reading(self, *words, topic='readings', **options):
        """A command that reads the topic by now, as a participant, whom others see."""
        before = info(topic)['topic']['readers']
        process = subprocess.Popen([SPINDRIFT, 'topic', *words, '--as', 'participant'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        until(lambda: info(topic)['topic']['readers'] > before, lambda: f'{words} does not read')
        return process

    def test_types_are_listed_as_they_are(self):
        listed = json.loads(run('ls', '--json').stdout)
        self.assertEqual([(each['name'], each['writers'], each['readers']) for each in listed['topics']], [('notes', 1, 1), ('readings', 1, 1)])
        self.assertEqual(listed['participants'], 1)
        self.assertRegex(run('ls').stdout, r'(?m)^readings +RELIABLE +VOLATILE +1 +1 +peer::Reading$')
        self.assertEqual([(each['name'], each['kind'], each['key']) for each in info()['topic']['fields']],
                         [('sensor', 'i32', True), ('value', 'f64', False), ('mode', 'peer::Mode:u8', False), ('counts', 'u16[2]', False)])
        self.assertEqual([each['name'] for each in info('notes')['topic']['fields']], ['f0', 'f1', 'f2'])
        self.assertRegex(run('info', 'readings').stdout, r'(?m)^sensor +key +i32$')

    def test_who_looks_joins_nothing_and_waits_for_nobody_who_is_stopped(self):
        listed, view = run('ls', '--json').stdout, self.view()
        self.peer.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.peer.process.send_signal, signal.SIGCONT)
        self.assertEqual(run('ls', '--json').stdout, listed)
        self.assertEqual(info()['topic']['writers'], 1)
        never = run('echo', 'readings', '--timeout', 100, code=5).stderr
        self.assertRegex(never, r'no sample came for 100 ms: no member feeds this command, which waits for .*node 0: has not answered yet')
        self.peer.process.send_signal(signal.SIGCONT)
        self.peer.tell('reading 4 1.5')
        self.assertEqual(self.view(), view)

    def test_samples_of_the_program_are_printed(self):
        echo = self.reading('echo', 'readings', '--count', '3', '--json')
        self.peer.tell('reading 4 1.5')
        self.peer.tell('reading 5 -2')
        self.peer.tell('dispose 4')
        lines = [json.loads(line) for line in echo.communicate(timeout=PATIENCE)[0].splitlines()]
        self.assertEqual(echo.returncode, 0)
        self.assertEqual([line['data'] for line in lines],
                         [{'sensor': 4, 'value': 1.5, 'mode': 1, 'counts': [1, 2]}, {'sensor': 5, 'value': -2.0, 'mode': 1, 'counts': [1, 2]}, None])
        self.assertEqual([line['state'] for line in lines][2], 'disposed')
        self.assertEqual(lines[0]['instance'], lines[2]['instance'])

    def test_a_reader_of_its_output_that_stops_is_named_and_a_second_signal_ends_it(self):
        echo = self.reading('echo', 'readings')
        fcntl.fcntl(echo.stdout, fcntl.F_SETPIPE_SZ, 4096)
        output = os.open(f'/proc/{echo.pid}/fd/1', os.O_WRONLY)
        self.addCleanup(os.close, output)
        room = select.poll()
        room.register(output, select.POLLOUT)
        until(lambda: self.peer.tell('burst 1') or not room.poll(0), lambda: 'its output is never full')
        echo.send_signal(signal.SIGTERM)
        self.assertEqual(next_said(echo.stderr), 'spindrift: still printing: the reader of standard output has stopped; '
                                                'another signal ends this process at once\n')
        echo.send_signal(signal.SIGTERM)
        self.assertEqual(echo.wait(PATIENCE), -signal.SIGTERM)

    def test_what_is_kept_is_printed_first(self):
        self.peer.tell('note kept')
        line = run('echo', 'notes', '--from', 'last', '--count', '1', '--timeout', '60000').stdout
        self.assertRegex(line, r'^20\d\d-.*Z node \d+: {"f0":"kept","f1":\["a","b"\],"f2":null}\n$')

    def test_the_program_reads_what_is_written(self):
        done = run('pub', 'readings', '{"sensor": 7, "value": 2.5, "mode": 0, "counts": [3, 65535]}')
        self.peer.expect('reading 7 2.5 0 3 65535')
        self.assertEqual(said_by(done.stderr), 'wrote 1 sample, which every participant has; 1 reader of the domain matches\n')
        run('pub', 'notes', input='{"f0": "one", "f1": []}\n\n{"f0": "two", "f1": ["x"], "f2": -9}')
        self.peer.expect('note one 0 none')
        self.peer.expect('note two 1 -9')

    def test_what_fits_no_type_is_refused_with_its_place(self):
        good = '{"sensor": 1, "value": 1, "mode": 0, "counts": [0, 0]}'
        wrong = run('pub', 'readings', good, good.replace('[0, 0]', '[0, 65536]'), code=1).stderr
        self.assertIn('sample 2: $.counts[1]: 65536 is no value of this field; fix: write a whole number, 0 to 65535', wrong)
        self.assertIn('wrote 0 samples', wrong)
        self.assertIn('sample 1: it is no JSON: line 1, column 2: syntax error', run('pub', 'readings', '{', code=1).stderr)
        for place, reason in (('"value": 1e999', "$.value: a number is beyond all"), ('"value": 1, "value": 2', "$.value: the field is there twice"),
                              ('"value": 1, "counts": [0, {"a": 1, "a": 2}]', "$.counts[1].a: the field is there twice")):
            self.assertIn('sample 1: ' + reason, run('pub', 'readings', good.replace('"value": 1', place), code=1).stderr)
        lines = run('pub', 'readings', input=good + '\n{"sensor": 2}\n' + good, code=1).stderr
        self.assertIn('standard input:2: $.value: the field is missing', lines)
        self.assertIn('wrote 1 sample,', lines)
        self.peer.expect('reading 1 1 0 0 0')

    def test_what_gets_no_memory_for_its_threads_says_what_to_do(self):
        said = []
        for kibibytes in range(80000, 130000, 5000):
            limited = ['/bin/bash', '-c', f'ulimit -v {kibibytes} && exec "$0" topic ls --domain 9 --as participant', SPINDRIFT]
            done = subprocess.run(limited, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if done.returncode != 0:
                self.assertIn('; fix: ', done.stderr, f'with {kibibytes} KiB')
                said.append(done.stderr)
        self.assertTrue(any('start a thread: ' in each for each in said), said)

    def test_a_topic_that_is_not_there_is_said_with_those_that_are(self):
        self.assertIn('there is no such topic; there are: notes, readings; fix: did you mean readings?', run('echo', 'reading', code=2).stderr)
        self.assertIn('topic x of domain 1: there is no such topic, nor any other', run('info', 'x', '--domain', 1, code=2).stderr)
        self.assertIn('there is no such topic', run('echo', 'later', '--timeout', 100, code=5).stderr)
        fault = json.loads(run('echo', 'later', '--json', code=2).stderr.splitlines()[-1])
        self.assertEqual((fault['error']['kind'], fault['error']['place']), ('bad argument', 'topic later of domain 0'))
        waiting = subprocess.Popen([SPINDRIFT, 'topic', 'info', 'later', '--as', 'participant', '--timeout', '60000', '--json'], stdout=subprocess.PIPE, text=True)
        until(lambda: members() == 2, lambda: 'nobody waits')
        self.assertEqual(json.loads(run('ls', '--json').stdout)['participants'], 1, 'who looks is no participant')
        self.peer.tell('later')
        self.assertEqual(json.loads(waiting.communicate(timeout=PATIENCE)[0])['topic']['name'], 'later')
        self.assertIn('no sample came for 100 ms', run('echo', 'readings', '--timeout', 100, code=5).stderr)

    def test_a_reader_elsewhere_that_takes_nothing_holds_up_nobody_who_leaves(self):
        self.peer.tell('note kept')
        self.peer.tell('hold')
        self.assertEqual([each['name'] for each in json.loads(run('ls', '--json').stdout)['topics']], ['full', 'notes', 'readings'])
        self.assertEqual(info('full')['topic']['readers'], 1)
        self.assertIn('"f0":"kept"', run('echo', 'notes', '--from', 'last', '--count', '1', '--timeout', '60000').stdout)
        run('pub', 'readings', '{"sensor": 7, "value": 2.5, "mode": 0, "counts": [3, 65535]}')

    def test_a_signal_ends_it_and_it_leaves(self):
        for words, code in ((('echo', 'readings'), 0), (('echo', 'readings', '--count', '9'), 130), (('hz', 'readings'), 0)):
            process = self.reading(*words)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, code, words)
            self.assertEqual(info()['topic']['readers'], 1)
        writer = subprocess.Popen([SPINDRIFT, 'topic', 'pub', 'readings'], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: info()['topic']['writers'] == 2, lambda: 'it does not write')
        writer.send_signal(signal.SIGTERM)
        self.assertIn('wrote 0 samples', writer.stderr.read())
        self.assertEqual(writer.wait(PATIENCE), 130)
        writer.stdin.close()
        writer.stderr.close()

    def test_a_reader_that_goes_away_ends_it(self):
        echo = self.reading('echo', 'readings')
        echo.stdout.close()
        self.assertEqual(echo.wait(PATIENCE), 0)
        self.assertEqual(said_by(echo.stderr.read()), '')
        echo.stdout = None

    def test_rates_count_all_that_comes(self):
        for what in ('hz', 'bw', 'delay'):
            process = self.reading(what, 'readings', '--count', '4', '--json')
            self.peer.tell('burst 3')
            lines = [json.loads(line) for line in process.communicate(timeout=PATIENCE)[0].splitlines()]
            self.assertEqual((process.returncode, len(lines), sum(line['samples'] for line in lines)), (0, 4, 50))
            full = next(line for line in lines if line['samples'] > 1)
            self.assertEqual(full['bytes'], {'min': 24.0, 'mean': 24.0, 'max': 24.0})
            self.assertGreater(full['delay_ms']['min'], 0)
            self.assertGreaterEqual(full['between_ms']['min'], 0)
        self.assertRegex(run('hz', 'readings', '--count', 1).stdout, r'^0\.0 samples/s, - apart\n$')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
