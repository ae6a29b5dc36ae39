#!/usr/bin/env python3
"""log_adopt_test.py SPINDRIFT: the last node with all of a log is killed, and its disk taken away. One that left earlier has the
first half; the group goes on with that when it is told to. The lost node comes back with its disk after all, and drops the rest."""
import json
import os
import signal
import subprocess
import sys
import tempfile

from waiting import PATIENCE_S, until

SPINDRIFT = sys.argv[1]
CONFIG = """[SPINDRIFT]
group_name = adopted
members = 0, 1, 2, 3, 4
founders = 0, 1, 2
fabric = shm
runtime_directory = {scratch}/run
join_timeout_ms = 50000
[PERS]
file_path = {scratch}/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged", "members": [2, 3, 4]}}, {{"name": "news"}}]'
"""


class Nodes:
    def __init__(self, scratch):
        self.scratch, self.running, self.starts = scratch, {}, 0
        self.config = os.path.join(scratch, "c.cfg")
        with open(self.config, "w") as file:
            file.write(CONFIG.format(scratch=scratch))

    def start(self, node):
        self.starts += 1
        path = os.path.join(self.scratch, f"{node}_{self.starts}.log")
        with open(path, "w") as log:
            self.running[node] = subprocess.Popen([SPINDRIFT, "node", "--config", self.config, "--id", str(node)], stdout=log,
                                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.running[node].log = path

    def end(self, node, kind):
        process = self.running.pop(node)
        process.send_signal(kind)
        process.wait(PATIENCE_S)

    def said(self, node):
        with open(self.running[node].log) as log:
            return log.read()

    def run(self, *words, given=None, code=0, says=""):
        done = subprocess.run([SPINDRIFT, *words, "--config", self.config], capture_output=True, text=True, timeout=PATIENCE_S,
                              **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
        if done.returncode != code or says not in done.stderr + done.stdout:
            sys.exit(f"{words} ended with {done.returncode}, not {code}, \"{says}\": {done.stdout}{done.stderr}")
        return done

    def adopt(self, *words, code, says):
        return self.run("log", "adopt", "orders", *words, code=code, says=says)

    def send(self, first, last):
        """By node 4, which then leaves."""
        lines = "".join(f"{each}\n" for each in range(first, last + 1))
        self.run("send", "orders", "--id", "4", "--wait", "durable", "--quiet", given=lines)

    def orders_of(self, node):
        """The members of the node's view, who are all in "news", and those of "orders" there."""
        status = subprocess.run([SPINDRIFT, "group", "status", "--config", self.config, "--json"], capture_output=True, text=True)
        for each in json.loads(status.stdout)["nodes"] if status.returncode == 0 else []:
            if each["node"] == node and each["process"] == self.running[node].pid and each["condition"] == "active":
                return sorted(each["subgroups"][1]["members"]), sorted(each["subgroups"][0]["members"])
        return None

    def until_in(self, nodes, of_orders):
        until(lambda: all(self.orders_of(node) == (nodes, of_orders) for node in nodes),
              lambda: f"no view of {nodes}, with {of_orders} in it, but {[self.orders_of(node) for node in nodes]}: " +
              "".join(self.said(node) for node in nodes))

    def log(self, node):
        lines = self.run("log", "dump", "orders", "--id", str(node), "--json").stdout.splitlines()
        return [each["text"] for each in map(json.loads, lines)]


def numbers(*ranges):
    return [str(each) for first, last in ranges for each in range(first, last + 1)]


def play(nodes):
    for node in [0, 1, 2, 3]:
        nodes.start(node)
    nodes.until_in([0, 1, 2, 3], [2, 3])
    nodes.send(1, 100)
    nodes.end(3, signal.SIGTERM)
    nodes.send(101, 200)
    nodes.until_in([0, 1, 2], [2])
    nodes.adopt("--from", "2", "--force", "--yes", code=3, says="the log of subgroup orders is here")
    nodes.end(2, signal.SIGKILL)
    journal, away = (os.path.join(nodes.scratch, "journals/adopted/2"), os.path.join(nodes.scratch, "away"))
    os.rename(journal, away)
    nodes.start(3)
    nodes.until_in([0, 1, 3], [])

    nodes.run("group", "why", says="its log is with node 2")
    nodes.run("group", "why", says="spindrift log adopt")
    # A member's word about its log may come a moment behind its status.
    until(lambda: "has not said" not in subprocess.run([SPINDRIFT, "log", "adopt", "orders", "--from", "3", "--config", nodes.config],
                                                       capture_output=True, text=True).stderr, lambda: "a member says nothing")
    nodes.adopt("--from", "3", code=10, says="the log is with node 2, not here with it; that of node 3 goes up to version 100")
    nodes.adopt("--from", "3", "--force", code=2, says="--yes")
    nodes.adopt("--from", "3", "--force", "--yes", "--through", "1", code=3, says="--through 0")
    nodes.adopt("--from", "1", "--force", "--yes", code=3, says="node 1 has nothing of the log")
    nodes.adopt("--from", "2", "--force", "--yes", code=2, says="node 2 is no member")
    nodes.run("log", "adopt", "news", "--from", "1", code=3, says="is not logged")
    nodes.run("log", "adopt", "olds", "--from", "1", code=2, says="no subgroup olds")
    nodes.until_in([0, 1, 3], [])
    nodes.adopt("--from", "3", "--force", "--yes", code=0, says="the group goes on with the log of orders that node 3 has")
    nodes.until_in([0, 1, 3], [3])
    nodes.send(201, 250)

    os.rename(away, journal)
    nodes.start(2)
    nodes.until_in([0, 1, 2, 3], [2, 3])
    nodes.send(251, 300)
    until(lambda: "are not in the group's, and are dropped" in nodes.said(2), lambda: f"node 2 does not say what it drops: {nodes.said(2)}")
    if "messages=100 first=100" not in nodes.said(2):
        sys.exit(f"node 2 drops other messages than 100 from 100 on: {nodes.said(2)}")
    for node in [2, 3, 4]:
        if nodes.log(node) != numbers((1, 100), (201, 300)):
            sys.exit(f"node {node} has {nodes.log(node)}")


with tempfile.TemporaryDirectory() as scratch:
    group = Nodes(scratch)
    try:
        play(group)
    finally:
        for each in group.running.values():
            each.kill()
            each.wait()
