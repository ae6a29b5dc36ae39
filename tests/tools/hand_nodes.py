"""Nodes of a group with logged subgroups, each a process that a test starts and ends by hand."""
import json
import os
import signal
import subprocess
import sys

from waiting import PATIENCE_S, until


class Nodes:
    """`config`: the text of their configuration. `sender`: the node that sends, and then leaves."""

    def __init__(self, spindrift, scratch, config, sender):
        self.spindrift, self.scratch, self.sender = spindrift, scratch, sender
        self.running, self.starts = {}, 0
        self.config = os.path.join(scratch, "c.cfg")
        with open(self.config, "w") as file:
            file.write(config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.running.values():
            each.kill()
            each.wait()

    def start(self, node):
        self.starts += 1
        path = os.path.join(self.scratch, f"{node}_{self.starts}.log")
        with open(path, "w") as log:
            self.running[node] = subprocess.Popen([self.spindrift, "node", "--config", self.config, "--id", str(node)], stdout=log,
                                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.running[node].log = path

    def said(self, node):
        with open(self.running[node].log) as log:
            return log.read()

    def until_said(self, node, text):
        until(lambda: text in self.said(node), lambda: f"node {node} did not say \"{text}\" but: {self.said(node)}")

    def signal(self, node, kind):
        self.running[node].send_signal(kind)

    def end(self, node, kind):
        """SIGTERM: it leaves, and the others go on."""
        self.signal(node, kind)
        code = self.running[node].wait(PATIENCE_S)
        if kind == signal.SIGTERM and code != 0:
            sys.exit(f"node {node} did not leave: {self.said(node)}")
        del self.running[node]

    def kill(self):
        """All in one moment, as power goes."""
        for node in self.running:
            self.signal(node, signal.SIGSTOP)
        for each in self.running.values():
            os.waitid(os.P_PID, each.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # none of its threads takes another step
        for node in self.running:
            self.signal(node, signal.SIGKILL)
        for each in self.running.values():
            each.wait()
        self.running = {}

    def run(self, *words, given=None, code=0, says=""):
        """`code` None: whatever it is."""
        done = subprocess.run([self.spindrift, *words, "--config", self.config], capture_output=True, text=True, timeout=PATIENCE_S,
                              **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
        if (code is not None and done.returncode != code) or says not in done.stderr + done.stdout:
            sys.exit(f"{words} ended with {done.returncode}, not {code}, \"{says}\": {done.stdout}{done.stderr}")
        return done

    def send(self, subgroup, first, last):
        lines = "".join(f"{each}\n" for each in range(first, last + 1))
        self.run("send", subgroup, "--id", str(self.sender), "--wait", "durable", "--quiet", given=lines)

    def view_of(self, node):
        """The view that the node is in, and who has each subgroup there."""
        status = self.run("group", "status", "--json", code=None)
        for each in json.loads(status.stdout)["nodes"] if status.returncode == 0 else []:
            if each["node"] == node and each["process"] == self.running[node].pid and each["condition"] == "active":
                return each["view"], {subgroup["name"]: sorted(subgroup["members"]) for subgroup in each["subgroups"]}
        return None

    def until_in(self, nodes, **members):
        """Until all of them are in a view with these members of subgroups; that view of the first."""
        def is_there(node):
            view = self.view_of(node)
            return view and members.items() <= view[1].items()

        until(lambda: all(is_there(node) for node in nodes),
              lambda: f"no view of {nodes} with {members}, but {[self.view_of(node) for node in nodes]}: " +
              "".join(self.said(node) for node in nodes))
        return self.view_of(nodes[0])

    def log(self, node, subgroup):
        """What a node has, without its own times."""
        lines = self.run("log", "dump", subgroup, "--id", str(node), "--json").stdout.splitlines()
        return [(each["log_version"], each["view"], each["node"], each["text"]) for each in map(json.loads, lines)]
