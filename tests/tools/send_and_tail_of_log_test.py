#!/usr/bin/env python3
"""send_and_tail_of_log_test.py SPINDRIFT: `send --wait durable`, `tail --from` and `log replay` in a logged subgroup, before and
after its one other member was killed."""
import subprocess
import sys

from logged_pair import LoggedPair


def expect(done, code, out, err=""):
    texts = [line.split(": ", 1)[1] for line in done.stdout.splitlines()]
    if done.returncode != code or texts != out or err not in done.stderr:
        sys.exit(f"expected {code}, {out}, {err}: {done}")


def tail(pair, place, count, subgroup="orders"):
    return pair.run(1, "tail", "--subgroup", subgroup, "--from", place, "--count", str(count))


def expect_end_is_told(pair):
    """A place behind the end is waited for, and that is told."""
    waiting = subprocess.Popen([pair.spindrift, "tail", "--subgroup", "orders", "--from", "200", "--config", pair.config, "--id", "1"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        told = next((line for line in waiting.stderr if "what is kept of" in line), "nothing")
        waiting.terminate()
        output, _ = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
        waiting.wait()
    if told != "spindrift: what is kept of orders ends at version 100: that of --from 200 is still to come\n" or output:
        sys.exit(f"the end of a log is told as {told}, and printed is {output}")


def expect_replay(pair, count):
    """A replay is what a member is given of the log, and costs the group no member."""
    for form in ([], ["--json"]):
        given = pair.run(1, "tail", "--subgroup", "orders", "--from", "first", "--count", str(count), *form)
        again = pair.run(1, "log", "replay", "orders", *form)
        if again.returncode != 0 or again.stdout != given.stdout or again.stdout.count("\n") != count:
            sys.exit(f"a replay differs from what tail printed: {given} {again}")


def use(pair):
    lines = "".join(f"{i}\n" for i in range(100))
    node = pair.start(0)
    try:
        sent = pair.run(1, "send", "--subgroup", "orders", "--wait", "durable", given=lines)
        expect(sent, 0, [], "sent 100 messages; every member has delivered them, and has them on its disk")
        expect(pair.run(1, "send", "--subgroup", "news", "--wait", "durable", given="x\n"), 2, [], "is not logged")
        expect(tail(pair, "first", 1, "news"), 2, [], "is not logged")
        expect(tail(pair, "last:3", 3), 0, ["97", "98", "99"])
    finally:
        node.kill()
        node.wait()
    node = pair.start(0)
    try:
        expect(tail(pair, "first", 2), 0, ["0", "1"])
        expect(tail(pair, "98", 2), 0, ["98", "99"])
        expect_end_is_told(pair)
        # The sender comes into a group that has a log, and is given that first; the second time it has most of it itself.
        for text in ["100\n", "101\n", "102\n103\n"]:
            sent = pair.run(1, "send", "--subgroup", "orders", "--wait", "durable", given=text)
            expect(sent, 0, [], "has them on its disk" if len(text) > 4 else "has it on its disk")
        expect(tail(pair, "last:1", 1), 0, ["103"])
        expect(tail(pair, "nowhere", 1), 2, [], "says no place in a log")
        expect_replay(pair, 104)
    finally:
        node.kill()
        node.wait()
    forgot = pair.run(None, "group", "forget", "1", "--yes")
    if forgot.returncode != 0 or "its logs of 1 logged subgroup, 104 messages, which go, too" not in forgot.stdout:
        sys.exit(f"a node forgot its log without a word: {forgot}")


with LoggedPair(sys.argv[1]) as group:
    use(group)
