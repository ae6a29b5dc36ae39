#!/usr/bin/env python3
"""observer_hosts_test.py SPINDRIFT: `spindrift tail` on a host without a member, fed by four members on two others. It is
stopped, and then says exactly what it has missed; the member that feeds it is killed, the next one is stopped, and it goes on
each time. A key of another role is refused by name. Hosts are network namespaces: without the right to make them, 77
(skipped)."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import Hosts

SPINDRIFT = sys.argv[1]
LIMIT = 60.0  # seconds that nothing may take
HOST_OF = {0: 'a', 1: 'a', 2: 'b', 3: 'b'}
ADDRESS = {'a': '10.79.0.1', 'b': '10.79.0.2', 'c': '10.79.0.3'}


class Scene:
    def __init__(self, hosts, directory):
        self.hosts, self.directory = hosts, pathlib.Path(directory)
        self.processes = {}
        keys = ['--nodes', '0,1,2,3', '--observer', 'wall', '--client', 'wall']
        subprocess.run([SPINDRIFT, 'keys', 'init', 'spindrift', '--dir', f'{directory}/keys', *keys], check=True,
                       stdout=subprocess.DEVNULL)
        addresses = ', '.join(f'{node}@{ADDRESS[host]}:{7400 + node}' for node, host in HOST_OF.items())
        self.config = self.directory / 'orders.cfg'
        self.config.write_text(f'''[SPINDRIFT]
members = 0, 1, 2, 3
addresses = {addresses}
observer_port = 7500
keys = {directory}/keys/<id>
runtime_directory = {directory}/members
join_timeout_ms = {int(LIMIT * 1000)}
[LAYOUT]
json_layout = '[{{"name": "orders"}}]'
''')

    def command(self, host, *words):
        return ['ip', 'netns', 'exec', self.hosts.names[host], SPINDRIFT, *words, '--config', str(self.config)]

    def tail(self, role, *more):
        place = ['--set', f'SPINDRIFT/runtime_directory={self.directory}/elsewhere',
                 '--set', f'SPINDRIFT/keys={self.directory}/keys/{role}-wall']
        return self.command('c', 'tail', '--subgroup', 'orders', '--json', *place, *more)

    def start(self, name, command, **more):
        with open(self.directory / f'{name}.log', 'wb') as log:
            self.processes[name] = subprocess.Popen(command, stderr=log, **more)
        return self.processes[name]

    def log(self, name):
        return (self.directory / f'{name}.log').read_text()

    def send(self, node, texts):
        pipe = self.processes[f'node{node}'].stdin
        pipe.write(''.join(f'{text}\n' for text in texts).encode())
        pipe.flush()

    def until(self, what, condition):
        limit = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > limit:
                for name in self.processes:
                    print(f'--- {name}', self.log(name)[-3000:], sep='\n')
                raise AssertionError(f'after {LIMIT:.0f} s still waiting: {what}')
            time.sleep(0.02)

    def seen(self):
        """The objects that the tail has printed."""
        text = (self.directory / 'seen').read_text().rpartition('\n')[0]
        return [json.loads(line) for line in text.splitlines()]

    def texts(self):
        return [line['text'] for line in self.seen() if 'text' in line]

    def sources(self):
        return [int(node) for node in re.findall(r'observes node (\d+)', self.log('tail'))]


def play(scene):
    for node, host in HOST_OF.items():
        scene.start(f'node{node}', scene.command(host, 'send', '--id', str(node), '--subgroup', 'orders'),
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with open(scene.directory / 'seen', 'wb') as seen:
        tail = scene.start('tail', scene.tail('observer'), stdout=seen)
    scene.until('it is fed', scene.sources)
    refused = subprocess.run(scene.tail('client', '--set', 'SPINDRIFT/join_timeout_ms=2000'), capture_output=True, text=True,
                             check=False, timeout=LIMIT)
    assert refused.returncode == 3 and 'observe' in refused.stderr and 'client' in refused.stderr, refused

    sent = [f'early {number}' for number in range(100)]
    scene.send(0, sent)
    scene.until('all of it came', lambda: scene.texts() == sent)

    # 40 MB are more than a feed and sockets hold.
    tail.send_signal(signal.SIGSTOP)
    long = [f'late {number} ' + 'x' * 4000 for number in range(10_000)]
    scene.send(0, long)
    scene.send(0, ['end'])
    tail.send_signal(signal.SIGCONT)
    scene.until('the last one came', lambda: scene.texts()[-1:] == ['end'])
    gaps = [line['gap'] for line in scene.seen() if 'gap' in line]
    texts = scene.texts()
    assert len(texts) + sum(gap['messages'] for gap in gaps) == len(sent) + len(long) + 1, gaps
    order = {text: place for place, text in enumerate([*sent, *long, 'end'])}
    assert [order[text] for text in texts] == sorted(order[text] for text in texts)

    for how, number in (signal.SIGKILL, 1), (signal.SIGSTOP, 2):
        source = scene.sources()[-1]
        scene.processes[f'node{source}'].send_signal(how)
        scene.until('another one feeds it', lambda number=number: len(scene.sources()) > number)
        left = next(node for node in HOST_OF if node not in scene.sources()[:-1])
        mark = f'after {how.name}'
        scene.send(left, [mark])
        scene.until('it goes on', lambda mark=mark: scene.texts()[-1] == mark)
    gaps_now = [line['gap'] for line in scene.seen() if 'gap' in line]
    assert gaps_now == gaps, gaps_now
    assert len(set(scene.sources())) == len(scene.sources()) == 3, scene.sources()
    assert not (set(scene.directory.glob('elsewhere/spindrift/*'))), 'an observer leaves nothing behind'

    tail.send_signal(signal.SIGTERM)
    assert tail.wait(LIMIT) == 0
    print(f'an observer on a host of its own: {len(texts)} messages, {len(gaps)} gaps, fed by nodes {scene.sources()}')


def main():
    hosts = Hosts('observed', ADDRESS)
    try:
        try:
            hosts.make()
        except (OSError, subprocess.CalledProcessError) as error:
            print('skipped: network namespaces cannot be made here:', getattr(error, 'stderr', None) or error)
            return 77
        with tempfile.TemporaryDirectory() as directory:
            scene = Scene(hosts, directory)
            try:
                play(scene)
            finally:
                for process in scene.processes.values():
                    if process.poll() is None:
                        process.kill()
                        process.wait()
    finally:
        hosts.remove()
    return 0


if __name__ == '__main__':
    sys.exit(main())
