#!/usr/bin/env python3
"""logged_kills_test.py PEER CYCLES [SEED]: a group of three with a logged subgroup, whose processes are all killed at random
instants and started again, a majority of them first, over and over. Whatever one of them was told is durable is there, once and
in order, in everything that any process is given from then on."""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PEER, CYCLES = sys.argv[1], int(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "little")
PATIENCE_S = 60
NODES = [0, 1, 2]


class Peer:
    def __init__(self, scratch, node, cycle):
        self.node, self.name = node, f"{node}-{cycle}"
        self.path = os.path.join(scratch, f"out-{self.name}")
        self.out = open(self.path, "w")
        self.err = open(self.path + ".err", "w")
        self.process = subprocess.Popen([PEER, os.path.join(scratch, f"{node}.cfg"), self.name],
                                        stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)

    def lines(self):
        """Whole lines alone: the last may be cut."""
        with open(self.path) as file:
            text = file.read()
        return [line.split(" ", 2) for line in text[:text.rfind("\n") + 1].splitlines()]

    def errors(self):
        with open(self.path + ".err") as file:
            return file.read()

    def told(self):
        return sum(line[0] == "durable" for line in self.lines())


def fail(what):
    sys.exit(f"seed {SEED}: {what}")


class Truth:
    """The log as it was reported durable, and what is expected of everybody after that."""
    def __init__(self):
        self.durable = {}

    def check(self, peer):
        lines = peer.lines()
        given = []
        for line in lines:
            if line[0] != "given":
                continue
            if int(line[1]) != len(given):
                fail(f"{peer.name} was given version {line[1]} behind {len(given)} messages")
            given.append(line[2])
        if len(set(given)) != len(given):
            fail(f"{peer.name} was given a message twice")
        for version, text in self.durable.items():
            if version < len(given) and given[version] != text:
                fail(f"{peer.name} was given {given[version]} as version {version}, and {text} had been durable there")
        return lines, given

    def learn(self, peer, lines):
        for line in lines:
            if line[0] != "durable":
                continue
            version, text = int(line[1]), line[2]
            if self.durable.setdefault(version, text) != text:
                fail(f"{peer.name} was told {text} is durable as version {version}, and {self.durable[version]} was")

    def newest(self):
        return max(self.durable, default=-1)


def configure(scratch):
    sockets = [socket.socket() for _ in NODES]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = ",".join(f"{node}@127.0.0.1:{each.getsockname()[1]}" for node, each in zip(NODES, sockets))
    for each in sockets:
        each.close()
    for node in NODES:
        with open(os.path.join(scratch, f"{node}.cfg"), "w") as file:
            file.write(f"[DERECHO]\nlocal_id = {node}\n[SPINDRIFT]\ngroup_name = logged\nmembers = 0,1,2\nfounders = 0,1,2\n"
                       f"fabric = shm\naddresses = {addresses}\nruntime_directory = {scratch}/run\njoin_timeout_ms = 60000\n"
                       f"[PERS]\nfile_path = {scratch}/journals\n[LAYOUT]\n"
                       "json_layout = '[{\"name\": \"orders\", \"storage\": \"logged\"}]'\n")


def await_progress(peers):
    """Until each of them was told of one of its own messages."""
    limit = time.monotonic() + PATIENCE_S
    while not all(peer.told() > 0 for peer in peers):
        for peer in peers:
            if peer.process.poll() is not None:
                fail(f"{peer.name} ended with {peer.process.returncode}: {peer.errors()}")
        if time.monotonic() > limit:
            fail("no progress: " + "; ".join(f"{peer.name}: {peer.told()} told, {peer.errors()}" for peer in peers))
        time.sleep(0.01)


def kill(peers):
    """All in one moment: on one host those that outlive the others by a millisecond go on without them."""
    for sent in [signal.SIGSTOP, signal.SIGKILL]:
        for peer in peers:
            peer.process.send_signal(sent)
    for peer in peers:
        peer.process.wait()


def cycle(scratch, number, draw, truth, last):
    """Returns the nodes of the last view. Where that had two, both are needed first; on the first day all are."""
    first = draw.sample(NODES, 2)
    peers = [Peer(scratch, node, number) for node in first]
    lacks = number == 0 or (len(last) == 2 and not {*last} <= {*first})
    if lacks:
        peers.append(Peer(scratch, ({*NODES} - {*first}).pop(), number))
    elif draw.random() < 0.7:
        if draw.random() < 0.5:
            await_progress(peers)
        peers.append(Peer(scratch, ({*NODES} - {*first}).pop(), number))
    await_progress(peers)
    if len(peers) == 3 and draw.random() < 0.3:
        # One dies before the rest, and is back, or not.
        victim = draw.choice(peers)
        kill([victim])
        if draw.random() < 0.5:
            peers.append(Peer(scratch, victim.node, f"{number}b"))
            await_progress(peers[-1:])
    time.sleep(draw.random() * 0.2)
    alive = [peer for peer in peers if peer.process.poll() is None]
    kill(alive)
    known = truth.newest()
    read = [(peer, *truth.check(peer)) for peer in peers]
    for peer, lines, _ in read:
        truth.learn(peer, lines)
    for peer, _, given in read:
        truth.check(peer)
        if peer.told() > 0 and len(given) <= known:
            fail(f"{peer.name} was given {len(given)} messages, and version {known} had been durable before it began")
    for peer in peers:
        for end in ["", ".err"]:
            os.unlink(peer.path + end)
    return [peer.node for peer in alive]


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-logged-")
    draw, truth = random.Random(SEED), Truth()
    try:
        configure(scratch)
        last = NODES
        for number in range(CYCLES):
            last = cycle(scratch, number, draw, truth, last)
        print(f"seed {SEED}: {CYCLES} cycles, {len(truth.durable)} messages reported durable, up to version {truth.newest()}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
