#!/usr/bin/env python3
"""last_one_test.py SPINDRIFT [--runs N] [--seed S]: of five members of one host four are killed, one after another at random
instants under load. The last one goes on: a sender that comes back sends through it. And it has printed every line that
anybody printed, in the same order. --runs 300 takes a minute.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("spindrift")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--seed", type=int, default=int(time.time()))
options = parser.parse_args()
SENDER = 4
WAIT_S = 60.0


def until(what, why):
    """Waits for a condition that an event of another process makes true."""
    end = time.monotonic() + WAIT_S
    while not what():
        if time.monotonic() > end:
            return why
        time.sleep(0.002)
    return None


def lines_of(path):
    """The whole lines; a process that was killed may have left a part of one."""
    return path.read_bytes().split(b"\n")[:-1]


class Group:
    """Four that print and one that sends, in a directory of its own."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.config = self.directory / "group.cfg"
        self.config.write_text(f"[SPINDRIFT]\nmembers = 0, 1, 2, 3, 4\nruntime_directory = {directory}\n"
                               "join_timeout_ms = 60000\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n")
        self.members = [self.start(node, "tail", "--reliable", stdin=subprocess.DEVNULL) for node in range(SENDER)]
        self.members.append(self.start(SENDER, "send", "--members", "5", stdin=subprocess.PIPE))
        self.feeder = threading.Thread(target=self.feed, daemon=True)
        self.feeder.start()

    def start(self, node, command, *more, stdin):
        out = (self.directory / f"out{node}").open("ab")
        errors = (self.directory / f"errors{node}").open("ab")
        return subprocess.Popen([options.spindrift, command, "--config", self.config, "--id", str(node), "--subgroup", "orders",
                                 *more], stdin=stdin, stdout=out, stderr=errors)

    def feed(self):
        pipe = self.members[SENDER].stdin
        try:
            for number in range(10_000_000):
                pipe.write(b"%d\n" % number)
        except OSError:
            pass  # it was killed

    def printed(self, node):
        return self.directory / f"out{node}"

    def end(self):
        for member in self.members:
            member.kill()
            member.wait()
        self.feeder.join()


def judge(group, chance):
    """What was not so, or nothing."""
    if fault := until(lambda: all(lines_of(group.printed(node)) for node in range(SENDER)), "not all members print"):
        return fault
    order = list(range(SENDER))
    chance.shuffle(order)
    last = order.pop()
    order.insert(chance.choice([len(order), len(order), chance.randrange(len(order) + 1)]), SENDER)
    time.sleep(chance.uniform(0, 0.05))
    for node in order:
        os.kill(group.members[node].pid, signal.SIGKILL)
        time.sleep(chance.choice([0, chance.uniform(0, 0.0005), chance.uniform(0, 0.003), chance.uniform(0, 0.03)]))
    for node in order:
        group.members[node].wait()
    story = f"killed {order}, last is {last}: "
    again = group.start(SENDER, "send", stdin=subprocess.PIPE)
    group.members.append(again)
    again.stdin.write(b"the last line\n")
    again.stdin.close()

    def is_there():
        return any(line.endswith(b": the last line") for line in lines_of(group.printed(last))[-10:])

    def ended():
        return group.members[last].poll() is not None

    if fault := until(lambda: is_there() or ended(), story + "the last one does not go on"):
        return fault
    if ended():
        return story + f"the last one ended with code {group.members[last].returncode}"
    mine = lines_of(group.printed(last))
    for node in order:
        if node != SENDER and (theirs := lines_of(group.printed(node))) != mine[:len(theirs)]:
            return story + f"{node} printed what the last one did not"
    return None


def main():
    chance = random.Random(options.seed)
    for run in range(options.runs):
        directory = tempfile.mkdtemp(prefix="last-one-")
        group = Group(directory)
        try:
            fault = judge(group, chance)
        finally:
            group.end()
        if fault:
            print(f"seed {options.seed}, run {run}: {fault}; output is in {directory}")
            return 1
        shutil.rmtree(directory)
    print(f"{options.runs} runs of seed {options.seed}: the last one went on each time, with all that any other had printed")
    return 0


sys.exit(main())
