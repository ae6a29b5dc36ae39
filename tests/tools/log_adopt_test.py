#!/usr/bin/env python3
"""log_adopt_test.py SPINDRIFT: the last node with all of a log is killed, and its disk taken away. One that left earlier has the
first half; the group goes on with that when it is told to. The lost node comes back with its disk after all, and drops the rest."""
import os
import signal
import sys
import tempfile

from hand_nodes import Nodes
from waiting import until

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


class Adopting(Nodes):
    def adopt(self, *words, code, says):
        return self.run("log", "adopt", "orders", *words, code=code, says=says)

    def until_adopted(self, nodes, of_orders):
        """All are in "news", and these in "orders"."""
        self.until_in(nodes, news=nodes, orders=of_orders)


def numbers(*ranges):
    return [str(each) for first, last in ranges for each in range(first, last + 1)]


def play(nodes):
    for node in [0, 1, 2, 3]:
        nodes.start(node)
    nodes.until_adopted([0, 1, 2, 3], [2, 3])
    nodes.send("orders", 1, 100)
    nodes.end(3, signal.SIGTERM)
    nodes.send("orders", 101, 200)
    nodes.until_adopted([0, 1, 2], [2])
    nodes.adopt("--from", "2", "--force", "--yes", code=3, says="the log of subgroup orders is here")
    nodes.end(2, signal.SIGKILL)
    journal, away = (os.path.join(nodes.scratch, "journals/adopted/2"), os.path.join(nodes.scratch, "away"))
    os.rename(journal, away)
    nodes.start(3)
    nodes.until_adopted([0, 1, 3], [])

    nodes.run("group", "why", says="its log is with node 2")
    nodes.run("group", "why", says="spindrift log adopt")
    # A member's word about its log may come a moment behind its status.
    until(lambda: "has not said" not in nodes.adopt("--from", "3", code=None, says="").stderr, lambda: "a member says nothing")
    nodes.adopt("--from", "3", code=10, says="the log is with node 2, not here with it; that of node 3 goes up to version 100")
    nodes.adopt("--from", "3", "--force", code=2, says="--yes")
    nodes.adopt("--from", "3", "--force", "--yes", "--through", "1", code=3, says="--through 0")
    nodes.adopt("--from", "1", "--force", "--yes", code=3, says="node 1 has nothing of the log")
    nodes.adopt("--from", "2", "--force", "--yes", code=2, says="node 2 is no member")
    nodes.run("log", "adopt", "news", "--from", "1", code=3, says="is not logged")
    nodes.run("log", "adopt", "olds", "--from", "1", code=2, says="no subgroup olds")
    nodes.until_adopted([0, 1, 3], [])
    nodes.adopt("--from", "3", "--force", "--yes", code=0, says="the group goes on with the log of orders that node 3 has")
    nodes.until_adopted([0, 1, 3], [3])
    nodes.send("orders", 201, 250)

    os.rename(away, journal)
    nodes.start(2)
    nodes.until_adopted([0, 1, 2, 3], [2, 3])
    nodes.send("orders", 251, 300)
    nodes.until_said(2, "are not in the group's, and are dropped")
    if "messages=100 first=100" not in nodes.said(2):
        sys.exit(f"node 2 drops other messages than 100 from 100 on: {nodes.said(2)}")
    for node in [2, 3, 4]:
        texts = [text for *_, text in nodes.log(node, "orders")]
        if texts != numbers((1, 100), (201, 300)):
            sys.exit(f"node {node} has {texts}")


with tempfile.TemporaryDirectory() as scratch, Adopting(SPINDRIFT, scratch, CONFIG.format(scratch=scratch), sender=4) as group:
    play(group)
