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
import sys
import tempfile
import time

from hand_nodes import Nodes
from waiting import until

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


def config_of(scratch):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
    addresses = ", ".join(f"{node}@127.0.0.1:{each.getsockname()[1]}" for node, each in enumerate(sockets))
    for each in sockets:
        each.close()
    return CONFIG.format(addresses=addresses, scratch=scratch)


class Founding(Nodes):
    def found(self, *words, code, says):
        return self.run("group", "found", *words, code=code, says=says)

    def until_all_in(self, nodes):
        """The view, and who has the audit there."""
        view, members = self.until_in(nodes, orders=nodes)
        return view, members["audit"]


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


def says_again(nodes, members, words, ids):
    """Whoever says once more what is done is told so, with a question or without one."""
    for more in [[], ["--force", "--yes"]]:
        nodes.found("--members", members, *more, code=0, says=f"the group goes on with {words}: it was founded so before")
    done = json.loads(nodes.found("--members", members, "--force", "--yes", "--json", code=0, says="").stdout)
    if (done["founded"], done["members"], done["loss"]) != (True, ids, ""):
        sys.exit(f"of a founding that is done already it prints {done}")


def play(nodes):
    for node in [0, 1, 2]:
        nodes.start(node)
    nodes.until_all_in([0, 1, 2])
    nodes.send("orders", 1, 500)
    nodes.send("audit", 1, 10)
    nodes.until_all_in([0, 1, 2])
    nodes.kill()

    nodes.start(0)
    nodes.until_said(0, "the last view of the group had nodes 0, 1, 2, of which 0 is here")
    refusals(nodes)
    nodes.found("--members", "0", "--force", "--yes", "--timeout", "30000", code=0, says="the group goes on with node 0")
    view, of_audit = nodes.until_all_in([0])
    if view >> 32 == 0 or of_audit:
        sys.exit(f"the view that was founded by force is {view}, of the audit {of_audit}")
    says_again(nodes, "0", "node 0", [0])
    nodes.found("--members", "0,1", "--force", "--yes", code=3, says="node 0 runs here, and is in a view")
    nodes.send("orders", 501, 600)
    before = nodes.log(0, "orders")
    if len(before) != 600:
        sys.exit(f"node 0 has {len(before)} messages")

    # One after the other: both together are a majority of what they remember.
    for node in [1, 2]:
        nodes.start(node)
        nodes.until_all_in([0, 1, 2][:node + 1])
    for node in [1, 2]:
        until(lambda: nodes.log(node, "orders") == before, lambda: f"node {node} has another log than node 0")
        if len(nodes.log(node, "audit")) != 10:
            sys.exit(f"node {node} has lost the log of the audit")
    nodes.send("orders", 601, 700)

    # A majority of the view behind that founds by itself.
    nodes.until_all_in([0, 1, 2])
    nodes.kill()
    for node in [1, 2]:
        nodes.start(node)
    nodes.until_all_in([1, 2])
    if len(nodes.log(1, "orders")) != 700:
        sys.exit("what was durable is lost")


