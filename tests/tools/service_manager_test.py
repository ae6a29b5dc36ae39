#!/usr/bin/env python3
"""service_manager_test.py SPINDRIFT: what a member tells the service manager that started it, in which order."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

SPINDRIFT = sys.argv[1]
LIMIT = 60.0  # seconds that nothing may take


class Manager:
    """The socket of a service manager; what came, line by line."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(LIMIT)
        self.lines = []

    def until(self, line):
        while line not in self.lines:
            self.lines += self.socket.recv(4096).decode().splitlines()


def start(config, node, notify, **how):
    environment = dict(os.environ)
    environment['NOTIFY_SOCKET'] = notify
    return subprocess.Popen([SPINDRIFT, 'node', '--quiet', '--config', config, '--id', str(node)], env=environment,
                            stdout=subprocess.DEVNULL, **how)


def life(config, address, notify):
    """A member that waits for another one, is in a view with it, is alone, and leaves."""
    manager, of_other = Manager(address), Manager(address + '-other')
    told = start(config, 0, notify)
    manager.until('STATUS=waiting for node 1')
    assert 'READY=1' not in manager.lines, manager.lines
    other = start(config, 1, notify + '-other')
    manager.until('READY=1')
    of_other.until('READY=1')
    manager.until('STATUS=in view 0: node 0, 1')
    other.send_signal(signal.SIGTERM)
    assert other.wait(LIMIT) == 0
    manager.until('STATUS=in view 1: node 0')
    assert 'STOPPING=1' not in manager.lines, manager.lines
    told.send_signal(signal.SIGTERM)
    manager.until('STOPPING=1')
    assert told.wait(LIMIT) == 0


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        configs = []
        for number in range(2):  # each group's first view is view 0
            config = directory / f'orders{number}.cfg'
            config.write_text(f'[SPINDRIFT]\nmembers = 0, 1\nruntime_directory = {directory}/run{number}\n'
                              '[LAYOUT]\njson_layout = \'[{"name": "orders"}]\'\n')
            configs.append(config)
        life(configs[0], f'{directory}/notify', f'{directory}/notify')
        life(configs[1], f'\0spindrift-{os.getpid()}', f'@spindrift-{os.getpid()}')
        for wrong in ('notify', '/' + 200 * 'n'):
            refused = start(configs[0], 0, wrong, stderr=subprocess.PIPE)
            assert b'NOTIFY_SOCKET is no address of a socket' in refused.communicate(timeout=LIMIT)[1]
            assert refused.returncode == 2, refused.returncode


main()
