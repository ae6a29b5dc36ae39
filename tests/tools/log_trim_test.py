#!/usr/bin/env python3
"""log_trim_test.py SPINDRIFT: a running member trims its log, one that does not run is not touched, and
whoever comes later gets the rest."""
import json
import sys
import time

from logged_pair import LoggedPair

COUNT = 6000


def fail(what):
    sys.exit(f"log_trim_test: {what}")


class Host:
    def __init__(self, pair):
        self.pair = pair

    def run(self, node, *words, code=0, given=""):
        done = self.pair.run(node, *words, given=given)
        if done.returncode != code:
            fail(f"{words} ended with {done.returncode}: {done.stderr}")
        return done

    def log(self):
        return json.loads(self.run(0, "log", "ls", "--json").stdout)["logs"][0]

    def trim(self, before, code=0, *more):
        return self.run(0, "log", "trim", "orders", "--before", str(before), *more, code=code)


def use(host):
    node = host.pair.start(0)
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
        if f"node 0 trims the messages [0, {COUNT // 2}) of orders" not in told:
            fail(f"it says: {told}")
        until = time.monotonic() + 60
        while host.log()["first"] == 0:  # segments go while the node is at work, of which nobody is told
            if time.monotonic() > until:
                fail("no segment goes")
        first = host.log()["first"]
        if not 0 < first <= COUNT // 2 or host.log()["end"] != COUNT:
            fail(f"the log is {host.log()}")
        if f"its log begins at version {first}" not in host.trim(first - 1, 0, "--yes").stdout:
            fail("it does not say that these messages are gone")
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


with LoggedPair(sys.argv[1]) as nodes:
    use(Host(nodes))
