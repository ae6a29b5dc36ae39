#!/usr/bin/env python3
"""logged_kills_test.py messages|object PEER CYCLES [SEED]: a group of three with a logged subgroup, whose processes are all
killed at random instants and started again, a majority of them first, over and over. Whatever one of them was told is durable is
there, once and in order, in everything that any process is given from then on. With "object" the log is bounded, and each
process has an object that is made of it: that is the same at all of them, and has all calls that were durable."""
import os
import random
import shutil
import sys
import tempfile
import time

import logged_peers
from logged_peers import NODES, ObjectTruth, Peer, Truth, await_progress, configure, fail, kill

KIND, Peer.program, CYCLES = sys.argv[1], sys.argv[2], int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int.from_bytes(os.urandom(4), "little")


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
    draw, truth = random.Random(SEED), ObjectTruth() if KIND == "object" else Truth()
    try:
        configure(scratch, scratch, ', "history": 100' if KIND == "object" else "")
        last = NODES
        for number in range(CYCLES):
            last = cycle(scratch, number, draw, truth, last)
        if KIND == "object" and "0000000000000000.segment" in os.listdir(f"{scratch}/journals/logged/0"):
            fail("nothing was trimmed, and so no object has begun with a checkpoint")
        print(f"seed {SEED}: {CYCLES} cycles, {len(truth.durable)} messages reported durable, up to version {truth.newest()}")
    except SystemExit as why:
        sys.exit(f"seed {SEED}: {why}")
    finally:
        logged_peers.end_all()
        shutil.rmtree(scratch, ignore_errors=True)


main()
