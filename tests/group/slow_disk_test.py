#!/usr/bin/env python3
"""slow_disk_test.py PEER COMMAND STORAGE: the disks of members take no record of views for a while, each at another change of
the view. They are waited for and nobody is removed, until one takes longer than it may; that one says why. STORAGE is that of
the one subgroup: with "logged" another thread than the poller writes to the disk."""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile

PATIENCE_S = 60
HELD_UP = "the disk holds up this member"


def fail(what):
    sys.exit(f"slow_disk_test: {what}")


class Peer:
    """A member whose disk can be held up."""

    def __init__(self, scratch, node):
        self.node = node
        self.gate = open(os.path.join(scratch, f"gate-{node}"), "w")
        configuration = os.path.join(scratch, f"{node}.cfg")
        with open(configuration, "w") as file:
            file.write(f"[DERECHO]\nlocal_id = {node}\n[SPINDRIFT]\ngroup_name = slow\nmembers = 0,1,2,3\nfounders = 0,1\n"
                       f"fabric = shm\nruntime_directory = {scratch}/run\njoin_timeout_ms = 60000\nsuspect_after_ms = 300\n"
                       f"handler_stuck_after_ms = {STUCK_AFTER_MS}\n"
                       f"[PERS]\nfile_path = {scratch}/disk\n[LAYOUT]\n"
                       f"json_layout = '[{{\"name\": \"orders\", \"storage\": \"{STORAGE}\"}}]'\n")
        self.process = subprocess.Popen([PEER, configuration, "views"], text=True, bufsize=1, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=os.environ | {"DISK_PEER_HELD": self.gate.name})

    def hold(self):
        fcntl.flock(self.gate, fcntl.LOCK_EX)

    def let_go(self):
        fcntl.flock(self.gate, fcntl.LOCK_UN)

    def expect_view(self, members, failed=""):
        line = self.process.stdout.readline()
        if line.split() != ["view", str(members), *failed.split()]:
            self.process.kill()
            fail(f"node {self.node}: view {members} {failed} was expected, and {line} came: {self.process.stderr.read()}")

    def await_log(self, words):
        said = ""
        while words not in said:
            line = self.process.stderr.readline()
            if not line:
                fail(f"node {self.node} did not say: {words}, but: {said}")
            said += line


def why(scratch):
    run = subprocess.run([COMMAND, "group", "why", "--config", os.path.join(scratch, "0.cfg")], capture_output=True, text=True,
                         timeout=PATIENCE_S, check=False)
    return run.stdout + run.stderr


def wait_for_disks(scratch, peers):
    """A member's disk, and then the newcomer's on its way into its first view."""
    old = [Peer(scratch, node) for node in [0, 1]]
    peers += old
    for peer in old:
        peer.expect_view(2)
    old[0].hold()
    newcomer = Peer(scratch, 2)
    peers.append(newcomer)
    old[0].await_log(HELD_UP)
    if "node 0 holds up the group: it waits for its disk" not in (said := why(scratch)):
        fail(f"group why does not say that node 0 waits for its disk: {said}")
    newcomer.hold()
    old[0].let_go()
    newcomer.await_log(HELD_UP)
    newcomer.let_go()
    for peer in peers:
        peer.expect_view(3)


def give_up_disk(scratch, peers):
    held, others = peers[1], [peers[0], peers[2]]
    held.hold()
    last = Peer(scratch, 3)
    peers.append(last)
    held.await_log("this member is held up for too long, and the others are let go on without it")
    for peer in others:
        peer.expect_view(4)  # a majority has decided it
        peer.expect_view(3, "1")
    held.let_go()
    held.process.stdin.close()  # to leave, which says how the member has ended
    held.await_log("the disk did not take the record of views for")
    if held.process.wait(PATIENCE_S) == 0:
        fail("a member whose disk took too long ended well")


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-slow-")
    peers = []
    signal.signal(signal.SIGALRM, lambda *_: fail("it stands still"))
    signal.alarm(2 * PATIENCE_S)
    try:
        wait_for_disks(scratch, peers)
        give_up_disk(scratch, peers)
    finally:
        for peer in peers:
            peer.process.kill()
            peer.process.wait()
        shutil.rmtree(scratch, ignore_errors=True)


STUCK_AFTER_MS = 5000
PEER, COMMAND, STORAGE = sys.argv[1:]
main()
