#!/usr/bin/env python3
"""contacts_test.py SPINDRIFT: a group that one node bootstraps grows over TCP with keys. The one file of all of them
names no node, only addresses at which members may be found; each learns from its key which node it is. Nodes that nobody has let in,
drained ones, and those whose contacts are in no group are told what to do."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

spindrift = sys.argv[1]
patience = 60
started = []


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def run(*arguments, code=0):
    done = subprocess.run([spindrift, *arguments], capture_output=True, text=True, timeout=patience, check=False)
    check(done.returncode == code, f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def start(name, *arguments):
    """A command that goes on; what it says goes to files of that name."""
    with open(name + ".out", "wb") as output, open(name + ".err", "wb") as errors:
        process = subprocess.Popen([spindrift, *arguments], stdout=output, stderr=errors, stdin=subprocess.DEVNULL)
    started.append(process)
    return process


def until(holds, what):
    limit = time.monotonic() + patience
    while not holds():
        check(time.monotonic() < limit, f"never: {what}")
        time.sleep(0.02)


def members():
    told = json.loads(run("group", "members", "--config", "group.cfg", "--json"))
    return sorted(each["node"] for each in told["newest"]["members"])


def active(process):
    """Whether that process is a member."""
    return f"active, process {process.pid}," in run("group", "status", "--config", "group.cfg")


def ended(process, code, *texts, name):
    check(process.wait(patience) == code, f"{name} ended with {process.returncode}: " + pathlib.Path(name + ".err").read_text())
    said = pathlib.Path(name + ".err").read_text()
    for text in texts:
        check(text in said, f"no {text!r} in {said!r}")


def main():
    # Addresses of the loopback network that no other process of the tests uses.
    at = [f"127.{88 + os.getpid() // 62500 % 8}.{os.getpid() // 250 % 250}.{os.getpid() % 250 + 1}:{7600 + node}" for node in range(3)]
    keys = os.path.join(os.getcwd(), "keys")
    run("keys", "init", "growing", "--dir", keys, "--nodes", "0,1,2,3", "--observer", "eye")
    pathlib.Path("group.cfg").write_text(f"""
[SPINDRIFT]
group_name = growing
contacts = {at[0]}, {at[1]}
runtime_directory = {os.getcwd()}/run
join_timeout_ms = {patience * 1000}
[LAYOUT]
json_layout = '[{{"name": "orders"}}]'
""", encoding="utf-8")

    def node(number, *more):
        return start(f"node{number}", "tail", "orders", "--reliable", "--json", "--config", "group.cfg",
                     "--set", f"SPINDRIFT/keys={keys}/{number}", *more)

    first = ("--set", "SPINDRIFT/bootstrap=true", "--set", f"SPINDRIFT/addresses=0@{at[0]}", "--id", "0")

    # Contacts that are in no group, and nodes that do not say who they are.
    said = run("node", "--config", "group.cfg", "--id", "1", "--set", f"SPINDRIFT/keys={keys}/1", "--set",
               "SPINDRIFT/join_timeout_ms=300", code=5)
    check("for a contact that is in group growing" in said and "bootstrap = true" in said, said)
    said = run("node", "--config", "group.cfg", code=2)
    check("nothing says which node of the group this process is" in said, said)
    said = run("node", "--config", "group.cfg", "--set", f"SPINDRIFT/keys={keys}/observer-eye", code=2)
    check("the key is of no node" in said, said)

    # The first node, while the second one waits for it already.
    waiting = node(1)
    until(lambda: "asked again" in pathlib.Path("node1.err").read_text(), "node 1 says for whom it waits")
    founder = node(0, *first)
    ended(waiting, 3, "node 1 is not in the roster of group growing, which has 0", "spindrift group add 1@", name="node1")
    run("group", "add", f"1@{at[1]}", f"2@{at[2]}", "--config", "group.cfg")
    second = node(1)
    until(lambda: members() == [0, 1], "node 1 is in")
    sent = subprocess.run([spindrift, "send", "orders", "--config", "group.cfg", "--set", f"SPINDRIFT/keys={keys}/2"],
                          input="one\ntwo\n", capture_output=True, text=True, timeout=patience, check=False)
    check(sent.returncode == 0 and "sent 2 messages" in sent.stdout + sent.stderr, sent.stdout + sent.stderr)
    for number in (0, 1):
        until(lambda n=number: '"text":"two"' in pathlib.Path(f"node{n}.out").read_text(), "the lines arrive")

    # A node that says bootstrap again joins the group that is there, and one that is drained is told so.
    founder.send_signal(signal.SIGTERM)
    check(founder.wait(patience) == 0, "node 0 leaves")
    until(lambda: members() == [1], "node 0 is out")
    founder = node(0, *first)
    until(lambda: members() == [0, 1], "node 0 is in again")
    run("group", "drain", "2", "--config", "group.cfg")
    said = run("node", "--config", "group.cfg", "--set", f"SPINDRIFT/keys={keys}/2", code=3)
    check("node 2 is drained" in said and "--undo" in said, said)

    # Neither the clear nor a key of another group learns anything.
    run("keys", "init", "growing", "--dir", keys + "_of_others", "--nodes", "2")
    elsewhere = ("--set", f"SPINDRIFT/runtime_directory={os.getcwd()}/elsewhere", "--set", "SPINDRIFT/join_timeout_ms=300")
    said = run("node", "--config", "group.cfg", "--set", f"SPINDRIFT/keys={keys}_of_others/2", *elsewhere, code=5)
    check("growing, which has" not in said and "roster" not in said, said)
    said = run("node", "--config", "group.cfg", "--id", "2", "--set", "SPINDRIFT/security=none", *elsewhere, code=5)
    check("may have another [SPINDRIFT] security" in said, said)
    check(members() == [0, 1], "strangers came in")

    # When all have stopped, the first one founds nothing alone, though it is told to begin a group and no contact is there: it
    # waits for the other one, and together they go on, with the roster that they had. Neither outlives the other.
    for process in (founder, second):
        process.send_signal(signal.SIGSTOP)
    for process in (founder, second):
        process.kill()
        process.wait()
    founder = node(0, *first)
    until(lambda: "the last view of the group had nodes 1, 0" in run("group", "why", "--config", "group.cfg"),
          "node 0 says for whom it waits")
    check(not active(founder), "node 0 founds alone")
    second = node(1)
    until(lambda: active(founder) and active(second), "the two go on")
    check("drained" in run("group", "roster", "--config", "group.cfg"), "the roster is the last one")
    said = run("node", "--config", "group.cfg", "--set", f"SPINDRIFT/keys={keys}/2", code=3)
    check("node 2 is drained" in said, said)
    for process in (founder, second):
        process.send_signal(signal.SIGTERM)
        check(process.wait(patience) == 0, "a member leaves in order")


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    os.mkdir("run", 0o700)
    os.mkdir("elsewhere", 0o700)
    try:
        main()
    finally:
        for each in started:
            if each.poll() is None:
                each.kill()
            each.wait()
        os.chdir("/")
