#!/usr/bin/env python3
"""total_stop_test.py SPINDRIFT FABRIC [journal]: after all processes of a group were killed, two of three go on without the third, which
is taken in later, and one alone says for whom it waits; founders that were all removed found no second group; and a node is let
to forget, or not. FABRIC: shm, or tcp, where each node has a runtime directory of its own, as on hosts of their own. journal:
nodes keep journals, and with their processes everything else goes that a machine loses when it is started anew."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from free_ports import free_ports
from waiting import PATIENCE_S, until

SPINDRIFT, FABRIC, JOURNAL = sys.argv[1], sys.argv[2], "journal" in sys.argv[3:]


class Group:
    """A group's files, and its processes by node."""
    all = []

    def __init__(self, scratch, name, nodes):
        self.scratch, self.name = scratch, name
        self.ports = dict(zip(nodes, free_ports(len(nodes))))
        self.running, self.counts = {}, {}
        Group.all.append(self)

    def directory(self, node):
        return os.path.join(self.scratch, "run" if FABRIC == "shm" else f"run{node}")

    def journals(self):
        return os.path.join(self.scratch, "journals")

    def lose_memory(self):
        """All machines are started anew."""
        for directory in glob.glob(os.path.join(self.scratch, "run*")):
            shutil.rmtree(directory)

    def file(self, node, members):
        path = os.path.join(self.scratch, f"{self.name}_{node}_{'_'.join(map(str, members))}.cfg")
        if os.path.exists(path):
            return path
        addresses = ",".join(f"{each}@127.0.0.1:{self.ports[each]}" for each in members)
        with open(path, "w") as file:
            file.write(
                f"[SPINDRIFT]\ngroup_name = {self.name}\nfabric = {FABRIC}\njoin_timeout_ms = 40000\n"
                f"members = {','.join(map(str, members))}\n"
                f"runtime_directory = {self.directory(node)}\n"
                + (f"addresses = {addresses}\nsecurity = none\n" if FABRIC == "tcp" else "")
                + (f"[PERS]\nfile_path = {self.journals()}\n" if JOURNAL else "")
                + "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n")
        return path

    def start(self, node, members, *more):
        self.counts[node] = self.counts.get(node, 0) + 1
        log = open(os.path.join(self.scratch, f"{self.name}_{node}_{self.counts[node]}.log"), "w+")
        self.running[node] = subprocess.Popen(
            [SPINDRIFT, "node", "--config", self.file(node, members), "--id", str(node), *more],
            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.running[node].log = log

    def said(self, node):
        with open(self.running[node].log.name) as log:
            return log.read()

    def kill(self, *nodes):
        """All in one moment: on one host those that outlive the others by a millisecond go on without them."""
        for node in nodes:
            self.running[node].send_signal(signal.SIGSTOP)
        for node in nodes:
            os.waitid(os.P_PID, self.running[node].pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # none of its threads takes another step
        for node in nodes:
            self.running[node].kill()
        for node in nodes:
            self.running.pop(node).wait()

    def command(self, node, members, *words):
        config = ["--config", self.file(node, members)]
        return subprocess.run([SPINDRIFT, "group", *words, *config], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def newest(self, node, members):
        """The view's id and members, as that node has it; nothing: it is in none, or does not run."""
        status = self.command(node, members, "status", "--json")
        if status.returncode != 0:
            return None
        for each in json.loads(status.stdout)["nodes"]:
            if each["node"] == node and each["process"] == self.running[node].pid and each["view"] is not None:
                if each["condition"] != "active":
                    return None
                subgroup = each["subgroups"][0]
                return each["view"], sorted(subgroup["members"])
        return None

    def until_in(self, nodes, members):
        """Returns the id of the view in which these and no others are."""
        views = {}

        def together():
            views.update({node: self.newest(node, members) for node in nodes})
            return all(views[node] and views[node][1] == sorted(nodes) for node in nodes) and \
                len({views[node][0] for node in nodes}) == 1
        until(together, lambda: f"no view of {nodes}: {views}\n" + "".join(self.said(node) for node in nodes))
        return views[nodes[0]][0]

    def until_said(self, node, text):
        until(lambda: text in self.said(node), lambda: f"node {node} did not say \"{text}\" but:\n{self.said(node)}")


def kill_all(group):
    group.kill(*list(group.running))
    if JOURNAL and not any(each.running for each in Group.all):
        group.lose_memory()


def two_of_three_go_on(scratch):
    group, nodes = Group(scratch, "stop", [0, 1, 2]), [0, 1, 2]
    for node in nodes:
        group.start(node, nodes)
    first = group.until_in(nodes, nodes)
    kill_all(group)
    group.start(1, nodes)
    group.until_said(1, "the last view of the group had nodes 0, 1, 2, of which 1 is here: 1 of nodes 0, 2 has to come")
    why = group.command(1, nodes, "why").stdout
    if "the last view of the group had nodes 0, 1, 2, of which 1 is here: 1 of nodes 0, 2 has to come" not in why:
        sys.exit(f"group why does not say for whom node 1 waits: {why}")
    group.start(2, nodes)
    second = group.until_in([1, 2], nodes)
    group.start(0, nodes)
    third = group.until_in(nodes, nodes)
    if not first < second < third:
        sys.exit(f"ids of views do not grow: {first}, {second}, {third}")
    kill_all(group)
    # Of two that were the last view's majority both are needed; then one alone says so when its time is over.
    for node in [0, 1]:
        group.start(node, nodes)
    group.until_in([0, 1], nodes)
    kill_all(group)
    group.start(2, nodes, "--set", "SPINDRIFT/join_timeout_ms=3000")
    group.running[2].wait(PATIENCE_S)
    if group.running[2].returncode != 5 or "waited 3000 ms for a view: the last view of the group had" not in group.said(2):
        sys.exit(f"node 2 ended with {group.running[2].returncode}: {group.said(2)}")
    del group.running[2]
    return group


def forgetting(group):
    nodes = [0, 1, 2]
    group.start(0, nodes)
    group.until_said(0, "the last view of the group")
    refused = group.command(0, nodes, "forget", "0", "--yes")
    if refused.returncode == 0 or "runs on this host" not in refused.stderr:
        sys.exit(f"a node that runs was let to forget: {refused}")
    kill_all(group)
    unasked = group.command(0, nodes, "forget", "0")
    if unasked.returncode == 0 or "--yes" not in unasked.stderr:
        sys.exit(f"a node was let to forget unasked: {unasked}")
    stranger = group.command(0, nodes, "forget", "77", "--yes")
    if stranger.returncode != 2 or "node 77 is none of the configuration's" not in stranger.stderr:
        sys.exit(f"a node of nobody was let to forget: {stranger}")
    for node in nodes:
        forgot = group.command(node, nodes, "forget", str(node), "--yes")
        if forgot.returncode != 0 or f"node {node} remembers nothing now" not in forgot.stdout:
            sys.exit(f"node {node} was not let to forget: {forgot}")
    for node in nodes:
        group.start(node, nodes)
    if (view := group.until_in(nodes, nodes)) != 0:
        sys.exit(f"the first day's view is {view}")
    path = os.path.join(group.directory(1), group.name, "views", "1.views")
    kill_all(group)
    if JOURNAL:
        path = sorted(glob.glob(os.path.join(group.journals(), group.name, "1", "*.segment")))[-1]
    with open(path, "r+b") as file:
        file.write(b"broken" * 4096)
    group.start(1, nodes)
    group.running[1].wait(PATIENCE_S)
    if group.running[1].returncode == 0 or "spindrift group forget" not in group.said(1) or path not in group.said(1):
        sys.exit(f"a node began with a broken record: {group.said(1)}")
    del group.running[1]
    if JOURNAL:
        if group.command(1, nodes, "forget", "1", "--yes").returncode != 0:
            sys.exit("a node with a broken journal was not let to forget")
        group.start(1, nodes)
        group.until_said(1, "waiting for")
        kill_all(group)


def removed_founders_found_nothing(scratch):
    group, founders, later = Group(scratch, "gone", [0, 1, 2, 3, 4]), [0, 1, 2], [3, 4]
    for node in founders:
        group.start(node, founders)
    group.until_in(founders, founders)
    everybody = founders + later
    for node in later:
        added = f"{node}@127.0.0.1:{group.ports[node]}" if FABRIC == "tcp" else str(node)
        done = group.command(0, founders, "add", added)
        if done.returncode != 0:
            sys.exit(f"node {node} was not added: {done}")
        group.start(node, everybody)
    group.until_in(everybody, everybody)
    for node in founders:
        if group.command(3, everybody, "remove", str(node)).returncode != 0:
            sys.exit(f"node {node} was not removed")
        group.running.pop(node).wait(PATIENCE_S)
    group.until_in(later, everybody)
    kill_all(group)
    for node in founders:
        group.start(node, founders)
    for node in founders:
        group.until_said(node, "the group went on without node")
    time.sleep(2)  # nothing happens: that takes time
    if any(group.newest(node, founders) for node in founders):
        sys.exit("founders that were removed found a second group")
    kill_all(group)
    for node in later:
        group.start(node, everybody)
    group.until_in(later, everybody)
    kill_all(group)


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-stop-")
    try:
        forgetting(two_of_three_go_on(scratch))
        removed_founders_found_nothing(scratch)
    finally:
        for group in Group.all:
            kill_all(group)
        shutil.rmtree(scratch)


main()
