#!/usr/bin/env python3
"""config_store_test.py PROGRAM DIRECTORY SPINDRIFT: the configuration store example, in processes of its own, with the file of DIRECTORY. All
three are killed at once in the middle of puts, two come back, in each round two others: every version that was reported durable is
there, and the third gets it. Prints how long the two took. A member of the store's that is none of the program is told so."""
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, DIRECTORY, COMMAND = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
PATIENCE_S = 60
NODES = [0, 1, 2]
ANSWER = re.compile(r"get (\S+) = (\S+) \(version (\d+)\)")


class Store:
    """A process, with its lines as they come."""
    all = []

    def __init__(self, scratch, node):
        self.node, self.begun = node, time.monotonic()
        self.errors = open(os.path.join(scratch, f"errors-{node}"), "a+")
        self.begun_at = self.errors.tell()
        self.environment = dict(os.environ, SPINDRIFT_RUNTIME_DIRECTORY=os.path.join(scratch, "run"))
        self.process = subprocess.Popen([PROGRAM, "config_store.cfg", str(node)], cwd=scratch, text=True, bufsize=1,
                                        env=self.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        Store.all.append(self)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line.rstrip("\n")))
        self.lines.put((time.monotonic(), None))

    def next(self):
        """The next line and when it came; the line is None at the end."""
        try:
            return self.lines.get(timeout=PATIENCE_S)
        except queue.Empty:
            self.fail(f"said nothing for {PATIENCE_S} s")

    def fail(self, what):
        sys.exit(f"node {self.node} {what}: {self.errors_since(0)}")

    def expect(self, begin):
        when, line = self.next()
        if line is None or not line.startswith(begin):
            self.fail(f"said {line!r} and not {begin!r}")
        return when, line

    def await_error(self, text):
        limit = time.monotonic() + PATIENCE_S
        while text not in self.errors_since(self.begun_at):
            if time.monotonic() > limit:
                self.fail(f"did not say {text!r}")
            time.sleep(0.01)

    def errors_since(self, position):
        self.errors.seek(position)
        return self.errors.read()

    def ask(self, command, begin):
        self.process.stdin.write(command + "\n")
        return self.expect(begin)[1]


class Truth:
    """What was reported, and what may have been done besides: per key the last report, and the puts behind it."""
    def __init__(self):
        self.reported, self.asked = {}, {}

    def ask(self, key, value):
        self.asked[key] = value

    def report(self, key, version):
        self.reported[key] = (version, self.asked[key])

    def check(self, store):
        for key, (version, value) in self.reported.items():
            line = store.ask(f"get {key}", f"get {key}")
            there = ANSWER.fullmatch(line)
            same = there and int(there[3]) == version and there[2] == value
            later = there and int(there[3]) > version and there[2] == self.asked[key]
            if not same and not later:
                store.fail(f"has {line!r}, and {key} = {value} was reported with version {version}")
            self.reported[key] = (int(there[3]), there[2])


def kill(stores):
    """All in one moment: on one host those that outlive the others by a millisecond go on without them."""
    for store in stores:
        store.process.send_signal(signal.SIGSTOP)
    for store in stores:
        os.waitid(os.P_PID, store.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # none of its threads takes another step
    for store in stores:
        store.process.kill()
    for store in stores:
        store.process.wait()


def use(stores):
    """Each command once, as a person would. A replace or delete that is not done leaves a version out."""
    first, second, third = stores
    second.ask("watch color", "watch color: none")
    first.ask("put color light blue", "put color: version 1, durable")
    second.expect("changed color = light blue (version 1)")
    third.ask("replace color 7 red", "replace color: not done")
    third.ask("replace color 1 red", "replace color: version 3, durable")
    second.expect("changed color = red (version 3)")
    first.ask("put size 3", "put size: version 4, durable")
    first.ask("list", "keys: color size")
    first.ask("delete size", "delete size: version 5, durable")
    first.ask("delete size", "delete size: none")
    first.ask("get size", "get size: none")
    first.ask("get size 4", "get size 4: size = 3 (version 4)")
    first.ask("get color 2", "get color 2: color = light blue (version 1)")
    first.ask("history size", "history size:")
    first.expect("  version 4, ")
    first.expect("  version 5, ")
    first.ask("delete color", "delete color: version 7, durable")
    second.expect("changed color: none")
    first.ask("put color", "no command: put color; say put KEY VALUE")


def put_until_killed(stores, truth, round_number):
    """Every process puts, one command behind the other, and all are killed when each has had ten reports more."""
    count, reports = dict.fromkeys(NODES, 0), dict.fromkeys(NODES, 0)

    def put(store):
        key, value = f"{store.node}.{count[store.node] % 5}", f"{round_number}.{count[store.node]}"
        truth.ask(key, value)
        store.process.stdin.write(f"put {key} {value}\n")
        count[store.node] += 1
        return key

    pending = {store.node: put(store) for store in stores}
    while min(reports.values()) < 10:
        for store in stores:
            _, line = store.expect(f"put {pending[store.node]}: version ")
            truth.report(pending[store.node], int(re.search(r"version (\d+), durable", line)[1]))
            reports[store.node] += 1
            pending[store.node] = put(store)
    kill(stores)


def come_back(scratch, nodes, truth):
    """Two of the three, the second one while the first one waits for it; how long the second one took."""
    first = Store(scratch, nodes[0])
    first.await_error("has to come")
    second = Store(scratch, nodes[1])
    stores = [first, second]
    back = max(store.expect(f"node {store.node} is there: ")[0] for store in stores)
    for store in stores:
        truth.check(store)
    return stores, back - second.begun


def send_plainly(scratch, store):
    """A plain send in the object's subgroup ends its member, which is told why, and nothing that is not so."""
    kill([store])
    sent = subprocess.run([COMMAND, "send", "store", "--config", "config_store.cfg", "--id", str(store.node)], cwd=scratch,
                          env=store.environment, input="plain\n", capture_output=True, text=True, timeout=PATIENCE_S)
    told = "it sent a message that is no replicated call in subgroup store" in sent.stderr and "silent" not in sent.stderr
    if sent.returncode != 9 or not told:
        sys.exit(f"a plain send ended with {sent}")


def play(scratch):
    truth = Truth()
    stores = [Store(scratch, node) for node in NODES]
    for store in stores:
        store.expect(f"node {store.node} is there: 0 keys, version 0")
    use(stores)
    for number in range(3):
        put_until_killed(stores, truth, number)
        nodes = [node for node in NODES if node != number]
        stores, took = come_back(scratch, nodes, truth)
        print(f"two of three were back {took * 1000:.0f} ms after the second one was started")
        stores.append(Store(scratch, number))
        stores[-1].expect(f"node {number} is there: ")
        truth.check(stores[-1])
    send_plainly(scratch, stores.pop())
    for store in stores:
        store.process.stdin.close()
    for store in stores:
        if store.process.wait(PATIENCE_S) != 0:
            store.fail(f"ended with {store.process.returncode}")


def main():
    scratch = tempfile.mkdtemp(prefix="spindrift-store-")
    shutil.copy(os.path.join(DIRECTORY, "config_store.cfg"), scratch)
    try:
        play(scratch)
    finally:
        for store in Store.all:
            store.process.kill()
            store.process.wait()
        shutil.rmtree(scratch)


main()
