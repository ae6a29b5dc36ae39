#!/usr/bin/env python3
"""full_disk_test.py PEER: the disk of one of two members becomes full while it sends. Its sends are refused with the reason, and
neither member ends, also not when a third one joins and leaves meanwhile; when there is space they are taken again, and both
members have all messages that were taken. All files are in file systems in memory, in a mount namespace of this test's own."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

PATIENCE_S = 60
SKIPPED = 77


def fail(what):
    sys.exit(f"full_disk_test: {what}")


class Peer:
    def __init__(self, scratch, node, *words):
        self.errors = os.path.join(scratch, f"errors-{node}")
        self.said = []
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen([PEER, os.path.join(scratch, f"{node}.cfg"), *words], text=True, bufsize=1,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def expect(self, what):
        """The next line of that kind. Views are said by another thread than the rest."""
        at = next((i for i, line in enumerate(self.said) if line[0] == what), None)
        if at is not None:
            line = self.said.pop(at)
            return int(line[1]), line[2]
        while (line := self.process.stdout.readline().split(" ", 2))[0] != what:
            if len(line) < 3:
                with open(self.errors) as errors:
                    fail(f"{what} was expected, and {line} came: {errors.read()}")
            self.said.append(line)
        return int(line[1]), line[2]

    def leave(self):
        self.process.stdin.close()
        given, _ = self.expect("given")
        if self.process.wait(PATIENCE_S) != 0:
            fail(f"it ended with {self.process.returncode}")
        return given


def mount(path, size, *options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([*options, f"size={size}"]), "tmpfs", path], check=True)


def configure(scratch):
    for node in [0, 1, 2]:
        os.mkdir(os.path.join(scratch, f"disk-{node}"), 0o700)
        with open(os.path.join(scratch, f"{node}.cfg"), "w") as file:
            file.write(f"[DERECHO]\nlocal_id = {node}\n[SPINDRIFT]\ngroup_name = full\nmembers = 0,1,2\nfounders = 0,1\n"
                       f"fabric = shm\nruntime_directory = {scratch}/run\njoin_timeout_ms = 60000\n"
                       f"[PERS]\nfile_path = {scratch}/disk-{node}/journals\n[LAYOUT]\n"
                       "json_layout = '[{\"name\": \"orders\", \"storage\": \"logged\"}]'\n")


def expect_view(peers, members):
    for peer in peers:
        count, failed = peer.expect("view")
        if count != members or failed.strip():
            fail(f"a view of {members} was expected, and one of {count} without {failed} came")


def change_view(scratch, peers):
    """A node joins and leaves: both members store records of views, the one on a disk without space."""
    newcomer = Peer(scratch, 2, "views")
    members = list(peers)
    peers.append(newcomer)
    expect_view(peers, 3)
    newcomer.leave()
    expect_view(members, 2)


def use(scratch, peers):
    disk = os.path.join(scratch, "disk-1")
    mount(disk, "2m", "mode=0700")
    peers += [Peer(scratch, 0, "views"), Peer(scratch, 1, "views", "send")]
    receiver, sender = peers
    expect_view(peers, 2)
    refused, why = sender.expect("refused")
    place = os.path.join(scratch, "disk-1", "journals")
    for word in ["subgroup orders is logged", place, "make space there"]:
        if word not in why:
            fail(f"{word} is not in: {why}")
    change_view(scratch, peers)
    mount(disk, "64m", "remount")
    taken, _ = sender.expect("taken")
    durable, _ = sender.expect("durable")
    given = [sender.leave(), receiver.leave()]
    if taken != refused or durable != refused + 1 or given != [durable + 1] * 2:
        fail(f"refused {refused}, taken {taken}, durable {durable}, given {given}")
    with open(sender.errors) as errors:
        told = errors.read()
    if told.count("the disk of the journal is full") != 1:
        fail(f"that the disk is full was not told once: {told}")


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-full-")
    peers = []
    signal.signal(signal.SIGALRM, lambda *_: fail("it stands still"))
    signal.alarm(2 * PATIENCE_S)
    try:
        mount(scratch, "64m", "mode=0700")
        configure(scratch)
        use(scratch, peers)
    finally:
        for peer in peers:
            peer.process.kill()
            peer.process.wait()
        for path in [os.path.join(scratch, "disk-1"), scratch]:
            subprocess.run(["umount", "--lazy", path], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(scratch, ignore_errors=True)


PEER = sys.argv[1]
if len(sys.argv) > 2:
    main()
else:
    own = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*own, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: a full disk: no mount namespace can be made here")
        sys.exit(SKIPPED)
    os.execvp(own[0], [*own, sys.executable, os.path.abspath(__file__), os.path.abspath(PEER), "inside"])