def play_in_order(nodes):
    for node in [0, 1, 2]:
        nodes.start(node)
    nodes.until_all_in([0, 1, 2])
    nodes.send("orders", 1, 500)
    nodes.send("audit", 1, 10)
    nodes.until_all_in([0, 1, 2])
    nodes.end(0, signal.SIGTERM)
    nodes.until_all_in([1, 2])
    nodes.send("orders", 501, 600)
    nodes.until_all_in([1, 2])
    durable = nodes.log(1, "orders")
    nodes.end(1, signal.SIGTERM)
    nodes.until_all_in([2])
    nodes.send("orders", 601, 610)  # on a disk that is lost
    nodes.until_all_in([2])
    nodes.end(2, signal.SIGTERM)
    shutil.rmtree(os.path.join(nodes.scratch, "journals", "forced", "2"))

    for node in [0, 1]:
        nodes.start(node)
    for node in [0, 1]:
        nodes.until_said(node, f"the group went on without node {node}, which had left it")
    until(lambda: nodes.run("group", "why", code=None).stdout.count("of which none is here") >= 2, lambda: "they do not say it")
    nodes.found("--members", "1", "--force", "--yes", code=3, says="--members 0,1")
    for says in ["node 2 is missing: the group went on without node 0, which had left it; the last view of the group had node 2",
                 "subgroup orders goes on with the log of node 1, of 600 messages, the longest here, node 0 has 500",
                 "what follows in the log of node 2 is lost", "subgroup audit goes on with the log of node 1, of 10 messages"]:
        nodes.found("--members", "0,1", code=10, says=says)
    done = nodes.found("--members", "0,1", "--force", "--yes", "--timeout", "30000", "--json", code=0, says="what follows in the log")
    if json.loads(done.stdout)["members"] != [0, 1] or "node 2 is missing" not in done.stderr:
        sys.exit(f"standard output is not the document alone, or standard error lacks the loss: {done.stdout}{done.stderr}")
    says_again(nodes, "1,0", "nodes 1, 0", [1, 0])
    view, of_audit = nodes.until_all_in([0, 1])
    if view >> 32 == 0 or of_audit != [1]:
        sys.exit(f"the view that was founded by force is {view}, of the audit {of_audit}")
    until(lambda: nodes.log(0, "orders") == durable, lambda: "node 0 has not got the log of node 1")
    if nodes.log(1, "orders") != durable or len(nodes.log(1, "audit")) != 10:
        sys.exit("what was durable is lost")
    nodes.start(2)
    nodes.until_all_in([0, 1, 2])
    nodes.send("orders", 611, 620)
    until(lambda: len(nodes.log(2, "orders")) == 610 and nodes.log(2, "orders") == nodes.log(0, "orders"),
          lambda: "node 2 has another log than node 0")


def in_time(nodes, node, says):
    """A call ends when its time is over, and names what is stopped."""
    nodes.signal(node, signal.SIGSTOP)
    begin = time.monotonic()
    process = nodes.running[node].pid
    done = nodes.found("--members", "0,1", "--force", "--yes", "--timeout", "3000", code=5, says=says)
    took = time.monotonic() - begin
    if took > 8:
        sys.exit(f"with --timeout 3000 it took {took} s")
    if f"node {node} is stopped, its process is {process}" not in done.stderr or f"kill -CONT {process}" not in done.stderr:
        sys.exit(f"it does not name the process of node {node} that is stopped: {done.stderr}")


def play_with_stopped(nodes):
    """Node 0 is asked, and is stopped; then the other one that is named."""
    for node in [0, 1, 2, 3]:
        nodes.start(node)
    nodes.until_all_in([0, 1, 2, 3])
    nodes.kill()
    for node in [0, 1]:
        nodes.start(node)
    until(lambda: nodes.run("group", "found", "--members", "0,1", code=None).returncode == 10, lambda: "it is never asked for --force")
    in_time(nodes, 0, "node 0 does not answer")
    nodes.signal(0, signal.SIGCONT)
    until(lambda: nodes.run("group", "found", "--members", "0,1", code=None).returncode == 10, lambda: "node 0 does not go on")
    in_time(nodes, 1, "have not founded in time")
    nodes.found("--members", "0,1", code=10, says="these nodes were told to found already, and have not yet: nodes 2, 3 are missing")
    nodes.signal(1, signal.SIGCONT)
    nodes.found("--members", "0,1", "--force", "--yes", "--timeout", "30000", code=0, says="the group goes on with nodes 0, 1")
    nodes.until_all_in([0, 1])


for each_play in [play, play_in_order, play_with_stopped]:
    with tempfile.TemporaryDirectory() as scratch, Founding(SPINDRIFT, scratch, config_of(scratch), sender=3) as group:
        each_play(group)
