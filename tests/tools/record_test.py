#!/usr/bin/env python3
"""record_test.py SPINDRIFT PEER: `spindrift topic record` and `replay` beside a program that has the C++ types: what the file holds, read
here by a reader of our own, that the program gets it back, and how a recording ends that is killed, full, or damaged."""
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

from waiting import next_said, said_by, until

SPINDRIFT, PEER = sys.argv[1:3]
PATIENCE = 100
MAGIC = b'\x89MCAP0\r\n'


def run(*words, code=0):
    done = subprocess.run([SPINDRIFT, 'topic', *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, f'{words} ended with {done.returncode}, not {code}: {done.stdout}{done.stderr}'
    return done


def text_of(data, at):
    size = struct.unpack_from('<I', data, at)[0]
    return data[at + 4:at + 4 + size].decode(), at + 4 + size


def records_of(data):
    at = 0
    while at < len(data):
        opcode, size = struct.unpack_from('<BQ', data, at)
        yield opcode, data[at + 9:at + 9 + size]
        at += 9 + size


def messages_of(path):
    """Topic, schema, encoding, bytes and time in ns of each message of a whole file, whose checksums hold."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == MAGIC and data[-8:] == MAGIC
    summary, _, crc = struct.unpack('<QQI', data[-28:-8])
    assert zlib.crc32(data[summary:-12]) == crc
    schemas, channels, found, chunks = {}, {}, [], 0
    for opcode, content in records_of(data[8:-8]):
        if opcode == 0x06:
            _, _, size, crc = struct.unpack_from('<QQQI', content)
            records = content[40:]
            assert len(records) == size and zlib.crc32(records) == crc
            chunks += 1
            for inner, part in records_of(records):
                if inner == 0x03:
                    name, at = text_of(part, 2)
                    encoding, at = text_of(part, at)
                    schemas[struct.unpack_from('<H', part)[0]] = (name, encoding, text_of(part, at)[0])
                if inner == 0x04:
                    topic, at = text_of(part, 4)
                    channels[struct.unpack_from('<H', part)[0]] = (topic, struct.unpack_from('<H', part, 2)[0], text_of(part, at)[0])
                if inner == 0x05:
                    topic, schema, encoding = channels[struct.unpack_from('<H', part)[0]]
                    found.append((topic, schemas[schema], encoding, part[22:], struct.unpack_from('<Q', part, 6)[0]))
        if opcode == 0x0b:
            assert struct.unpack_from('<Q', content)[0] == len(found)
            assert struct.unpack_from('<I', content, 22)[0] == chunks
    return found


class Peer:
    def __init__(self):
        self.process = subprocess.Popen([PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, '')))
        self.reader.start()
        self.expect('ready')

    def expect(self, line, times=1):
        """Waits until it has said that line so many times since it began."""
        until(lambda: self.lines.count(line + '\n') >= times, lambda: f'the program did not say {line} {times} times: {self.lines}')

    def tell(self, line):
        before = self.lines.count('done\n')
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        self.expect('done', before + 1)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.reader.join()
        self.process.stdout.close()


class Recordings(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='spindrift-record-')
        self.addCleanup(scratch.cleanup)
        os.environ['SPINDRIFT_RUNTIME_DIRECTORY'] = scratch.name
        self.file = f'{scratch.name}/a.mcap'
        self.peer = Peer()
        self.addCleanup(self.peer.end)

    def recorder(self, *words, topics=1, **options):
        """A command that records so many topics by now."""
        process = subprocess.Popen([SPINDRIFT, 'topic', 'record', *map(str, words), '--output', self.file], stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        for _ in range(topics):
            self.assertRegex(next_said(process.stderr), '^recording topic ')
        return process

    def stop(self, process, code=0, how=signal.SIGINT):
        process.send_signal(how)
        said = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, code, said)
        return said_by(said)

    def held(self, code=0):
        return json.loads(run('replay', self.file, '--info', '--json', code=code).stdout)

    def test_all_topics_are_in_the_file_also_one_that_comes_later_and_go_back_to_the_program(self):
        process = self.recorder('--all', topics=2)
        self.peer.tell('reading 4 1.5')
        self.peer.tell('note one')
        self.peer.tell('later')
        self.assertEqual(next_said(process.stderr), 'recording topic later\n')
        self.assertRegex(self.stop(process), r'^recorded 2 samples of 3 topics in ')
        self.peer.expect('note one 2 none')
        by_topic = {topic: (schema, encoding, data) for topic, schema, encoding, data, _ in messages_of(self.file)}
        (name, encoding, idl), cdr, data = by_topic['readings']
        self.assertEqual((name, encoding, cdr), ('peer::Reading', 'omgidl', 'cdr'))
        self.assertIn('@key int32 sensor;\n  double value;\n  uint8 mode;  // enum Mode\n  uint16 counts[2];', idl)
        # In place it has 24 bytes; as CDR the last fields lie closer.
        self.assertEqual(data, struct.pack('<4BixxxxdBxHH', 0, 1, 0, 0, 4, 1.5, 1, 1, 2))
        self.assertEqual(by_topic['notes'][2], struct.pack('<4BI4sIIcxxxIcxxxI', 0, 1, 0, 0, 4, b'one\0', 2, 2, b'a', 2, b'b', 0))
        held = self.held()
        self.assertEqual([(each['name'], each['samples'], each['missing']) for each in held['topics']], [('notes', 1, 0), ('readings', 1, 0), ('later', 0, 0)])
        self.assertEqual((held['whole'], held['topics'][0]['durability']), (True, 'transient_local'))
        self.assertRegex(run('replay', self.file).stderr, r'replayed 2 samples of 3 topics; 2 readers of the domain match\n$')
        self.peer.expect('reading 4 1.5 1 1 2', 2)
        self.peer.expect('note one 2 none', 2)

    def test_a_replay_keeps_times_makes_the_topics_and_goes_by_its_options(self):
        process = self.recorder('readings', '--seconds', 3600)
        for sensor in (1, 2, 3):
            self.peer.tell(f'reading {sensor} 0')
            time.sleep(0.3)  # the recording is to have gaps
        self.stop(process, code=130)
        for times, rate, least in ((2, 1, 0.55), (3, 1000, 0)):
            begin = time.monotonic()
            run('replay', self.file, '--rate', rate)
            self.assertGreaterEqual(time.monotonic() - begin, least)
            self.peer.expect('reading 3 0 1 1 2', times)
        one, two, three = (time_ns / 1e9 for *_, time_ns in messages_of(self.file))
        run('replay', self.file, '--from', (two - one) / 2, '--to', (two + three) / 2 - one)
        run('pub', 'readings', '{"sensor": 9, "value": 0, "mode": 1, "counts": [1, 2]}')
        self.peer.expect('reading 9 0 1 1 2')
        self.assertEqual([self.peer.lines.count(f'reading {sensor} 0 1 1 2\n') for sensor in (1, 2, 3)], [3, 4, 3])
        loop = subprocess.Popen([SPINDRIFT, 'topic', 'replay', self.file, '--rate', '1000', '--loop'])
        self.peer.expect('reading 3 0 1 1 2', 6)
        loop.send_signal(signal.SIGINT)
        self.assertEqual(loop.wait(PATIENCE), 0)
        # In a domain where nobody has the topic it is made, and waits for its reader.
        player = subprocess.Popen([SPINDRIFT, 'topic', 'replay', self.file, '--domain', '7'], stderr=subprocess.PIPE, text=True)
        self.assertEqual(next_said(player.stderr), 'waiting for 1 reader of the topics; observers are none\n')
        line = run('echo', 'readings', '--domain', 7, '--timeout', 60000, '--count', 1).stdout
        self.assertIn('{"sensor":1,"value":0.0,"mode":1,"counts":[1,2]}', line)
        player.kill()
        player.communicate()
        # One that waits for the topic is there for it, though it observes as long as nobody has it.
        early = subprocess.Popen([SPINDRIFT, 'topic', 'echo', 'readings', '--domain', '9', '--timeout', '60000', '--count', '3'],
                                 stdout=subprocess.PIPE, text=True)
        run('replay', self.file, '--domain', 9)
        self.assertEqual(early.communicate(timeout=PATIENCE)[0].count('{"sensor":'), 3)
        self.assertIn('0 readers of its topics came', run('replay', self.file, '--domain', 8, '--timeout', 100, code=5).stderr)
        self.assertIn('topic x is not in the recording; there are: readings', run('replay', self.file, '--topics', 'x', code=2).stderr)
        self.assertIn('nothing lies between them', run('replay', self.file, '--from', 5, '--to', 1, code=2).stderr)

    def test_counts_end_it_and_what_it_cannot_do_is_said(self):
        process = self.recorder('readings', '--count', 3)
        self.peer.tell('burst 5')
        self.assertIn('recorded 3 samples', process.communicate(timeout=PATIENCE)[1])
        self.assertEqual(process.returncode, 0)
        self.assertIn('is not overwritten', run('record', 'readings', '--output', self.file, code=2).stderr)
        self.assertIn('either topics are named, or all are recorded', run('record', '--output', 'b', code=2).stderr)
        self.assertIn('did you mean readings?', run('record', 'reading', '--output', f'{self.file}.b', code=2).stderr)
        self.assertFalse(os.path.exists(f'{self.file}.b'))
        self.assertIn('it is no MCAP file', run('replay', SPINDRIFT, code=1).stderr)

    def test_a_recording_that_is_killed_has_all_up_to_its_last_chunk(self):
        process = self.recorder('readings')
        self.peer.tell('burst 6')
        until(lambda: self.held(code=1)['samples'] == 50, lambda: 'no chunk was written')
        self.peer.tell('reading 7 0')
        process.kill()
        process.wait()
        held = self.held(code=1)
        self.assertFalse(held['whole'])
        self.assertGreaterEqual(held['samples'], 50)
        said = run('replay', self.file, '--rate', 1000, code=1).stderr
        self.assertIn('the recording ends here without an end', said)
        self.assertIn(f'replayed {held["samples"]} samples', said)
        self.peer.expect('reading 6 49 1 1 2')
        # Of the header alone nothing can be replayed, and no reader is waited for.
        data = pathlib.Path(self.file).read_bytes()
        pathlib.Path(self.file).write_bytes(data[:8 + 9 + struct.unpack_from('<BQ', data, 8)[1]])
        self.assertIn('it has no samples, so nothing is replayed', run('replay', self.file, code=1).stderr)

    def test_a_full_disk_ends_it_and_the_file_has_what_came_before(self):
        process = self.recorder('readings', preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN), restore_signals=False)
        self.peer.tell('burst 6')
        until(lambda: self.held(code=1)['samples'] == 50, lambda: 'no chunk was written')
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (os.path.getsize(self.file) + 1000, resource.RLIM_INFINITY))
        self.peer.tell('burst 7')
        said = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, 7)
        self.assertIn(f'{self.file}: the recording ends here, and the file has what was recorded before', said)
        self.assertIn('because: write: File too large', said)
        self.assertEqual((self.held()['samples'], len(messages_of(self.file))), (50, 50))

    def test_what_is_no_file_is_refused_at_once(self):
        os.mkfifo(self.file)
        for words in (('replay', self.file, '--info'), ('plot', 'readings', 'id', '--file', self.file)):
            self.assertIn('it is no regular file', run(*words, code=2).stderr)

    def test_a_field_is_plotted_as_it_comes_and_of_a_recording(self):
        recorder = self.recorder('readings', '--count', 3)
        plot = subprocess.Popen([SPINDRIFT, 'topic', 'plot', 'readings', 'counts[1]', '--as', 'participant', '--count', '3'], stdout=subprocess.PIPE, text=True)
        until(lambda: json.loads(run('info', 'readings', '--json').stdout)['topic']['readers'] == 3, lambda: 'it does not read')
        for value in ('1.5', '-2', '1e300'):
            self.peer.tell(f'reading 4 {value}')
        self.assertEqual([line.split()[1] for line in plot.communicate(timeout=PATIENCE)[0].splitlines()], ['2', '2', '2'])
        recorder.wait(PATIENCE)
        lines = run('plot', 'readings', 'value', '--file', self.file).stdout.splitlines()
        self.assertEqual([line.split()[1] for line in lines], ['1.5', '-2', '1e+300'])
        self.assertRegex(lines[0], r'^20\d\d-\d\d-\d\dT.*Z 1\.5$')
        self.assertIn('there is no field "valu"; fix: name one of sensor, value', run('plot', 'readings', 'valu', '--file', self.file, code=2).stderr)
        self.assertIn('has no samples of topic notes', run('plot', 'notes', 'f2', '--file', self.file, code=2).stderr)

    def test_a_field_that_no_recorded_sample_has_is_told(self):
        recorder = self.recorder('notes', '--count', 2)
        self.peer.tell('note a')
        self.peer.tell('note b')
        recorder.wait(PATIENCE)
        self.assertIn('f2 has no value in any of the 2 samples of topic notes', run('plot', 'notes', 'f2', '--file', self.file, code=2).stderr)

    def test_a_field_that_no_sample_has_is_no_reason_to_wait_on(self):
        plot = subprocess.Popen([SPINDRIFT, 'topic', 'plot', 'notes', 'f2', '--as', 'participant', '--timeout', '1000'], stderr=subprocess.PIPE, text=True)
        while plot.poll() is None:
            self.peer.tell('note x')
        self.assertRegex(plot.communicate(timeout=PATIENCE)[1], r'f2 has no value in any of the \d+ samples that came for 1000 ms; fix: see what')
        self.assertEqual(plot.returncode, 5)

    def test_a_damaged_recording_is_refused_with_the_place(self):
        process = self.recorder('readings', '--count', 50)
        self.peer.tell('burst 6')
        process.wait(PATIENCE)
        data = bytearray(pathlib.Path(self.file).read_bytes())
        data[data.index(struct.pack('<d', 30.0))] ^= 1
        pathlib.Path(self.file).write_bytes(data)
        said = run('replay', self.file, code=1).stderr
        self.assertRegex(said, r'a\.mcap: byte \d+: the checksum of a chunk is another one; fix: ')
        self.assertNotIn('replayed', said)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
