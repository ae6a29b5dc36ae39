#!/usr/bin/env python3
"""hosts_test.py SPINDRIFT [FABRIC]: four members on two hosts, two each, over shm and FABRIC; without one nothing but addresses
says which, and hosts are to be reached by tcp. One of each host is killed and comes back; everybody delivers the same order all
the while. Hosts are network namespaces: without the right to make them, 77 (skipped)."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import Hosts

SPINDRIFT = sys.argv[1]
BETWEEN_HOSTS = sys.argv[2] if len(sys.argv) > 2 else 'tcp'
FABRIC_LINES = f'fabric = shm+{BETWEEN_HOSTS}\nnetwork_trusted = true\n' if len(sys.argv) > 2 else ''
LIMIT = 60.0  # seconds that nothing may take
LINE = re.compile(r'\[(\d+)\.(\d+)\] (\d+): (\d+)')
HOST_OF = {0: 'a', 1: 'a', 2: 'b', 3: 'b'}
ADDRESS = {'a': '10.78.0.1', 'b': '10.78.0.2'}


class Member:
    """One life of a node; `heard` is what it printed so far as [((view, sequence), sender, number)]."""

    def __init__(self, group, node, command):
        self.node = node
        self.output = group.directory / f'{node}.{time.monotonic_ns()}'
        self.log = self.output.with_suffix('.log')
        with open(self.output, 'wb') as output, open(self.log, 'wb') as log:
            reliable = ['--reliable'] if command == 'tail' else []
            self.process = subprocess.Popen(group.command(node, command, '--subgroup', 'orders', *reliable),
                                            stdin=subprocess.PIPE, stdout=output, stderr=log)
        self.sent = 0

    def send(self, count):
        for _ in range(count):
            self.process.stdin.write(f'{self.sent}\n'.encode())
            self.sent += 1
        self.process.stdin.flush()

    def heard(self):
        found = LINE.findall(self.output.read_text().rpartition('\n')[0])
        return [((int(view), int(sequence)), int(sender), int(number)) for view, sequence, sender, number in found]

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(LIMIT)


class Group:
    def __init__(self, hosts, directory):
        self.hosts, self.directory = hosts, pathlib.Path(directory)
        addresses = ', '.join(f'{node}@{ADDRESS[host]}:{7400 + node}' for node, host in HOST_OF.items())
        subprocess.run([SPINDRIFT, 'keys', 'init', 'spindrift', '--dir', f'{directory}/keys', '--nodes', '0,1,2,3'], check=True,
                       stdout=subprocess.DEVNULL)
        self.config = self.directory / 'orders.cfg'
        self.config.write_text(f'''[SPINDRIFT]
members = 0, 1, 2, 3
{FABRIC_LINES}addresses = {addresses}
keys = {directory}/keys/<id>
runtime_directory = {directory}/runtime
join_timeout_ms = {int(LIMIT * 1000)}
log_level = info
[LAYOUT]
json_layout = '[{{"name": "orders"}}]'
''')
        self.members = {}
        self.lives = []

    def command(self, node, *words):
        return ['ip', 'netns', 'exec', self.hosts.names[HOST_OF[node]], SPINDRIFT, *words, '--config', str(self.config),
                '--id', str(node)]

    def start(self, node):
        self.members[node] = Member(self, node, 'send' if node % 2 == 0 else 'tail')
        self.lives.append(self.members[node])

    def until(self, what, condition):
        """Sends a little more until it holds."""
        limit = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > limit:
                for life in self.lives:
                    print(f'--- node {life.node}', life.log.read_text()[-3000:], sep='\n')
                raise AssertionError(f'after {LIMIT:.0f} s still waiting: {what}')
            for node in (0, 2):
                self.members[node].send(5)
            time.sleep(0.01)

    def hears_both(self, node, since):
        """Whether the tail has printed numbers of both senders from those on."""
        new = {sender for _, sender, number in self.members[node].heard() if number >= since[sender]}
        return new == {0, 2}

    def sent(self):
        return {node: self.members[node].sent for node in (0, 2)}

    def kill_and_return(self, victim, witness):
        assert self.members[victim].end(signal.SIGKILL) == -signal.SIGKILL
        since = self.sent()
        self.until(f'node {witness} goes on without {victim}', lambda: self.hears_both(witness, since))
        self.start(victim)
        self.until(f'node {victim} is back', lambda: self.hears_both(victim, since))


def judge(group):
    said = {}
    for life in group.lives:
        heard = life.heard()
        keys = [key for key, _, _ in heard]
        assert keys == sorted(set(keys)), f'node {life.node} printed out of order'
        for key, sender, number in heard:
            assert said.setdefault(key, (sender, number)) == (sender, number), f'{key} is not the same at node {life.node}'
        for sender in (0, 2):
            numbers = [number for _, other, number in heard if other == sender]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True, f'{life.node} misses some'
    for sender, sent in group.sent().items():
        for node in (1, 3):
            last = [number for _, other, number in group.members[node].heard() if other == sender][-1]
            assert last == sent - 1, f'node {node} misses the last of node {sender}'
    return len(said)


def judge_ways(group):
    """Each node says how it reaches each other, and links over shm with its neighbour alone."""
    for life in group.lives:
        log = life.log.read_text()
        ways = dict(re.findall(r'event="peer\'s way" node=(\d+) fabric=(\S+)', log))
        expected = {str(node): 'shm' if host == HOST_OF[life.node] else BETWEEN_HOSTS for node, host in HOST_OF.items()
                    if node != life.node}
        assert ways == expected, f'node {life.node} says {ways}'
        assert set(re.findall(r'event=peer_linked node=(\d+)', log)) <= {str(life.node ^ 1)}
        reason = r'\S+orders.cfg:3' if FABRIC_LINES else '"default, because addresses are given"'
        assert re.search(rf'event=chosen fabric=shm\+{BETWEEN_HOSTS} reason={reason}\n', log), log
    doctor = subprocess.run(group.command(0, 'doctor'), capture_output=True, text=True, check=False).stdout
    assert re.search(r'over shm, in \S+/runtime/\S+: node 1; over ' + BETWEEN_HOSTS + ': node 2, 3', doctor), doctor


def main():
    hosts = Hosts('hosts', ADDRESS)
    try:
        try:
            hosts.make()
        except (OSError, subprocess.CalledProcessError) as error:
            print('skipped: network namespaces cannot be made here:', getattr(error, 'stderr', None) or error)
            return 77
        with tempfile.TemporaryDirectory() as directory:
            group = Group(hosts, directory)
            try:
                for node in HOST_OF:
                    group.start(node)
                group.until('all are there', lambda: all(group.hears_both(node, {0: 0, 2: 0}) for node in (1, 3)))
                group.kill_and_return(1, witness=3)
                group.kill_and_return(3, witness=1)
                for node in (0, 2):
                    group.members[node].process.stdin.close()
                    assert group.members[node].process.wait(LIMIT) == 0
                for node in (1, 3):
                    assert group.members[node].end(signal.SIGTERM) == 0
                messages = judge(group)
                judge_ways(group)
                print(f'four members on two hosts: {messages} messages, the same order at all, one of each host killed and back')
            finally:
                for life in group.lives:
                    if life.process.poll() is None:
                        life.process.kill()
                        life.process.wait()
    finally:
        hosts.remove()
    return 0


if __name__ == '__main__':
    sys.exit(main())
