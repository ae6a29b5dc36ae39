"""tools/endure topics: a PERSISTENT topic whose participants are killed and come again, judged by what they were told."""
import json
import random
import signal
import subprocess
import time

NODES = 3
KEYS_OF_EACH = 4  # as tests/endure/topic_member.cpp has it


class Life:
    """One life of a participant, and the lines that it printed."""

    def __init__(self, run, node):
        self.node, self.killed = node, False
        self.said = None  # all lines, once nothing follows
        self.acked_before = dict(run.acked())  # by node, as it starts
        name = f'{node}.{len(run.lives)}'
        self.output, self.log = run.directory / f'{name}.out', run.directory / f'{name}.log'
        with open(self.output, 'wb') as out, open(self.log, 'wb') as log:
            self.process = subprocess.Popen([run.options.build / 'tests/endure/topic_member', run.config_of(node), str(node),
                                             str(run.options.depth)], stdin=subprocess.PIPE, stdout=out, stderr=log)

    def lines(self):
        if self.said is not None:
            return self.said
        whole = self.output.read_text().split('\n')[:-1]  # a line without its end was cut off by the kill
        return [json.loads(line) for line in whole]

    def last(self, word):
        return max((line[word] for line in self.lines() if word in line), default=0)

    def history(self):
        for line in self.lines():
            if 'history' in line:
                return {int(key): numbers for key, numbers in line['history'].items()}
        return None

    def go(self):
        self.process.stdin.write(b'go\n')
        self.process.stdin.flush()

    def kill(self):
        self.killed = True
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        said = self.lines()
        history = [line for line in said if 'history' in line]
        self.said = history + [{word: max((line[word] for line in said if word in line), default=0)} for word in ('try', 'acked')]


class TopicsRun:
    """One seed: a domain that begins with nothing, and is ended as a whole so many times."""

    def __init__(self, options, directory, seed):
        self.options, self.directory, self.seed = options, directory, seed
        self.random = random.Random(seed)
        self.lives, self.problems, self.histories = [], [], 0
        self.kills = {'all': 0, 'one': 0}

    def config_of(self, node):
        path = self.directory / f'{node}.cfg'
        nodes = ', '.join(str(each) for each in range(NODES))
        path.write_text(f'[DERECHO]\nlocal_id = {node}\n[SPINDRIFT]\ngroup_name = topics\nmembers = {nodes}\n'
                        f'runtime_directory = {self.directory}\n[PERS]\nfile_path = {self.directory}/logs\n[LAYOUT]\n'
                        'json_layout = \'[{"name": "dds-endpoints"}, {"name": "kept", "storage": "logged", "topics": ["kept"]}]\'\n')
        return path

    def of_node(self, word, node):
        return max((life.last(word) for life in self.lives if life.node == node), default=0)

    def acked(self):
        return {node: self.of_node('acked', node) for node in range(NODES)}

    def start(self, nodes):
        fresh = []
        for node in nodes:
            fresh.append(Life(self, node))
            self.lives.append(fresh[-1])
        return fresh

    def wait(self, lives, condition, what):
        """False, and a problem, if it does not come; so it ends as soon as somebody ends who was not killed."""
        deadline = time.monotonic() + self.options.patience
        while not condition():
            ended = [life for life in self.lives if life.process.poll() is not None and not life.killed]
            if ended or time.monotonic() > deadline:
                words = ''.join(f'; node {life.node} ended: {life.log.read_text()[-500:]}' for life in ended)
                self.problems.append(f'still waiting for {what} of nodes {[life.node for life in lives]}{words}')
                return False
            time.sleep(0.01)
        return True

    def judge(self, life, alone):
        """The history has of each key its last samples without a gap, up to one that was tried, and all that was acknowledged.

        alone: nobody wrote meanwhile, so that nothing follows the history.
        """
        self.histories += 1
        history = life.history()
        for key in range(NODES * KEYS_OF_EACH):
            writer, place = divmod(key, KEYS_OF_EACH)
            numbers = history.get(key, [])
            # Numbers of a key are those below one another by its writer's keys; the first is the place, or behind it.
            first = place or KEYS_OF_EACH
            acked = life.acked_before[writer]
            last_acked = acked - (acked - first) % KEYS_OF_EACH if acked >= first else 0
            last = numbers[-1] if numbers else 0
            written = (last - first) // KEYS_OF_EACH + 1 if last else 0
            count = min(self.options.depth, written)
            if not alone:
                count = max(count, len(numbers))
            right = [last - KEYS_OF_EACH * behind for behind in range(count)][::-1]
            if numbers != right or last < last_acked or last > self.of_node('try', writer):
                self.problems.append(f'node {life.node} was given {numbers} of key {key}: {last_acked} was acknowledged when it '
                                     f'started, {self.of_node("try", writer)} was the last that was tried')

    def begin(self):
        """All start, are given one history, and go on."""
        fresh = self.start(self.random.sample(range(NODES), NODES))
        if not self.wait(fresh, lambda: all(life.history() is not None for life in fresh), 'histories'):
            return None
        for life in fresh:
            self.judge(life, alone=True)
        if any(life.history() != fresh[0].history() for life in fresh):
            self.problems.append(f'histories differ: {[life.history() for life in fresh]}')
        for life in fresh:
            life.go()
        return fresh

    def kill_one(self, lives):
        victim = self.random.choice(lives)
        victim.kill()
        self.kills['one'] += 1
        again = self.start([victim.node])[0]
        if not self.wait([again], lambda: again.history() is not None, 'a history'):
            return False
        self.judge(again, alone=False)
        again.go()
        lives[lives.index(victim)] = again
        acked = self.acked()
        return self.wait(lives, lambda: all(number > acked[node] for node, number in self.acked().items()), 'acknowledgments')

    def kill_all(self, lives):
        for life in self.random.sample(lives, len(lives)):
            life.kill()
            if self.random.random() < 0.5:
                time.sleep(self.random.random() * 0.02)
        self.kills['all'] += 1

    def play(self):
        for _ in range(self.options.cycles):
            lives = self.begin()
            if lives is None:
                return
            time.sleep(self.random.random() * self.options.longest)
            while self.random.random() < 0.3:
                if not self.kill_one(lives):
                    return
            self.kill_all(lives)
            if self.problems:
                return
        self.begin()

    def execute(self):
        try:
            self.play()
        finally:
            for life in self.lives:
                if life.process.poll() is None:
                    life.kill()

    def counts(self):
        return {'killed_all': self.kills['all'], 'killed_one': self.kills['one'], 'histories': self.histories,
                'acknowledged': sum(self.acked().values())}
