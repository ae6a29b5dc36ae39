"""How tests of commands wait for what other processes do."""
import sys
import time

PATIENCE_S = 60


def until(holds, why):
    """Ends the test with the words of `why` if `holds` has not become true in time."""
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > limit:
            sys.exit(why())
        time.sleep(0.05)


def is_log(line):
    """A busy machine may have a member say more than it does on an idle one."""
    return line.startswith('time=')


def said_by(text):
    """What a command says on standard error, but for its log."""
    return ''.join(line for line in text.splitlines(keepends=True) if not is_log(line))


def next_said(stream):
    """The next line of that."""
    line = stream.readline()
    while is_log(line):
        line = stream.readline()
    return line
