#!/usr/bin/env python3
"""disk_copies_test.py PEER COPIES: three processes that keep a log write to one disk, and the disk is copied while they do, as
it is in that moment. Each copy is a disk that lost its power then: it is mounted, its file system recovers, and the three start
from it. All that had been reported durable before the copy was begun is there, once and in order, and the group goes on. The disk
is an ext4 file system in a file, that file is on an XFS file system, which copies it in one step, and that is in a file, too; both
are mounted in a mount namespace of this test's own."""
import os
import shutil
import subprocess
import sys
import tempfile

import logged_peers
from logged_peers import NODES, Peer, Truth, await_progress, configure, fail, kill

SKIPPED = 77


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(words)}: {done.stderr}")


class Disk:
    def __init__(self, scratch):
        self.outer, self.mounted = os.path.join(scratch, "outer"), os.path.join(scratch, "disk")
        for path in [self.outer, self.mounted]:
            os.mkdir(path)
        image = os.path.join(scratch, "outer.image")
        run("truncate", "--size", "2G", image)
        run("mkfs.xfs", "-q", "-m", "reflink=1", image)
        run("mount", "-o", "loop", image, self.outer)
        self.own = os.path.join(self.outer, "disk.image")
        run("truncate", "--size", "400M", self.own)
        run("mkfs.ext4", "-q", "-F", self.own)

    def mount(self, image):
        run("mount", "-o", "loop", image, self.mounted)

    def copy(self, number):
        to = os.path.join(self.outer, f"copy-{number}.image")
        run("cp", "--reflink=always", self.own, to)
        return to

    def unmount(self):
        run("umount", self.mounted)

    def remove(self):
        for path in [self.mounted, self.outer]:
            subprocess.run(["umount", "--lazy", path], check=False, stderr=subprocess.DEVNULL)


def start(scratch, name):
    """Without what the runtime directory remembers of this start of the machine, as after a power cut."""
    shutil.rmtree(os.path.join(scratch, "run"), ignore_errors=True)
    return [Peer(scratch, node, name) for node in NODES]


def durable_now(peers):
    truth = Truth()
    for peer in peers:
        truth.learn(peer, peer.lines())
    return truth


def use(scratch, disk):
    disk.mount(disk.own)
    configure(scratch, disk.mounted)
    peers = start(scratch, "first")
    copies = []
    for number in range(COPIES):
        await_progress(peers, more_than=number * 40)
        copies.append((durable_now(peers), disk.copy(number)))
    kill(peers)
    disk.unmount()
    for number, (truth, image) in enumerate(copies):
        disk.mount(image)
        again = start(scratch, f"copy-{number}")
        await_progress(again)
        kill(again)
        for peer in again:
            _, given = truth.check(peer)
            if len(given) <= truth.newest():
                fail(f"copy {number}: {peer.name} was given {len(given)} messages, and version {truth.newest()} was durable")
        disk.unmount()
        print(f"copy {number}: {len(truth.durable)} messages were reported durable, up to version {truth.newest()}")


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-copies-")
    disk = None
    try:
        disk = Disk(scratch)
        use(scratch, disk)
    finally:
        logged_peers.end_all()
        if disk is not None:
            disk.remove()
        shutil.rmtree(scratch, ignore_errors=True)


def skip_unless_possible():
    for words in [["unshare", "--mount", "true"], ["mkfs.xfs", "-V"], ["test", "-e", "/dev/loop-control"]]:
        try:
            done = subprocess.run(words, check=False, capture_output=True)
        except OSError:
            done = None
        if done is None or done.returncode != 0:
            print(f"skipped: copies of a disk under load: {' '.join(words)} does not work here")
            sys.exit(SKIPPED)


Peer.program, COPIES = os.path.abspath(sys.argv[1]), int(sys.argv[2])
if len(sys.argv) > 3:
    main()
else:
    skip_unless_possible()
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, os.path.abspath(__file__),
                          Peer.program, str(COPIES), "inside"])
