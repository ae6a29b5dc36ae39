#!/usr/bin/env python3
"""full_disk_why_test.py SPINDRIFT: the disk of a node's journal becomes full. `group why` says where and since when, what frees it, and
that the node goes on by itself then; so it does. The disk is a file system in memory, in a mount namespace of this test's own."""
import json
import os
import subprocess
import sys
import tempfile

from hand_nodes import Nodes
from waiting import until

SKIPPED = 77
CONFIG = """[SPINDRIFT]
group_name = full
members = 0, 1
founders = 0
fabric = shm
runtime_directory = {scratch}/run
join_timeout_ms = 50000
[PERS]
file_path = {scratch}/disk/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged"}}]'
"""


def mount(path, *options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(["mode=0700", *options]), "tmpfs", path], check=True)


def findings(nodes):
    return [each for each in json.loads(nodes.run("group", "why", "--json", code=None).stdout)["findings"] if each["kind"] == "disk_full"]


def first_of(nodes):
    return json.loads(nodes.run("log", "ls", "--id", "0", "--json").stdout)["logs"][0]["first"]


def play(nodes, disk):
    """Some messages lie before the last change of the view: these go by a trim."""
    nodes.start(0)
    nodes.until_in([0], orders=[0])
    elsewhere = ["--set", f"PERS/file_path={nodes.scratch}/journals"]  # the sender's journal has room
    lines = os.path.join(nodes.scratch, "lines")
    for first, last in [(0, 2000), (2000, 11000)]:
        with open(lines, "w") as file:
            file.writelines(f"{i} {'x' * 600}\n" for i in range(first, last))
        with open(lines) as file:
            sender = subprocess.Popen([nodes.spindrift, "send", "orders", "--config", nodes.config, "--id", "1", "--wait", "durable",
                                       *elsewhere], stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if first == 0 and sender.wait(60) != 0:
            sys.exit(f"the first sender ended with {sender.returncode}")
    try:
        until(lambda: findings(nodes), lambda: "nobody says that the disk is full: " + nodes.said(0))
        journal = os.path.join(disk, "journals/full/0")
        why = nodes.run("group", "why").stdout
        for words in [f"the disk of node 0's journal, {journal}, is full since then", "fix: make space on that disk",
                      "it goes on by itself", "before the last change of the view also goes by spindrift log trim SUBGROUP"]:
            if words not in why:
                sys.exit(f"\"{words}\" is not in: {why}")
        if journal not in findings(nodes)[0]["reason"]:
            sys.exit(f"the reason does not say where: {findings(nodes)}")
        nodes.run("log", "trim", "orders", "--before", "1900", "--id", "0", "--yes", says="trims the messages [0, 1900)")
        until(lambda: first_of(nodes) > 0, lambda: "nothing goes by a trim: " + nodes.said(0))
        mount(disk, "remount", "size=64m")
        until(lambda: not findings(nodes), lambda: "it does not go on: " + nodes.said(0))
        if sender.wait(60) != 0:
            sys.exit(f"the sender ended with {sender.returncode}")
    finally:
        sender.kill()
        sender.wait()


def main():
    scratch = sys.argv[2]
    mount(scratch, "size=256m")
    disk = os.path.join(scratch, "disk")
    os.mkdir(disk, 0o700)
    mount(disk, "size=3m")
    with Nodes(sys.argv[1], scratch, CONFIG.format(scratch=scratch), sender=1) as nodes:
        play(nodes, disk)


if len(sys.argv) > 2:
    main()
else:
    own = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*own, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: a full disk: no mount namespace can be made here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="spindrift-full-") as place:
        sys.exit(subprocess.run([*own, sys.executable, os.path.abspath(__file__), sys.argv[1], place], check=False).returncode)
