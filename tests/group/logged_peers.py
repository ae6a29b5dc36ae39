"""Processes that keep a log (logged_peer, checkpoint_peer), three of one group, and what they were told of it."""
import os
import signal
import socket
import subprocess
import sys
import time

PATIENCE_S = 60
NODES = [0, 1, 2]


def fail(what):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


class Peer:
    program = None
    alive = []

    def __init__(self, scratch, node, cycle):
        self.node, self.name = node, f"{node}-{cycle}"
        self.path = os.path.join(scratch, f"out-{self.name}")
        self.out = open(self.path, "w")
        self.err = open(self.path + ".err", "w")
        self.process = subprocess.Popen([Peer.program, os.path.join(scratch, f"{node}.cfg"), self.name],
                                        stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)
        Peer.alive.append(self)

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


class ObjectTruth(Truth):
    """The same of an object that is made of the log: a digest of all calls, by their count."""
    def check(self, peer):
        lines = peer.lines()
        loaded = [(int(line[1]), line[2]) for line in lines if line[0] == "loaded"]
        if not loaded:
            return lines, range(0)
        count, digest = loaded[0]
        if self.durable.get(count - 1, digest) != digest:
            fail(f"the object of {peer.name} began with another state than was durable after {count} calls")
        return lines, range(count)

    def learn(self, peer, lines):
        super().learn(peer, [[line[0], int(line[1]) - 1, line[2]] for line in lines])


def configure(scratch, disk, history=""):
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
                       f"[PERS]\nfile_path = {disk}/journals\n[LAYOUT]\n"
                       f"json_layout = '[{{\"name\": \"orders\", \"storage\": \"logged\"{history}}}]'\n")


def await_progress(peers, more_than=0):
    """Until each of them was told of more of its own messages than that."""
    limit = time.monotonic() + PATIENCE_S
    while not all(peer.told() > more_than for peer in peers):
        for peer in peers:
            if peer.process.poll() is not None:
                fail(f"{peer.name} ended with {peer.process.returncode}: {peer.errors()}")
        if time.monotonic() > limit:
            fail("no progress: " + "; ".join(f"{peer.name}: {peer.told()} told, {peer.errors()}" for peer in peers))
        time.sleep(0.01)


def kill(peers):
    """All in one moment: on one host those that outlive the others by a millisecond go on without them."""
    for peer in peers:
        peer.process.send_signal(signal.SIGSTOP)
    for peer in peers:
        os.waitid(os.P_PID, peer.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # none of its threads takes another step
    for peer in peers:
        peer.process.kill()
    for peer in peers:
        peer.process.wait()
        Peer.alive.remove(peer)


def end_all():
    """Those that a test which failed has left."""
    for peer in Peer.alive:
        peer.process.kill()
        peer.process.wait()
