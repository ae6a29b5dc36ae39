#!/usr/bin/env python3
"""top_terminal_test.py SPINDRIFT: `spindrift top` in a terminal of 80x24 shows nodes, obeys keys and a new size, and leaves the
terminal as it was, whether a key or a signal ends it; without a terminal it prints one table that commands none."""
import contextlib
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SPINDRIFT = sys.argv[1]
PATIENCE = 60  # seconds
CONFIG = '''[SPINDRIFT]
members = 0, 1
runtime_directory = {directory}
[LAYOUT]
json_layout = '[{{"name": "orders"}}]'
'''
ENTER, LEAVE = b'\x1b[?1049h', b'\x1b[?1049l'


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.resize(24, 80)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.shown = b''

    def resize(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def press(self, keys):
        self.shown = b''
        os.write(self.master, keys)

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f'{text} is not shown, but {self.shown}'
            self.shown += os.read(self.master, 65536)

    def end(self, code):
        """Waits for the end, and compares what the terminal is with what it was."""
        self.wait_for(LEAVE)
        assert self.process.wait(PATIENCE) == code, self.process.returncode
        assert termios.tcgetattr(self.slave) == self.before, 'the terminal is not as it was'
        assert self.shown.rindex(b'\x1b[?25h') > self.shown.rfind(b'\x1b[?25l'), 'the cursor is not shown'


@contextlib.contextmanager
def nodes_in_view(directory):
    config = pathlib.Path(directory, 'group.cfg')
    config.write_text(CONFIG.format(directory=directory))
    nodes = [subprocess.Popen([SPINDRIFT, 'node', '--config', config, '--id', str(node), '--quiet'], stdout=subprocess.PIPE, text=True)
             for node in (0, 1)]
    try:
        for node in nodes:
            assert any('in view' in line for line in node.stdout)
        yield str(config)
    finally:
        for node in nodes:
            node.terminate()
            node.communicate(timeout=PATIENCE)


def main():
    with tempfile.TemporaryDirectory(prefix='spindrift-top-') as directory, nodes_in_view(directory) as config:
        words = [SPINDRIFT, 'top', '--config', config, '--interval', '0.2']
        for arguments in (words, [*words, '--once']):
            once = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE, check=True, stdin=subprocess.DEVNULL)
            assert '\x1b' not in once.stdout and once.stdout.count('active') == 2, once.stdout
        terminal = Terminal(*words[:-1], '3600')  # what is shown anew is so because of a key, or of the size
        terminal.wait_for(ENTER)
        terminal.wait_for(b'group spindrift: view 0 of 2 members, 2 nodes of this host')
        terminal.press(b's')
        terminal.wait_for(b'sorts (by sent)')
        terminal.press(b'1')
        terminal.wait_for(b'group spindrift, node 1: ')
        terminal.wait_for(b'orders ')
        terminal.press(b'\r')
        terminal.wait_for(b'group spindrift: ')
        terminal.shown = b''
        terminal.resize(24, 20)
        terminal.wait_for(b'\x1b[Hgroup spindrift: vie\x1b[K')
        terminal.press(b'q')
        terminal.end(0)
        terminal = Terminal(*words)
        terminal.wait_for(b' 0 ')
        terminal.wait_for(b'    0        ')  # a rate, after the first interval
        terminal.press(b'q')
        terminal.end(0)
        for number in (signal.SIGTERM, signal.SIGINT):
            terminal = Terminal(*words)
            terminal.wait_for(ENTER)
            terminal.process.send_signal(number)
            terminal.end(0)
        terminal = Terminal(*words)
        terminal.wait_for(ENTER)
        terminal.press(b'\x03')
        terminal.end(0)
        unknown = subprocess.run([SPINDRIFT, 'top', '--group-dir', f'{directory}/none'], capture_output=True, text=True, check=False)
        assert unknown.returncode == 7 and 'fix: ' in unknown.stderr, unknown
    print('the terminal is as it was')
    return 0


if __name__ == '__main__':
    sys.exit(main())
