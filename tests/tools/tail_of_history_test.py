#!/usr/bin/env python3
"""tail_of_history_test.py SPINDRIFT: `tail --from` in a subgroup that keeps a history, of which the other member has the last ten
messages; without it, a tail that joins prints none of them. And what `config check` says of histories."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SPINDRIFT = sys.argv[1]
CONFIG = """[SPINDRIFT]
group_name = hand
members = 0,1,2
founders = 0,1
fabric = shm
runtime_directory = {0}/run
join_timeout_ms = 40000
[LAYOUT]
json_layout = '[{{"name": "orders", "history": 10}}, {{"name": "news"}}, {{"name": "old", "history": {{"age_ms": 5}}}}]'
"""


def words(scratch, node, *what):
    return [SPINDRIFT, *what, "--config", os.path.join(scratch, "c.cfg"), "--id", str(node)]


def run(scratch, node, *what, given=""):
    return subprocess.run(words(scratch, node, *what), input=given, capture_output=True, text=True, timeout=60)


def expect(done, code, out, err=""):
    texts = [line.split(": ", 1)[1] for line in done.stdout.splitlines()]
    if done.returncode != code or texts != out or err not in done.stderr:
        sys.exit(f"expected {code}, {out}, {err}: {done}")


def tail(scratch, place, count, subgroup="orders"):
    return run(scratch, 1, "tail", "--subgroup", subgroup, "--from", place, "--count", str(count))


def use(scratch):
    numbers = [str(i) for i in range(100)]
    late = None
    node = subprocess.Popen(words(scratch, 0, "node"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    try:
        expect(run(scratch, 1, "send", "--subgroup", "orders", given="\n".join(numbers)), 0, [], "sent 100 messages")
        expect(tail(scratch, "last:3", 3), 0, numbers[97:])
        expect(tail(scratch, "first", 10), 0, numbers[90:])
        expect(tail(scratch, "95", 5), 0, numbers[95:])
        expect(tail(scratch, "40", 2), 0, numbers[90:92], "begins at version 90: that of --from 40 is kept no more\n")
        expect(tail(scratch, "0", 1), 0, numbers[90:91], "begins at version 90: that of --from 0 is kept no more\n")
        from_first = tail(scratch, "first", 1)
        expect(from_first, 0, numbers[90:91])
        if "begins at version" in from_first.stderr:
            sys.exit(f"the first message that is kept was asked for: {from_first}")
        expect(tail(scratch, "", 1), 2, [], "write first, a version, or last:N")
        expect(tail(scratch, "040", 2), 2, [], "says no place in a log")
        line = run(scratch, 1, "tail", "--subgroup", "orders", "--from", "95", "--count", "1", "--json").stdout
        if json.loads(line)["log_version"] != 95 or json.loads(line)["text"] != "95":
            sys.exit(f"the version in the history is not told: {line}")
        expect(tail(scratch, "first", 1, "news"), 2, [], "is not logged, and keeps no history")
        late = subprocess.Popen(words(scratch, 2, "tail", "--subgroup", "orders", "--reliable", "--count", "1"),
                                stdout=subprocess.PIPE, text=True)
        sent = run(scratch, 1, "send", "--subgroup", "orders", "--members", "3", given="fresh\n")
        expect(sent, 0, [], "sent 1 message")
        printed, _ = late.communicate(timeout=60)
        if not printed.endswith(" 1: fresh\n") or printed.count("\n") != 1:
            sys.exit(f"a tail without --from printed {printed!r}")
    finally:
        for each in [node] if late is None else [node, late]:
            each.kill()
            each.wait()


def check(scratch):
    done = subprocess.run([SPINDRIFT, "config", "check", os.path.join(scratch, "c.cfg")], capture_output=True, text=True, timeout=60)
    for said in ('the history of subgroup "orders" takes each member at most 244240 bytes of memory\n',
                 'of subgroup "old" takes each member at most 67250224 bytes of memory, bytes being 67108864, for age_ms is the only'):
        if done.returncode != 0 or said not in done.stdout:
            sys.exit(f"config check does not say {said!r}: {done}")


scratch = tempfile.mkdtemp(prefix="spindrift-history-")
try:
    with open(os.path.join(scratch, "c.cfg"), "w") as file:
        file.write(CONFIG.format(scratch))
    check(scratch)
    use(scratch)
finally:
    shutil.rmtree(scratch)
