#!/usr/bin/env python3
"""log_trim_test.py SPINDRIFT: a running member gives up the first messages of its log, one that does not run is not touched, and
whoever comes later gets the rest."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SPINDRIFT = sys.argv[1]
COUNT = 6000
CONFIG = """[SPINDRIFT]
group_name = hand
members = 0,1
founders = 0
fabric = shm
runtime_directory = {0}/run
join_timeout_ms = 40000
[PERS]
file_path = {0}/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged"}}, {{"name": "news"}}]'
"""


def fail(what):
    sys.exit(f"log_trim_test: {what}")


class Host:
    def __init__(self, scratch):
        self.config = os.path.join(scratch, "c.cfg")
        with open(self.config, "w") as file:
            file.write(CONFIG.format(scratch))

    def run(self, node, *words, code=0, given=""):
        done = subprocess.run([SPINDRIFT, *words, "--config", self.config, "--id", str(node)], input=given, capture_output=True,
                              text=True, timeout=100)
        if done.returncode != code:
            fail(f"{words} ended with {done.returncode}: {done.stderr}")
        return done

    def log(self):
        return json.loads(self.run(0, "log", "ls", "--json").stdout)["logs"][0]

    def trim(self, before, code=0, *more):
        return self.run(0, "log", "trim", "orders", "--before", str(before), *more, code=code)


def use(host):
    node = subprocess.Popen([SPINDRIFT, "node", "--config", host.config, "--id", "0"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # The log of the sender is as long as that of the node, and is asked for nothing.
        lines = "".join(f"{i} {'x' * 600}\n" for i in range(COUNT))
        host.run(1, "send", "--subgroup", "orders", "--wait", "durable", given=lines)
        if "--yes" not in host.trim(COUNT // 2, 2).stderr:
            fail("it does not say how to consent without a terminal")
        if host.log()["first"] != 0:
            fail("something was trimmed without consent")
        if f"give --before {COUNT} or less" not in host.trim(COUNT + 1, 2, "--yes").stderr:
            fail("it does not say where the log ends")
        told = host.trim(COUNT // 2, 0, "--yes").stdout
        if f"node 0 gives up the messages [0, {COUNT // 2}) of orders" not in told:
            fail(f"it says: {told}")
        until = time.monotonic() + 60
        while host.log()["first"] == 0:  # segments go while the node is at work, of which nobody is told
            if time.monotonic() > until:
                fail("no segment goes")
        first = host.log()["first"]
        if not 0 < first <= COUNT // 2 or host.log()["end"] != COUNT:
            fail(f"the log is {host.log()}")
        host.run(0, "log", "verify")
        shown = host.run(0, "log", "dump", "orders", "--to", str(first + 1)).stdout
        if not shown.startswith(f"{first} ") or f": {first} xxx" not in shown:
            fail(f"its first message is {shown[:100]}")
    finally:
        node.kill()
        node.wait()
    if "start it, and trim then" not in host.trim(COUNT, 4, "--yes").stderr:
        fail("it does not say who is to trim")
    if host.log()["first"] != first:
        fail("the log of a node that does not run was trimmed")


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-trim-")
    try:
        use(Host(scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
