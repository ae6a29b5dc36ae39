#!/usr/bin/env python3
"""log_repair_test.py SPINDRIFT: all nodes of a group are killed, and two journals damaged at different places. No node of these
starts; each is repaired from the other's journal, damaged as that is, and the group goes on with all that was durable."""
import glob
import os
import re
import sys
import tempfile

from hand_nodes import Nodes
from waiting import PATIENCE_S

SPINDRIFT = sys.argv[1]
COUNT = 3000
CONFIG = """[SPINDRIFT]
group_name = repaired
members = 0, 1, 2, 3
founders = 0, 1, 2
fabric = shm
runtime_directory = {scratch}/run
join_timeout_ms = 50000
[PERS]
file_path = {scratch}/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged"}}]'
"""


class Repairing(Nodes):
    def journal(self, node):
        return os.path.join(self.scratch, "journals/repaired", str(node))

    def send_texts(self, first, end):
        lines = "".join(f"message-{each}-of-all {'x' * (each % 300)}\n" for each in range(first, end))
        self.run("send", "orders", "--id", "3", "--wait", "durable", "--quiet", given=lines)

    def damage(self, node, *messages):
        """One bit each of what the node has of these."""
        for message in messages:
            text = f"message-{message}-of-all".encode()
            places = []
            for path in glob.glob(self.journal(node) + "/*.segment"):
                with open(path, "rb") as file:
                    places += [(path, match.start()) for match in re.finditer(text, file.read())]
            if len(places) != 1:
                sys.exit(f"message {message} lies in {places}")
            path, at = places[0]
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(bytes([text[0] ^ 4]))

    def repair(self, node, source, *words, code=0, says=""):
        return self.run("log", "repair", "--id", str(node), "--from", source, *words, code=code, says=says)

    def check_all(self, nodes, count):
        for node in nodes:
            numbers = [int(each[3].split("-")[1]) for each in self.log(node, "orders")]
            if numbers != list(range(count)):
                sys.exit(f"node {node} has {len(numbers)} messages, which are not those that were sent")


def refuse_to_start(nodes, node):
    nodes.start(node)
    code = nodes.running[node].wait(PATIENCE_S)
    if code != 1 or "spindrift log repair --config FILE --id NODE --from DIRECTORY" not in nodes.said(node):
        sys.exit(f"node {node} ended with {code}: {nodes.said(node)}")
    del nodes.running[node]


def play(nodes):
    for node in [0, 1, 2]:
        nodes.start(node)
    nodes.until_in([0, 1, 2], orders=[0, 1, 2])
    nodes.send_texts(0, COUNT)
    nodes.repair(0, nodes.journal(1), code=3, says="another process has this journal")
    nodes.kill()
    nodes.damage(0, 100, 101, 1700)
    nodes.damage(1, 0, 300, 2900)
    for node in [0, 1]:
        nodes.run("log", "verify", "--id", str(node), code=1, says="spindrift log repair")
        refuse_to_start(nodes, node)

    nodes.repair(0, nodes.journal(0), code=2, says="it is the journal that is to be repaired")
    nodes.repair(0, nodes.journal(1), says="log of orders: messages [100, 102): found")
    nodes.run("log", "verify", "--id", "0", code=1)
    nodes.repair(0, nodes.journal(1), "--write", says=f"the damaged journal is kept in {nodes.journal(0)}.damaged-1")
    nodes.repair(1, nodes.journal(0) + ".damaged-1", "--write", says="repaired: ")
    for node in [0, 1]:
        nodes.run("log", "verify", "--id", str(node), says="nothing is damaged")
        nodes.repair(node, nodes.journal(2), "--write", says="there is nothing to repair")
    nodes.check_all([0, 1, 2], COUNT)

    # The one that was whole comes last: what was durable is with those that were repaired.
    for node in [0, 1]:
        nodes.start(node)
    nodes.until_in([0, 1], orders=[0, 1])
    nodes.start(2)
    nodes.until_in([0, 1, 2], orders=[0, 1, 2])
    nodes.send_texts(COUNT, COUNT + 200)
    nodes.kill()
    nodes.check_all([0, 1, 2], COUNT + 200)


with tempfile.TemporaryDirectory(prefix="spindrift-repair-") as directory:
    with Repairing(SPINDRIFT, directory, CONFIG.format(scratch=directory), 3) as group:
        play(group)
