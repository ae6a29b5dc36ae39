#!/usr/bin/env python3
"""found_test.py SPINDRIFT: three nodes with logged subgroups are killed at once, and two of them do not come back. The one that
waits is refused what it cannot do, says what would be lost, and founds when it is told to: all that was durable is there. The
others come back with their old disks as newcomers, and get the log. And three that are stopped in order, one after the other,
of which the last one's disk is lost: the other two found when they are told to, with the longer of their logs."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from waiting import PATIENCE_S, until

SPINDRIFT = sys.argv[1]
CONFIG = """[SPINDRIFT]
group_name = forced
members = 0, 1, 2, 3
founders = 0, 1, 2
addresses = {addresses}
fabric = tcp
security = none
runtime_directory = {scratch}/run
join_timeout_ms = 50000
[PERS]
file_path = {scratch}/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged"}}, {{"name": "audit", "storage": "logged", "members": [1, 2, 3]}}]'
"""


class Nodes:
    def __init__(self, scratch):
        self.scratch, self.running, self.starts = scratch, {}, 0
        self.config = os.path.join(scratch, "c.cfg")
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        addresses = ", ".join(f"{node}@127.0.0.1:{each.getsockname()[1]}" for node, each in enumerate(sockets))
        for each in sockets:
            each.close()
        with open(self.config, "w") as file:
            file.write(CONFIG.format(addresses=addresses, scratch=scratch))

    def start(self, node):
        self.starts += 1
        log = open(os.path.join(self.scratch, f"{node}_{self.starts}.log"), "w+")
        self.running[node] = subprocess.Popen([SPINDRIFT, "node", "--config", self.config, "--id", str(node)], stdout=log,
                                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.running[node].log = log.name

    def said(self, node):
        with open(self.running[node].log) as log:
            return log.read()

    def kill(self):
        """All in one moment, as power goes."""
        for sent in [signal.SIGSTOP, signal.SIGKILL]:
            for each in self.running.values():
                each.send_signal(sent)
        for each in self.running.values():
            each.wait()
        self.running = {}

    def stop(self, node):
        """It leaves, and the others go on."""
        self.running[node].send_signal(signal.SIGTERM)
        if self.running[node].wait(timeout=PATIENCE_S) != 0:
            sys.exit(f"node {node} did not leave: {self.said(node)}")
        del self.running[node]

    def run(self, *words, given=None, code=0, says=""):
        done = subprocess.run([SPINDRIFT, *words, "--config", self.config], capture_output=True, text=True, timeout=PATIENCE_S,
                              **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
        if (code is not None and done.returncode != code) or says not in done.stderr + done.stdout:
            sys.exit(f"{words} ended with {done.returncode}, not {code}, \"{says}\": {done.stdout}{done.stderr}")
        return done

    def found(self, *words, code, says):
        return self.run("group", "found", *words, code=code, says=says)

    def send(self, subgroup, first, last):
        """By node 3, which then leaves."""
        lines = "".join(f"{each}\n" for each in range(first, last + 1))
        self.run("send", subgroup, "--id", "3", "--wait", "durable", "--quiet", given=lines)

    def view_of(self, node):
        status = subprocess.run([SPINDRIFT, "group", "status", "--config", self.config, "--json"], capture_output=True, text=True)
        for each in json.loads(status.stdout)["nodes"] if status.returncode == 0 else []:
            if each["node"] == node and each["process"] == self.running[node].pid and each["condition"] == "active":
                return each["view"], sorted(each["subgroups"][0]["members"]), sorted(each["subgroups"][1]["members"])
        return None

    def until_in(self, nodes):
        until(lambda: all((view := self.view_of(node)) and view[1] == nodes for node in nodes),
              lambda: f"no view of {nodes}: " + "".join(self.said(node) for node in nodes))
        return self.view_of(nodes[0])

    def until_said(self, node, text):
        until(lambda: text in self.said(node), lambda: f"node {node} did not say \"{text}\" but: {self.said(node)}")

    def log(self, node, subgroup):
        """What a node has, without its own times."""
        lines = self.run("log", "dump", subgroup, "--id", str(node), "--json").stdout.splitlines()
        return [(each["log_version"], each["view"], each["node"], each["text"]) for each in map(json.loads, lines)]


def refusals(nodes):
    nodes.found("--members", "0,0", code=2, says="node 0 is named twice")
    nodes.found("--members", "1", code=3, says="none of the nodes that are named looks for the group here")
    nodes.found("--members", "0,1", "--force", "--yes", code=3, says="node 1 is named, and no process of it looks for the group")
    nodes.found("--members", "0", "--through", "1", code=3, says="node 1 is not one of the nodes")
    nodes.run("group", "revive", "--members", "0", "--yes", code=3, says="has not lost the majority")
    nodes.run("group", "roster", "--through", "0", code=4, says="no member of the group runs on this host")
    for says in ["nodes 1, 2 are missing: the last view of the group had nodes 0, 1, 2, of which 0 is here",
                 "node 0 has of the log of subgroup orders all that was reported durable, 500 messages",
                 "subgroup audit is lost, and has no members, until one of nodes 1, 2 comes back with its log",
                 "there are two groups", "--force"]:
        nodes.found("--members", "0", code=10, says=says)
    nodes.found("--members", "0", "--force", code=2, says="--yes")
    if nodes.view_of(0):
        sys.exit("node 0 is in a view that nobody has told it to found")


def play(nodes):
    for node in [0, 1, 2]:
        nodes.start(node)
    nodes.until_in([0, 1, 2])
    nodes.send("orders", 1, 500)
    nodes.send("audit", 1, 10)
    nodes.until_in([0, 1, 2])
    nodes.kill()

    nodes.start(0)
    nodes.until_said(0, "the last view of the group had nodes 0, 1, 2, of which 0 is here")
    refusals(nodes)
    nodes.found("--members", "0", "--force", "--yes", "--timeout", "30000", code=0, says="the group goes on with node 0")
    view, _, of_audit = nodes.until_in([0])
    if view >> 32 == 0 or of_audit:
        sys.exit(f"the view that was founded by force is {view}, of the audit {of_audit}")
    nodes.found("--members", "0", code=3, says="node 0 runs here, and is in a view")
    nodes.send("orders", 501, 600)
    before = nodes.log(0, "orders")
    if len(before) != 600:
        sys.exit(f"node 0 has {len(before)} messages")

    # One after the other: both together are a majority of what they remember.
    for node in [1, 2]:
        nodes.start(node)
        nodes.until_in([0, 1, 2][:node + 1])
    for node in [1, 2]:
        until(lambda: nodes.log(node, "orders") == before, lambda: f"node {node} has another log than node 0")
        if len(nodes.log(node, "audit")) != 10:
            sys.exit(f"node {node} has lost the log of the audit")
    nodes.send("orders", 601, 700)

    # A majority of the view behind that founds by itself.
    nodes.until_in([0, 1, 2])
    nodes.kill()
    for node in [1, 2]:
        nodes.start(node)
    nodes.until_in([1, 2])
    if len(nodes.log(1, "orders")) != 700:
        sys.exit("what was durable is lost")


def play_in_order(nodes):
    for node in [0, 1, 2]:
        nodes.start(node)
    nodes.until_in([0, 1, 2])
    nodes.send("orders", 1, 500)
    nodes.send("audit", 1, 10)
    nodes.until_in([0, 1, 2])
    nodes.stop(0)
    nodes.until_in([1, 2])
    nodes.send("orders", 501, 600)
    nodes.until_in([1, 2])
    durable = nodes.log(1, "orders")
    nodes.stop(1)
    nodes.until_in([2])
    nodes.send("orders", 601, 610)  # on a disk that is lost
    nodes.until_in([2])
    nodes.stop(2)
    shutil.rmtree(os.path.join(nodes.scratch, "journals", "forced", "2"))

    for node in [0, 1]:
        nodes.start(node)
    for node in [0, 1]:
        nodes.until_said(node, f"the group went on without node {node}, which had left it")
    until(lambda: nodes.run("group", "why", code=None).stdout.count("of which none is here") >= 2, lambda: "they do not say it")
    nodes.found("--members", "1", "--force", "--yes", code=3, says="--members 0, 1")
    for says in ["node 2 is missing: the group went on without node 0, which had left it; the last view of the group had node 2",
                 "subgroup orders goes on with the log of node 1, of 600 messages, the longest here, node 0 has 500",
                 "what follows in the log of node 2 is lost", "subgroup audit goes on with the log of node 1, of 10 messages"]:
        nodes.found("--members", "0,1", code=10, says=says)
    nodes.found("--members", "0,1", "--force", "--yes", "--timeout", "30000", code=0, says="the group goes on with nodes 0, 1")
    view, _, of_audit = nodes.until_in([0, 1])
    if view >> 32 == 0 or of_audit != [1]:
        sys.exit(f"the view that was founded by force is {view}, of the audit {of_audit}")
    until(lambda: nodes.log(0, "orders") == durable, lambda: "node 0 has not got the log of node 1")
    if nodes.log(1, "orders") != durable or len(nodes.log(1, "audit")) != 10:
        sys.exit("what was durable is lost")
    nodes.start(2)
    nodes.until_in([0, 1, 2])
    nodes.send("orders", 611, 620)
    until(lambda: len(nodes.log(2, "orders")) == 610 and nodes.log(2, "orders") == nodes.log(0, "orders"),
          lambda: "node 2 has another log than node 0")


for each_play in [play, play_in_order]:
    with tempfile.TemporaryDirectory() as scratch:
        group = Nodes(scratch)
        try:
            each_play(group)
        finally:
            for each in group.running.values():
                each.kill()
                each.wait()
