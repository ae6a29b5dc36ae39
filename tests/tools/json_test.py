#!/usr/bin/env python3
"""json_test.py SPINDRIFT SCHEMAS KIND: what the command prints of that kind with --json is what SCHEMAS/KIND.json describes, and nothing
else: an object with one field more, or one that it must have less, is refused. KIND `schemas` compares the schemas with the commands.
77 (skipped) where Debian's python3-jsonschema is not installed."""
import base64
import contextlib
import copy
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import jsonschema
except ImportError:
    print('skipped: JSON beside its schemas: jsonschema is not installed (apt-get install python3-jsonschema)')
    sys.exit(77)

SPINDRIFT, SCHEMAS, KIND = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
PATIENCE = 60  # seconds
EXACT = 2 ** 53  # a reader of JSON may round what is greater
# Commands below `bench` share a kind. Errors come from all of them.
KINDS = {'node': 'node', 'tail': 'tail', 'counters': 'counters', 'group status': 'group_status', 'group members': 'group_members',
         'group why': 'group_why', 'group roster': 'group_roster', 'group add': 'group_roster', 'group remove': 'group_roster',
         'group replace': 'group_roster', 'group move': 'group_roster', 'group drain': 'group_roster', 'group subgroups': 'group_subgroups',
         'group create-subgroup': 'group_subgroups', 'group change-subgroup': 'group_subgroups', 'group drop-subgroup': 'group_subgroups',
         'group revive': 'group_revive', 'group found': 'group_found', 'log ls': 'log_ls', 'log dump': 'log_dump', 'log replay': 'tail',
         'log verify': 'log_verify', 'log trim': 'log_trim', 'log repair': 'log_repair', 'log adopt': 'log_adopt', 'doctor': 'doctor',
         'topic ls': 'topic_ls', 'topic info': 'topic_info', 'topic echo': 'topic_echo', 'topic hz': 'topic_rates',
         'topic bw': 'topic_rates', 'topic replay': 'topic_recording', 'topic plot': 'topic_plot', 'bridge': 'bridge', 'topic delay': 'topic_rates', 'config check': 'config_check', 'config show': 'config_show', 'keys show': 'keys_show', 'demo': 'demo', 'bench': 'bench'}
# Objects whose fields are names that users give, or that depend on the bench.
# Objects whose fields are of a type of somebody's own.
FREE = {'data'}
MAPS = {'counters', 'digests', 'parameters', 'delivered', 'gap_ms'}
CONFIG = '''[SPINDRIFT]
members = 0, 1, 2
runtime_directory = {directory}
suspect_after_ms = {suspect_after_ms}
join_timeout_ms = 30000
[LAYOUT]
json_layout = '[{{"name": "orders"}}, {{"name": "audit", "senders": [1]}}]'
'''


def run(*words, code=0, **options):
    done = subprocess.run([SPINDRIFT, *map(str, words)], capture_output=True, timeout=PATIENCE, check=False, **options)
    assert done.returncode == code, f'{words} ended with {done.returncode}, not {code}: {done.stdout.decode()}{done.stderr.decode()}'
    return done


def validator(kind):
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / f'{kind}.json').read_text()))


def places(value, name=''):
    """Paths of all objects in it, of a list's only those that differ in their fields; with the name of the field that holds each."""
    if isinstance(value, dict):
        yield (), name
        for key, below in value.items():
            if key in FREE:
                continue
            yield from (((key, *path), last) for path, last in places(below, key))
    elif isinstance(value, list):
        forms = {}
        for number, each in enumerate(value):
            forms.setdefault(tuple(sorted(each)) if isinstance(each, dict) else None, number)
        for number in forms.values():
            yield from (((number, *path), last) for path, last in places(value[number], ''))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def numbers(value):
    if isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers(each)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


def check(document, kind=KIND):
    """The document is one of that kind; a field more or less is noticed wherever there is an object."""
    judge = validator(kind)
    judge.validate(document)
    assert document['version'] == 1
    assert all(number <= EXACT for number in numbers(document)), document
    for path, name in places(document):
        more = copy.deepcopy(document)
        at(more, path)['planted'] = []
        assert not judge.is_valid(more), f'{kind}: a field more at {path} is not noticed'
        for field in [] if name in MAPS else at(document, path):
            less = copy.deepcopy(document)
            del at(less, path)[field]
            assert not judge.is_valid(less), f'{kind}: {field} at {path} may be missing'
    return document


def output_of(*words, code=0, kind=KIND):
    done = run(*words, code=code)
    return check(json.loads(done.stdout), kind)


