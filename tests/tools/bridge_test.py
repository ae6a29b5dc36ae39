#!/usr/bin/env python3
"""bridge_test.py SPINDRIFT [PEER CYCLONE_PEER]: `spindrift bridge` between a program that has the C++ types and a C program of
Cyclone DDS, which speak with each other over the loopback interface. Without peers the machine lacks Cyclone DDS."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from waiting import until

PATIENCE = 100
SPINDRIFT = sys.argv[1]
if len(sys.argv) < 4:
    if not os.path.exists(f'{os.path.dirname(SPINDRIFT)}/spindrift-bridge'):
        done = subprocess.run([SPINDRIFT, 'bridge', 'a'], capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 8 and 'without Cyclone DDS' in done.stderr and 'cyclonedds-dev' in done.stderr, done
    print('Cyclone DDS is not there, or not its tools: install cyclonedds-dev and cyclonedds-tools')
    sys.exit(77)
PEER, CYCLONE_PEER = sys.argv[2:4]
CYCLONE_DOMAIN = 1 + os.getpid() % 200  # tests run beside each other


def ports_of(process):
    """On which it takes datagrams over IPv4."""
    held = {os.readlink(f'/proc/{process}/fd/{each}') for each in os.listdir(f'/proc/{process}/fd')}
    with open('/proc/net/udp', encoding='ascii') as sockets:
        rows = [line.split() for line in sockets][1:]
    return [int(row[1].split(':')[1], 16) for row in rows if f'socket:[{row[9]}]' in held]


class Program:
    """A process that answers each command with "done", and prints what comes."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, '')))
        self.reader.start()
        self.expect('ready')

    def expect(self, line, times=1):
        until(lambda: self.lines.count(line + '\n') >= times, lambda: f'{line} was not said {times} times: {self.lines}')

    def tell(self, line, wait=True):
        before = self.lines.count('done\n')
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        if wait:
            self.expect('done', before + 1)

    def values(self, sensor):
        """Of the readings of a sensor, in the order in which they came."""
        return [float(words[2]) for words in map(str.split, self.lines) if words[:2] == ['reading', str(sensor)]]

    def end(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.reader.join()
        self.process.stdout.close()


class Bridge:
    def __init__(self, *words):
        command = [SPINDRIFT, 'bridge', *map(str, words), '--cyclone-domain', str(CYCLONE_DOMAIN), '--json']
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.events, self.said = [], []
        self.threads = [threading.Thread(target=lambda: self.events.extend(map(json.loads, self.process.stdout))),
                        threading.Thread(target=lambda: self.said.extend(self.process.stderr))]
        for each in self.threads:
            each.start()

    def expect(self, **parts):
        found = lambda: [each for each in self.events if parts.items() <= each.items()]
        until(lambda: found() or self.process.poll() is not None, lambda: f'{parts} was not told: {self.events} {self.said}')
        assert found(), f'{parts} was not told: {self.events} {self.said}'
        return found()[0]

    def mirrors(self, topic='readings', directions=('to_cyclone', 'from_cyclone')):
        for each in directions:
            self.expect(event='mirror', topic=topic, direction=each)

    def end(self):
        """What it told of each topic in the end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(PATIENCE) == 0, self.said
        for each in self.threads:
            each.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return {each['topic']: each for each in self.events if each['event'] == 'end'}


class Bridges(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='spindrift-bridge-')
        self.addCleanup(scratch.cleanup)
        os.environ['SPINDRIFT_RUNTIME_DIRECTORY'] = scratch.name
        os.environ['CYCLONEDDS_URI'] = ('<General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>'
                                        '<Discovery><Peers><Peer address="127.0.0.1"/></Peers><ParticipantIndex>auto</ParticipantIndex>'
                                        '<MaxAutoParticipantIndex>30</MaxAutoParticipantIndex></Discovery>')

    def spindrift(self):
        peer = Program(PEER)
        self.addCleanup(peer.end)
        return peer

    def cyclone(self, *commands):
        peer = Program(CYCLONE_PEER, str(CYCLONE_DOMAIN))
        self.addCleanup(peer.end)
        for each in commands:
            peer.tell(each)
        return peer

    def bridge(self, *words):
        bridge = Bridge(*words)
        self.addCleanup(bridge.end)
        return bridge

    def until_matched(self, program, count):
        def matched():
            program.tell('matched')
            return [line for line in program.lines if line.startswith('matched')][-1] == f'matched {count}\n'
        until(matched, lambda: f'its writer does not match {count} readers: {program.lines}')

    def test_samples_pass_both_ways_in_their_order_and_none_comes_back(self):
        ours = self.spindrift()
        theirs = self.cyclone('write reading reliable 100', 'read reading reliable 1000')
        bridge = self.bridge('readings')
        bridge.mirrors()
        self.until_matched(theirs, 2)  # its own reader, and the bridge's
        theirs.tell('burst 1 50')
        ours.expect('reading 1 49 1 1 2')
        self.assertEqual(ours.values(1), list(range(50)))
        until(lambda: ours.tell('reading 2 1') or theirs.values(2), lambda: 'nothing reached the reader of Cyclone DDS')
        ours.tell('burst 3')
        theirs.expect('reading 3 49 1 1 2')
        self.assertEqual(theirs.values(3), list(range(50)))
        theirs.tell('dispose 1')
        ours.tell('dispose 3')
        theirs.expect('disposed 3')
        # Whatever comes back would be before these.
        ours.tell('reading 4 4')
        theirs.tell('reading 5 5')
        theirs.expect('reading 4 4 1 1 2')
        ours.expect('reading 5 5 1 1 2')
        self.assertEqual((len(theirs.values(1)), len(theirs.values(5)), len(ours.values(3)), len(ours.values(4))), (50, 1, 50, 1))
        told = bridge.end()['readings']
        self.assertEqual((told['from_cyclone']['samples'], told['from_cyclone']['news'], told['from_cyclone']['dropped']), (51, 1, 0))
        self.assertEqual((told['to_cyclone']['news'], told['to_cyclone']['dropped']), (1, 0))

    def test_of_two_bridges_between_the_same_domains_the_first_mirrors_and_the_other_takes_over(self):
        ours = self.spindrift()
        theirs = self.cyclone('write reading reliable 100', 'read reading reliable 1000')
        first = self.bridge('readings')
        first.mirrors()
        self.until_matched(theirs, 2)
        second = self.bridge('readings')
        refused = second.expect(event='refused', topic='readings')
        self.assertIn('mirrors it between the same domains', refused['error']['message'])
        ours.tell('reading 1 1')
        theirs.tell('reading 7 1')
        ours.tell('reading 1 2')
        theirs.expect('reading 1 2 1 1 2')
        ours.expect('reading 7 1 1 1 2')
        told = first.end()['readings']
        self.assertEqual((told['to_cyclone']['samples'], told['from_cyclone']['samples']), (2, 1))
        second.mirrors()
        self.until_matched(theirs, 2)
        theirs.tell('reading 7 3')
        ours.expect('reading 7 3 1 1 2')
        self.assertEqual((theirs.values(1), ours.values(7)), ([1, 2], [1, 3]))

    def test_a_bridge_that_the_others_removed_says_so_and_what_it_passed_on(self):
        ours, _other = self.spindrift(), self.spindrift()
        theirs = self.cyclone('read reading reliable 1000')
        bridge = self.bridge('readings', '--direction', 'to-cyclone')
        bridge.mirrors(directions=['to_cyclone'])
        until(lambda: ours.tell('reading 2 1') or theirs.values(2), lambda: 'nothing reached the reader of Cyclone DDS')
        bridge.process.send_signal(signal.SIGSTOP)
        try:
            command = [SPINDRIFT, 'topic', 'info', 'readings', '--json']
            until(lambda: json.loads(subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE).stdout)['topic']['readers'] == 2,
                  lambda: 'the bridge is still there')
        finally:
            bridge.process.send_signal(signal.SIGCONT)
        self.assertIn(bridge.process.wait(PATIENCE), (9, 10), bridge.said)
        self.assertGreaterEqual(bridge.end()['readings']['to_cyclone']['samples'], 1)
        self.assertTrue(any('"kind"' in line for line in bridge.said), bridge.said)

    def test_a_direction_alone_passes_nothing_the_other_way(self):
        ours = self.spindrift()
        theirs = self.cyclone('write reading reliable 100', 'read reading reliable 1000')
        bridge = self.bridge('readings', '--direction', 'from-cyclone')
        bridge.mirrors(directions=['from_cyclone'])
        self.until_matched(theirs, 2)
        ours.tell('reading 2 1')
        theirs.tell('reading 1 1')
        ours.expect('reading 1 1 1 1 2')
        told = bridge.end()['readings']
        self.assertEqual((told['to_cyclone']['samples'], told['from_cyclone']['samples'], theirs.values(2)), (0, 1, []))

    def test_a_late_reader_of_cyclone_gets_the_history_of_a_topic_that_keeps_it(self):
        theirs = self.cyclone('write reading transient_kept 3')
        bridge = self.bridge('readings')
        qos = bridge.expect(event='mirror', topic='readings', direction='from_cyclone')['qos']
        self.assertEqual(qos, 'RELIABLE, TRANSIENT of the last 3')
        bridge.mirrors()
        self.until_matched(theirs, 1)
        theirs.tell('burst 7 10')
        # So does what a writer of Spindrift's wrote, which is gone as well.
        reading = json.dumps({'sensor': 8, 'value': 42, 'mode': 1, 'counts': [1, 2]})
        subprocess.run([SPINDRIFT, 'topic', 'pub', 'readings', reading], check=True, timeout=PATIENCE, stderr=subprocess.DEVNULL)
        # Its writer is gone, and with it what Cyclone DDS itself has of its samples.
        theirs.end()
        late = self.cyclone()
        # The bridge has to have heard of the end: until then a reader is given nothing.
        def has_history():
            late.tell('read reading transient_local 100')
            limit = time.monotonic() + 2
            while late.values(7)[-1:] != [9.0] and time.monotonic() < limit:
                time.sleep(0.05)
            if late.values(7):
                return True
            late.tell('unread')
            time.sleep(0.5)  # without readers
            return False
        until(has_history, lambda: f'the late reader has {late.lines}, {bridge.events}, {bridge.said}')
        self.assertEqual(late.values(7), [7, 8, 9])
        late.expect('reading 8 42 1 1 2')

    def test_a_type_whose_bytes_are_others_in_dds_is_refused(self):
        self.spindrift()
        bridge = self.bridge('notes')
        told = bridge.expect(event='refused', topic='notes')['error']
        self.assertEqual((told['kind'], told['message']), ('unsupported', 'it has an optional, whose bytes are others in DDS'))

    def test_a_type_that_only_cyclone_has_is_taken_over_with_its_names(self):
        theirs = self.cyclone('write shape reliable 10')
        bridge = self.bridge('shapes')
        bridge.mirrors('shapes')
        self.until_matched(theirs, 1)
        echo = subprocess.Popen([SPINDRIFT, 'topic', 'echo', 'shapes', '--count', '1', '--json'], stdout=subprocess.PIPE, text=True)
        def comes():
            theirs.tell('shape square')
            return echo.poll() is not None
        until(comes, lambda: f'no shape came: {bridge.said}')
        sample = json.loads(echo.communicate()[0])['data']
        self.assertEqual(sample, {'name': 'square', 'points': [{'x': 1.5, 'y': 2.5}, {'x': -1, 'y': 0}], 'filled': True,
                                  'words': ['a', ''], 'grid': [[1, 2, 3], [4, 5, 6]]})

    def test_a_type_has_its_own_name_on_each_side_as_those_of_ros_2_do(self):
        ours = self.spindrift()
        bridge = self.bridge('readings')
        self.assertEqual(bridge.expect(event='mirror', direction='to_cyclone')['type'], 'peer::Reading')
        theirs = self.cyclone('write ros reliable 100', 'read ros reliable 1000')
        self.assertEqual(bridge.expect(event='mirror', direction='from_cyclone')['type'], 'peer::dds_::Reading_')
        self.until_matched(theirs, 2)
        theirs.tell('reading 1 1.5')
        ours.expect('reading 1 1.5 1 1 2')
        until(lambda: ours.tell('reading 2 1') or theirs.values(2), lambda: 'nothing reached the reader of Cyclone DDS')

    def test_another_type_is_refused_with_the_reason(self):
        self.spindrift()
        theirs = self.cyclone('read wrong reliable 10', 'write loose reliable 10')
        bridge = self.bridge('readings', 'words')
        told = bridge.expect(event='refused', topic='readings')['error']
        self.assertEqual(told['message'], 'the type of a reader of Cyclone DDS is another one: here it is '
                                          '"{i32,f64,enum:8 bits,u16[2]} key=0", there "{i32,f32} key=0"')
        told = bridge.expect(event='refused', topic='words')['error']
        self.assertIn('XCDR2', told['message'])
        theirs.tell('unread')
        bridge.mirrors(directions=['to_cyclone'])

    def test_bytes_that_are_no_sample_are_counted_and_harm_nobody(self):
        ours = self.spindrift()
        wild = self.cyclone('write wild reliable 10')
        good = self.cyclone('write reading reliable 10')
        bridge = self.bridge('readings')
        bridge.mirrors()
        self.until_matched(wild, 1)
        self.until_matched(good, 1)
        for _ in range(5):
            wild.tell('wild')
        good.tell('reading 1 2.5')
        ours.expect('reading 1 2.5 1 1 2')
        said = r'^spindrift: topic readings: dropped \d samples? of Cyclone DDS that are none of its type, so far: '
        until(lambda: re.search(said, ''.join(bridge.said), re.MULTILINE), lambda: f'nothing is said of the wrong bytes: {bridge.said}')
        told = bridge.end()['readings']['from_cyclone']
        self.assertEqual((told['malformed'], told['samples']), (5, 1))

    def test_a_flood_of_wild_datagrams_has_little_said(self):
        bridge = self.bridge('readings')
        bridge.expect(event='awaited')
        # An RTPS header, and a submessage of a kind that there is with a length that it cannot have.
        wild = b'RTPS\x02\x01\x01\x10' + bytes(12) + b'\x15\x01\x3c\x00' + b'\xff' * 60
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(3000):
                for port in ports_of(bridge.process.pid):
                    stranger.sendto(wild, ('127.0.0.1', port))
        until(lambda: any('malformed' in line for line in bridge.said), lambda: f'nothing is said: {bridge.said}')
        bridge.end()
        self.assertLess(len(bridge.said), 200)

    def test_a_reader_that_takes_nothing_holds_up_the_writer_and_misses_nothing(self):
        count = 20000  # more than what waits on the way; Cyclone DDS would let that grow for minutes
        os.environ['CYCLONEDDS_URI'] += ('<Internal><Watermarks><WhcHigh>8kB</WhcHigh><WhcHighInit>8kB</WhcHighInit>'
                                         '<WhcAdaptive>false</WhcAdaptive></Watermarks></Internal>')
        self.spindrift()
        theirs = self.cyclone('hold reading reliable 0')
        bridge = self.bridge('readings')
        bridge.mirrors(directions=['to_cyclone'])
        writer = subprocess.Popen([SPINDRIFT, 'topic', 'pub', 'readings', '--timeout', '100000'], stdin=subprocess.PIPE, text=True)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        lines = (json.dumps({'sensor': 1, 'value': each, 'mode': 1, 'counts': [1, 2]}) + '\n' for each in range(count))
        feeder = threading.Thread(target=lambda: (writer.stdin.writelines(lines), writer.stdin.close()))
        feeder.start()
        held = 'spindrift: topic readings: a reader of Cyclone DDS has taken nothing for 5 s, and the writers of the other side wait\n'
        until(lambda: held in bridge.said, lambda: f'nobody is held up: {bridge.said}')
        self.assertIsNone(writer.poll())
        theirs.tell('listen')
        feeder.join()
        self.assertEqual(writer.wait(PATIENCE), 0)
        theirs.expect(f'reading 1 {count - 1} 1 1 2')
        self.assertTrue(theirs.values(1) == list(range(count)), 'some are missing, or in another order')
        self.assertEqual(bridge.end()['readings']['to_cyclone']['dropped'], 0)

    def test_its_memory_is_bounded_however_many_samples_pass(self):
        ours = self.spindrift()
        theirs = self.cyclone('write reading reliable 0')
        bridge = self.bridge('readings')
        bridge.mirrors()
        self.until_matched(theirs, 1)
        def resident_kib():
            with open(f'/proc/{bridge.process.pid}/status', encoding='ascii') as status:
                return int(re.search(r'^VmRSS:\s+(\d+) kB', status.read(), re.MULTILINE).group(1))
        def pass_on(sensor, count):
            theirs.tell(f'burst {sensor} {count}')
            ours.expect(f'reading {sensor} {count - 1:g} 1 1 2')
            self.assertTrue(ours.values(sensor) == list(range(count)), 'some are missing, or in another order')
            return resident_kib()
        # A sample per second for a day; the first ones make what it needs once.
        first = pass_on(1, 6000)
        last = max(pass_on(2, 40000), pass_on(3, 40400))
        self.assertLess(last, first + 16 * 1024, f'{first} KiB became {last} KiB')
        self.assertEqual(bridge.end()['readings']['from_cyclone']['samples'], 86400)

    def test_a_topic_that_neither_domain_has_is_said_once_and_mirrored_when_one_has_it(self):
        bridge = self.bridge('readings', 'raedings')
        bridge.expect(event='awaited', topic='raedings')
        bridge.expect(event='awaited', topic='readings')
        self.spindrift()
        self.cyclone('write reading reliable 10')
        bridge.mirrors()
        bridge.end()
        self.assertEqual(len([each for each in bridge.events if each['event'] == 'awaited']), 2)

    def test_what_is_wrong_with_its_command_line_is_said(self):
        for words, part in ((['bridge'], 'is given no TOPIC'), (['bridge', 'a', '--direction', 'up'], 'up'),
                            (['bridge', 'a', '--cyclone-domain', '500'], 'cyclone-domain')):
            done = subprocess.run([SPINDRIFT, *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