def error_of(*words, code, **options):
    """The line for which a program looks: other lines of standard error are the log's, or say for whom a member waits."""
    done = run(*words, code=code, **options)
    line, = [line for line in done.stderr.decode().splitlines() if line.startswith('{')]
    assert 'spindrift: ' not in done.stderr.decode().replace('spindrift: waiting for', ''), done.stderr
    document = check(json.loads(line), 'error')
    assert document['exit_code'] == code and document['error']['message'], document
    return document['error']


class Member:
    """A process whose lines are all of the kind that it prints."""

    def __init__(self, kind, *words, **options):
        self.process = subprocess.Popen([SPINDRIFT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
        self.kind, self.lines = kind, []

    def next(self):
        line = self.process.stdout.readline()
        assert line, f'{self.process.args} ended after {self.lines[-3:]}'
        self.lines.append(check(json.loads(line), self.kind))
        return self.lines[-1]

    def wait_for(self, **fields):
        while True:
            line = self.next()
            if all(line.get(field) == value for field, value in fields.items()):
                return line

    def wait_for_leave_of(self, node):
        # Others that leave at that moment may leave with the same view.
        while node not in self.wait_for(event='view')['left']:
            pass

    def stop(self):
        """Returns when none of its threads takes another step."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.lines += [check(json.loads(line), self.kind) for line in rest.splitlines()]
        return self.process.returncode


class Group(contextlib.ExitStack):
    """A configuration, and the members that a test starts; they end with the block."""

    def __init__(self, suspect_after_ms=2000):
        super().__init__()
        self.directory = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix='spindrift-')))
        self.config = self.directory / 'group.cfg'
        self.config.write_text(CONFIG.format(directory=self.directory, suspect_after_ms=suspect_after_ms))
        self.files = self.directory / 'spindrift'

    def start(self, kind, node, *more, **options):
        member = Member(kind, kind, '--config', self.config, '--id', node, '--json', *more, **options)
        self.callback(member.process.stdout.close)
        self.callback(member.process.wait)
        self.callback(member.process.kill)
        return member

    def start_alone(self):
        """A member that waits for the others, and has left a status."""
        member = self.start('node', 0)
        while not (self.files / 'status' / '0.status').exists():
            assert member.process.poll() is None, 'it ended'
            time.sleep(0.001)  # nobody tells when it is written
        return member

    def found(self):
        members = [self.start('node', node) for node in range(3)]
        for member in members:
            member.wait_for(event='in view')
        return members


class Kinds(unittest.TestCase):
    """Each test is one KIND."""

    def test_schemas(self):
        kinds = {path.stem for path in SCHEMAS.glob('*.json')}
        self.assertEqual(kinds, {*KINDS.values(), 'error'})
        with_json = {' '.join(words) for words in commands() if '--json' in help_of(*words)}
        built = set(KINDS) - (set() if ('bench', 'limits') in commands() else {'bench'})
        self.assertEqual({'bench' if name.startswith('bench ') else name for name in with_json}, built)
        page = (SCHEMAS.parent / 'cli.md').read_text()
        definitions = {}
        for kind in kinds:
            schema = json.loads((SCHEMAS / f'{kind}.json').read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertIn(f'schemas/{kind}.json', page)
            for name, definition in schema.get('$defs', {}).items():
                self.assertEqual(definitions.setdefault(name, definition), definition, f'{kind}: another {name} than elsewhere')
            self.judge_strictness(kind, schema)

    def judge_strictness(self, kind, schema):
        if isinstance(schema, list):
            for each in schema:
                self.judge_strictness(kind, each)
        if not isinstance(schema, dict):
            return
        if 'properties' in schema and schema.get('type') == 'object':
            self.assertIs(schema['additionalProperties'], False, kind)
            self.assertEqual(sorted(schema['required']), sorted(schema['properties']), kind)
        elif schema.get('type') == 'object':
            self.assertTrue({'type', '$ref'} & set(schema['additionalProperties']), kind)
        for each in schema.values():
            self.judge_strictness(kind, each)

    def test_node(self):
        with Group() as group:
            zero, one, two = group.found()
            one.end(signal.SIGKILL)
            self.assertEqual(zero.wait_for(event='view', view=1)['failed'][0]['node'], 1)
            self.assertEqual(two.end(), 0)
            self.assertEqual(zero.wait_for(event='view', view=2)['left'], [2])
            back = group.start('node', 1)
            back.wait_for(event='in view')
            self.assertEqual(zero.wait_for(event='view', view=3)['joined'], [1])
            for member in (back, zero):
                self.assertEqual(member.end(), 0)
            self.assertEqual({line['event'] for line in zero.lines}, {'joining', 'in view', 'view', 'leaving', 'left'})
            self.assertTrue(any(line.get('inadequate') for line in zero.lines))

    def test_tail(self):
        with Group() as group:
            tail = group.start('tail', 1, '--subgroup', 'orders', '--reliable', '--count', 3)
            node = group.start('node', 2)
            run('send', '--config', group.config, '--id', 0, '--subgroup', 'orders', input=b'one\n\xfftwo\nthree\n')
            self.assertEqual([tail.next()['text'] for _ in range(3)], ['one', '\ufffdtwo', 'three'])
            self.assertEqual(tail.process.wait(PATIENCE), 0)
            node.wait_for_leave_of(1)
            group.start('node', 1).wait_for(event='in view')
            # An observer whose lines nobody reads misses what its member's feed does not hold.
            observer = group.start('tail', 1, '--subgroup', 'orders')
            send = [SPINDRIFT, 'send', '--config', group.config, '--id', '0', '--subgroup', 'orders', '--quiet']
            with subprocess.Popen(send, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sender:
                while not select.select([observer.process.stdout], [], [], 0.05)[0]:
                    sender.stdin.write('first\n')
                    sender.stdin.flush()
                sender.stdin.write('more\n' * 200_000)
            self.assertEqual(sender.returncode, 0)
            gap = next(line for line in observer.process.stdout if '"gap"' in line)
            self.assertGreater(check(json.loads(gap), 'tail')['gap']['messages'], 1)

    def test_counters(self):
        with Group() as group:
            group.found()
            (group.files / '7.counters').write_text('nonsense')
            everything = output_of('counters', '--config', group.config, '--json', code=1)
            self.assertEqual([node['node'] for node in everything['nodes']], [0, 1, 2])
            self.assertIn('7.counters', everything['problems'][0]['place'])
            self.assertEqual(run('counters', '--config', group.config, '--format', 'json', code=1).stderr, b'')
            one = output_of('counters', '--config', group.config, '--id', 1, '--format', 'json')
            self.assertEqual(one['counters']['views.installed'], 1)

    def test_group_status(self):
        with Group() as group:
            waiting = group.start_alone()
            self.assertIsNone(output_of('group', 'status', '--config', group.config, '--json')['nodes'][0]['view'])
            others = [group.start('node', node) for node in (1, 2)]
            for member in (waiting, *others):
                member.wait_for(event='in view')
            (group.files / 'status' / '7.status').write_text('{}')
            status = output_of('group', 'status', '--group-dir', group.files, '--json', code=1)
            self.assertEqual([node['condition'] for node in status['nodes']], ['active'] * 3)
            self.assertEqual(len({node['incarnation'] for node in status['nodes']}), 3)
            self.assertIn('7.status', status['problems'][0]['place'] + status['problems'][0]['message'])
            # A pause is what an application makes, which this command has none of.
            waiting.stop()
            path = group.files / 'status' / '0.status'
            said = json.loads(path.read_text())
            said['subgroups'][0]['paused'] = {'since_ms': 5, 'messages': 340}
            path.write_text(json.dumps(said))
            status = output_of('group', 'status', '--group-dir', group.files, '--json', code=1)
            self.assertEqual([node['subgroups'][0]['paused'] for node in status['nodes']], [{'since_ms': 5, 'messages': 340}, None, None])

    def test_group_roster(self):
        with Group() as group:
            members = [group.start('node', node) for node in (0, 1, 2)]
            for member in members:
                member.wait_for(event='in view')
            self.assertEqual(output_of('group', 'roster', '--config', group.config, '--json')['edition'], 0)
            self.assertIn(9, [each['node'] for each in output_of('group', 'add', '9', '--config', group.config, '--json')['nodes']])
            replaced = output_of('group', 'replace', '9', '8', '--config', group.config, '--json')
            self.assertEqual((replaced['edition'], [each['node'] for each in replaced['nodes']]), (2, [0, 1, 2, 8]))
            self.assertEqual(output_of('group', 'remove', '8', '--config', group.config, '--json')['edition'], 3)
            drained = output_of('group', 'drain', '2', '--config', group.config, '--json')
            self.assertEqual([each['node'] for each in drained['nodes'] if each['drained']], [2])
            self.assertEqual(output_of('group', 'drain', '2', '--undo', '--config', group.config, '--json')['edition'], 5)

    def test_group_revive(self):
        with Group() as group:
            with contextlib.ExitStack() as ports:
                sockets = [ports.enter_context(socket.create_server(('127.0.0.1', 0))) for _ in range(3)]
                addresses = ', '.join(f'{node}@127.0.0.1:{each.getsockname()[1]}' for node, each in enumerate(sockets))
            between_hosts = f'addresses = {addresses}\nfabric = tcp\nsecurity = none\nmajority_lost = wait\n[LAYOUT]'
            group.config.write_text(group.config.read_text().replace('[LAYOUT]', between_hosts))
            zero, one, two = group.found()
            about = ('group', 'revive', '--config', group.config, '--json', '--members', '0')
            self.assertIn('has not lost the majority', error_of(*about, '--yes', code=3)['message'])
            for member in (one, two):
                member.stop()  # neither takes note of the other's death
            for member in (one, two):
                member.end(signal.SIGKILL)
            status = ('group', 'status', '--config', group.config, '--json')
            while output_of(*status, kind='group_status')['nodes'][0]['condition'] != 'stranded':
                time.sleep(0.01)  # nobody tells when its status is written
            self.assertIn('--yes', error_of(*about, code=2, stdin=subprocess.DEVNULL)['fix'])
            done = output_of(*about, '--yes')
            self.assertEqual((done['revived'], done['members'], done['given_up']), (True, [0], [1, 2]))
            zero.wait_for(event='view', members=[0])

    def test_group_found(self):
        with Group() as group:
            members = group.found()
            for member in members:
                member.stop()  # none goes on without the others for a moment
            for member in members:
                member.process.kill()
            for member in members:
                member.process.wait()
            zero = group.start_alone()
            about = ('group', 'found', '--config', group.config, '--json', '--members', '0')
            while subprocess.run([SPINDRIFT, *map(str, about)], capture_output=True, check=False).returncode != 10:
                time.sleep(0.01)  # nobody tells when it listens
            self.assertIn('nodes 1, 2 are missing', error_of(*about, code=10)['message'])
            self.assertIn('--yes', error_of(*about, '--force', code=2, stdin=subprocess.DEVNULL)['fix'])
            done = output_of(*about, '--force', '--yes')
            self.assertEqual((done['founded'], done['members']), (True, [0]))
            self.assertIn('nodes 1, 2 are missing', done['loss'])
            zero.wait_for(event='view', members=[0])

    def test_group_subgroups(self):
        with Group() as group:
            members = [group.start('node', node) for node in (0, 1, 2)]
            for member in members:
                member.wait_for(event='in view')
            about = ('--config', group.config, '--json')
            self.assertEqual(output_of('group', 'subgroups', *about)['subgroups'], [])
            created = output_of('group', 'create-subgroup', 'jobs', 'news', '--mode', 'unordered', '--members', '0,2', '--senders', '2', *about)
            self.assertEqual([each['name'] for each in created['subgroups']], ['jobs', 'news'])
            self.assertEqual((created['subgroups'][1]['members'], created['subgroups'][1]['senders']), ([0, 2], [2]))
            changed = output_of('group', 'change-subgroup', 'jobs', '--senders', 'all', '--window', '7', *about)
            self.assertEqual((changed['subgroups'][0]['senders'], changed['subgroups'][0]['window_messages']), (None, 7))
            dropped = output_of('group', 'drop-subgroup', 'jobs', *about)
            self.assertEqual([each['name'] for each in dropped['subgroups']], ['news'])

    def test_group_members(self):
        with Group() as group:
            waiting = group.start_alone()
            self.assertIsNone(output_of('group', 'members', '--config', group.config, '--json')['newest']['view'])
            others = [group.start('node', node) for node in (1, 2)]
            for member in (waiting, *others):
                member.wait_for(event='in view')
            told = output_of('group', 'members', '--config', group.config, '--json')
            self.assertEqual([member['node'] for member in told['newest']['members']], [0, 1, 2])
            table = run('group', 'members', '--config', group.config).stdout.decode()
            for member in told['newest']['members']:
                self.assertIn(member['incarnation'], table)

    def test_group_why(self):
        kinds = set()

        def look(group):
            found = output_of('group', 'why', '--config', group.config, '--json')['findings']
            kinds.update(finding['kind'] for finding in found)

        with Group(suspect_after_ms=300) as group:
            zero, one, two = group.found()
            run('group', 'add', '9', '--config', group.config)
            run('group', 'drain', '9', '--config', group.config)
            look(group)
            two.stop()  # it does not take note of its removal
            zero.wait_for(event='view', view=3)
            one.wait_for(event='view', view=3)
            look(group)
            two.end(signal.SIGKILL)
            self.assertEqual(one.end(), 0)
            zero.wait_for_leave_of(1)
            look(group)
            # What an application does to its member, which this command has none of, stands in the same file.
            zero.stop()
            path = group.files / 'status' / '0.status'
            path.write_text(json.dumps(json.loads(path.read_text()) | {'leave_waits': 'a handler', 'handler_at_work': 'on_delivery',
                                                                          'sends_wait': 'node 2'}))
            look(group)
            status = json.loads(path.read_text())
            status['subgroups'][0]['paused'] = {'since_ms': 5, 'messages': 340}
            path.write_text(json.dumps(status))
            look(group)
        with Group() as group:
            alone = group.start_alone()
            while 'looking' not in kinds:
                look(group)
            alone.end(signal.SIGKILL)
            look(group)
            path = group.files / 'status' / '0.status'
            left = {'process': 7, 'view': 3, 'end': None, 'began_ms': 5}
            path.write_text(json.dumps(json.loads(path.read_text()) | {'before': left}))
            look(group)
        self.assertEqual(kinds, {'removed', 'left', 'died', 'unaware', 'gone', 'ended', 'inadequate', 'blocked', 'leaving', 'handler',
                                 'slow', 'looking', 'stopped', 'ended before', 'drained', 'paused'})

    def journal(self, group):
        """A log of three messages in the journal of the group's only member, which has left; and how commands name it."""
        keeps = f'[PERS]\nfile_path = {group.directory}/journals\n[LAYOUT]'
        layout = group.config.read_text().replace('0, 1, 2', '0').replace('"orders"', '"orders", "storage": "logged"')
        group.config.write_text(layout.replace(', {"name": "audit", "senders": [1]}', '').replace('[LAYOUT]', keeps))
        about = ('--config', group.config, '--id', 0)
        run('send', *about, '--subgroup', 'orders', input=b'one\n\xfftwo\nthree\n')
        return *about, '--json'

    def damage(self, group):
        """Flips a byte of the second message, and of the first head."""
        segment, = (group.directory / 'journals/spindrift/0').glob('*.segment')
        content = segment.read_bytes()
        with segment.open('r+b') as file:
            for at in (40, content.index(b'\xfftwo')):
                file.seek(at)
                file.write(bytes([content[at] ^ 1]))

    @contextlib.contextmanager
    def domain(self):
        """A domain with a program that has topics; what it takes as commands."""
        with tempfile.TemporaryDirectory(prefix='spindrift-') as directory:
            os.environ['SPINDRIFT_RUNTIME_DIRECTORY'] = directory
            with subprocess.Popen([os.environ['TOPIC_PEER']], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
                self.assertEqual(peer.stdout.readline(), 'ready\n')
                yield peer.stdin
                peer.stdin.close()
                peer.stdout.read()

    def test_topic_ls(self):
        with self.domain():
            self.assertEqual(len(output_of('topic', 'ls', '--json')['topics']), 2)

    def test_topic_info(self):
        with self.domain():
            self.assertEqual([each['kind'] for each in output_of('topic', 'info', 'notes', '--json')['endpoints']], ['writer', 'reader'])

    def test_topic_echo(self):
        with self.domain() as peer:
            peer.write('note one\n')
            peer.flush()
            self.assertEqual(output_of('topic', 'echo', 'notes', '--from', 'last', '--count', 1, '--json')['data']['f0'], 'one')

    def test_topic_rates(self):
        with self.domain():
            self.assertEqual(output_of('topic', 'bw', 'notes', '--count', 1, '--json')['samples'], 0)

    def test_topic_plot(self):
        with self.domain() as peer, tempfile.TemporaryDirectory(prefix='spindrift-') as directory:
            with subprocess.Popen([SPINDRIFT, 'topic', 'record', 'readings', '--count', '1', '--output', f'{directory}/a.mcap'],
                                  stderr=subprocess.PIPE) as recorder:
                recorder.stderr.readline()
                peer.write('reading 4 1.5\n')
                peer.flush()
            self.assertEqual(output_of('topic', 'plot', 'readings', 'value', '--file', f'{directory}/a.mcap', '--json')['value'], 1.5)

    def test_bridge(self):
        if not os.path.exists(f'{os.path.dirname(SPINDRIFT)}/spindrift-bridge'):
            self.skipTest('it is built without Cyclone DDS')
        uri = '<General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>'
        with self.domain():
            bridge = subprocess.Popen([SPINDRIFT, 'bridge', 'readings', 'notes', '--cyclone-domain', '229', '--json'], text=True,
                                      stdout=subprocess.PIPE, env={**os.environ, 'CYCLONEDDS_URI': uri})
            events = [json.loads(bridge.stdout.readline()) for _ in range(2)]
            bridge.send_signal(signal.SIGTERM)
            events += map(json.loads, bridge.stdout)
            self.assertEqual(bridge.wait(PATIENCE), 0)
        for each in events:
            check(each)
        self.assertEqual({each['event'] for each in events}, {'mirror', 'refused', 'end'})

    def test_topic_recording(self):
        with self.domain() as peer, tempfile.TemporaryDirectory(prefix='spindrift-') as directory:
            peer.write('note one\n')
            peer.flush()
            file = f'{directory}/a.mcap'
            run('topic', 'record', 'notes', '--from', 'last', '--count', 1, '--output', file)
            held = output_of('topic', 'replay', file, '--info', '--json')
            self.assertEqual((held['samples'], held['topics'][0]['type']), (1, 'peer::Note'))
            self.assertIn(b'f2 has no value in any', run('topic', 'plot', 'notes', 'f2', '--file', file, '--json', code=2).stderr)
            run('topic', 'record', '--all', '--seconds', '0.01', '--output', f'{file}.b')
            self.assertIsNone(check(json.loads(run('topic', 'replay', f'{file}.b', '--info', '--json').stdout))['first'])

    def test_log_ls(self):
        with Group() as group:
            about = self.journal(group)
            self.assertEqual(output_of('log', 'ls', *about)['logs'][0]['end'], 3)
            self.damage(group)
            listed = check(json.loads(run('log', 'ls', *about, code=1).stdout))
            self.assertEqual(listed['logs'][0]['lost'], [{'first': 1, 'end': 2}])
            self.assertEqual(error_of('log', 'ls', *about, code=1)['kind'], 'bad input')

    def test_log_trim(self):
        with Group() as group:
            about = ('log', 'trim', 'orders', *self.journal(group))
            self.assertIn('does not run', error_of(*about, '--before', '2', '--yes', code=4)['message'])
            group.start('node', 0).wait_for(event='in view')
            self.assertIn('--yes', error_of(*about, '--before', '2', code=2, stdin=subprocess.DEVNULL)['fix'])
            self.assertIn('--before 3', error_of(*about, '--before', '4', '--yes', code=2)['fix'])
            done = output_of(*about, '--before', '2', '--yes')
            self.assertEqual((done['first'], done['below'], done['trimmed']), (0, 2, True))
            self.assertEqual(output_of(*about, '--before', '0', '--yes')['below'], 0)
            self.assertEqual(output_of(*about, '--before', '2099-01-01T00:00:00Z', '--yes')['below'], 3)

    def test_log_repair(self):
        with Group() as group:
            about = self.journal(group)
            own, copy = (group.directory / 'journals/spindrift' / name for name in ['0', 'copy'])
            shutil.copytree(own, copy)
            repair = ('log', 'repair', *about, '--from', copy)
            told = output_of(*repair)
            self.assertEqual((told['needed'], told['ahead']), (False, []))
            self.damage(group)
            told = output_of(*repair)
            self.assertTrue(told['possible'] and told['kept'] is None)
            self.assertEqual([each['found'] for each in told['places'][0]['messages']], [True])
            self.assertIn('is to be repaired', error_of('log', 'repair', *about, '--from', own, code=2)['message'])
            kept = output_of(*repair, '--write')['kept']
            self.assertEqual(kept, f'{own}.damaged-1')
            self.assertFalse(output_of(*repair)['needed'])
            shutil.rmtree(own)
            shutil.copytree(kept, own)
            refused = check(json.loads(run('log', 'repair', *about, '--from', kept, code=1).stdout))
            self.assertIn('damaged there, too', refused['refusals'][0]['message'])
            shutil.rmtree(own)
            shutil.copytree(copy, own)
            run('send', *about[:-1], '--subgroup', 'orders', input=b'four\n')
            longer = group.directory / 'journals/spindrift/longer'
            shutil.copytree(own, longer)
            shutil.rmtree(own)
            shutil.copytree(copy, own)
            told = output_of(*repair[:-1], longer)
            ahead = [(each['subgroup'], each['first'], each['end']) for each in told['ahead']]
            self.assertEqual((told['needed'], ahead), (False, [('orders', 3, 4)]))
            shutil.rmtree(own)
            own.mkdir(0o700)
            self.assertIn('there is no journal in it', error_of(*repair, code=7)['message'])

    def test_log_adopt(self):
        with Group() as group:
            keeps = f'[PERS]\nfile_path = {group.directory}/journals\n[LAYOUT]'
            layout = group.config.read_text().replace('"orders"', '"orders", "members": [1, 2], "storage": "logged"')
            group.config.write_text(layout.replace(', {"name": "audit", "senders": [1]}', '').replace('[LAYOUT]', keeps))
            about = ('log', 'adopt', 'orders', '--config', group.config, '--json', '--from', '2')
            _, one, two = group.found()
            two.end(signal.SIGTERM)
            run('send', '--config', group.config, '--id', '2', '--subgroup', 'orders', '--wait', 'durable', input=b'one\n')
            self.assertIn('is here', error_of(*about, code=3)['message'])
            one.end(signal.SIGKILL)
            shutil.rmtree(group.directory / 'journals/spindrift/1')
            group.start('node', 2).wait_for(event='in view')
            while subprocess.run([SPINDRIFT, *map(str, about)], capture_output=True, check=False).returncode != 10:
                time.sleep(0.01)  # nobody tells when all have said what they have
            self.assertIn('node 1', error_of(*about, code=10)['message'])
            self.assertIn('--yes', error_of(*about, '--force', code=2, stdin=subprocess.DEVNULL)['fix'])
            done = output_of(*about, '--force', '--yes')
            self.assertEqual((done['adopted'], done['subgroup'], done['from']), (True, 'orders', 2))
            self.assertIn('is lost', done['loss'])

    def test_log_dump(self):
        with Group() as group:
            about = self.journal(group)
            lines = [check(json.loads(line)) for line in run('log', 'dump', 'orders', *about).stdout.splitlines()]
            self.assertEqual([line['text'] for line in lines], ['one', None, 'three'])
            self.assertEqual(base64.b64decode(lines[1]['base64']), b'\xfftwo')
            again = [check(json.loads(line), 'tail') for line in run('log', 'replay', 'orders', *about).stdout.splitlines()]
            self.assertEqual([line['log_version'] for line in again], [0, 1, 2])

    def test_log_verify(self):
        with Group() as group:
            about = self.journal(group)
            self.assertEqual(output_of('log', 'verify', *about)['damages'], [])
            run('keys', 'init', 'spindrift', '--dir', str(group.directory / 'keys'), '--nodes', '0')
            unproved = output_of('log', 'verify', '--keys', str(group.directory / 'keys/authority'), *about, code=1)
            self.assertEqual([each['kind'] for each in unproved['proof']['logs'][0]['problems']], ['unsigned'])
            self.damage(group)
            judged = output_of('log', 'verify', *about, code=1)
            self.assertEqual([damage['kind'] for damage in judged['damages']], ['head', 'entries'])
            segment, = (group.directory / 'journals/spindrift/0').glob('*.segment')
            with segment.open('r+b') as file:
                file.seek(-4096, 2)
                file.write(b'what a write left')
            (segment.parent / 'next.segment').write_bytes(bytes(4096))
            judged = output_of('log', 'verify', *about, code=1)
            self.assertTrue(judged['torn'] and judged['leftovers'])

    def test_doctor(self):
        self.assertTrue(output_of('doctor', '--json')['ok'])
        with Group() as group:
            output_of('doctor', '--config', group.config, '--id', 1, '--json')
            bad = output_of('doctor', '--config', group.config, '--set', 'SPINDRIFT/log_file=/nowhere/log', '--json', code=7)
            self.assertIn('bad', [finding['grade'] for finding in bad['findings']])

    def test_config_check(self):
        with Group() as group:
            self.assertTrue(output_of('config', 'check', group.config, '--json')['ok'])
            group.config.write_text('nonsense\n' * 101)
            bad = output_of('config', 'check', group.config, '--json', code=2)
            self.assertEqual((len(bad['problems']), bad['ok']), (100, False))
            self.assertGreater(bad['problem_count'], 100)
            self.assertEqual(bad['problems'][0]['place'], f'{group.config}:1')

    def test_config_show(self):
        with Group() as group:
            everything = output_of('config', 'show', '--effective', group.config, '--json')
            self.assertGreater(len(everything['values']), 20)
            self.assertEqual(output_of('config', 'show', group.config, '--json')['digest'], everything['digest'])

    def test_keys_show(self):
        with tempfile.TemporaryDirectory() as directory:
            run('keys', 'init', 'orders', '--dir', directory, '--nodes', '0,1')
            for role in ('observer', 'client', 'admin'):
                run('keys', 'add', 'orders', '--dir', directory, f'--{role}', f'some-{role}')
            run('keys', 'revoke', 'orders', '--dir', directory, '--nodes', 1)
            shown = output_of('keys', 'show', 'orders', '--dir', directory, '--json')
            self.assertEqual(len(shown['certificates']), 5)
            self.assertEqual(output_of('keys', 'show', f'{directory}/0', '--json')['problem'], None)
            refused = output_of('keys', 'show', f'{directory}/1', '--json', code=3)
            self.assertTrue(refused['certificates'][0]['revoked'])
            self.assertEqual(error_of('keys', 'show', f'{directory}/1', '--json', code=3), refused['problem'])

    def test_demo(self):
        self.assertTrue(output_of('demo', '--json')['ok'])
        hurried = output_of('demo', '--json', '--rate', 'real', '--patience', '0.2', code=5)
        self.assertFalse(hurried['members'][0]['ok'])
        recording = SCHEMAS.parent.parent / 'examples/flight/sample_log_small.ulg'
        with tempfile.TemporaryDirectory() as directory:
            cut = pathlib.Path(directory) / 'cut.ulg'
            cut.write_bytes(recording.read_bytes()[:300000])
            self.assertTrue(output_of('demo', cut, '--json', code=1)['damage']['message'])

    def test_bench(self):
        figures = []
        for words in (['limits', '--members', '2', '--size', '100', '--threads', '1', '--seconds', '0.01'],
                      ['multicast', '--members', '2', '--size', '100', '--senders', 'one', '--messages', '1000']):
            done = run('bench', *words, '--repeat', '1', '--json', '-')
            figures += [check(json.loads(line)) for line in done.stdout.decode().splitlines()]
        self.assertIn(None, [figure['limit_median'] for figure in figures])
        self.assertTrue(any(figure['ratio'] for figure in figures))

    def test_error(self):
        with Group() as group:
            missing = error_of('node', '--config', '/nowhere.cfg', '--json', code=2)
            self.assertEqual((missing['kind'], missing['place']), ('bad config', '/nowhere.cfg'))
            self.assertIn('`node`', error_of('nod', '--json', code=2)['fix'])
            error_of('node', '--json', '--no-such-option', code=2)
            error_of('counters', '--config', group.config, '--format', 'json', code=7)
            error_of('counters', '--config', group.config, '--format=json', '--id', 0, code=7)
            error_of('bench', 'limits', '--json', '-', '--members', '1', code=2)
            late = error_of('node', '--config', group.config, '--id', 0, '--set', 'SPINDRIFT/join_timeout_ms=100', '--json', code=5)
            self.assertEqual(late['kind'], 'timed out')
            chain = error_of('counters', '--config', group.config, '--id', 0, '--json', code=7)
            self.assertTrue(chain['cause'] and chain['fix'])
            with open('/dev/full', 'w', encoding='utf-8') as full:
                done = subprocess.run([SPINDRIFT, 'doctor', '--json'], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(check(json.loads(done.stderr), 'error')['exit_code'], done.returncode)
            self.judge_interruption(group)
            self.judge_want_of_memory(group)

    def judge_interruption(self, group):
        words = ['node', '--config', group.config, '--id', '0', '--json']
        process = subprocess.Popen([SPINDRIFT, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while 'waiting for' not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        line, = [line for line in process.communicate(timeout=PATIENCE)[1].splitlines() if line.startswith('{')]
        told = check(json.loads(line), 'error')
        self.assertEqual((told['error']['kind'], told['exit_code'], process.returncode), ('interrupted', 130, 130))

    def judge_want_of_memory(self, group):
        """A configuration with more mistakes than there is memory to remember them."""
        group.config.write_text('x\n' * 400000)
        limited = ['/bin/bash', '-c', 'ulimit -v 60000 && exec "$0" "$@"', SPINDRIFT, 'config', 'check', group.config, '--json']
        done = subprocess.run(limited, capture_output=True, text=True, timeout=PATIENCE, check=False)
        told = check(json.loads(done.stderr), 'error')
        self.assertEqual((told['error']['message'], told['exit_code'], done.returncode), ('this process gets no more memory', 7, 7))


def help_of(*words):
    return run(*words, '--help').stdout.decode()


def commands(*words):
    """Every command that has none below it, as a tuple of words."""
    below = re.search(r'^Subcommands:\n((?: +.*\n)+)', help_of(*words), re.MULTILINE)
    if not below:
        return [words]
    return [leaf for name in re.findall(r'^  (\S+)', below.group(1), re.MULTILINE) for leaf in commands(*words, name)]


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], f'Kinds.test_{KIND}'])
