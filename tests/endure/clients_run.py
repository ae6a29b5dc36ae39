"""tools/endure clients: clients write into an object whose members, and who themselves, are killed, judged by what they were told."""
import os
import random
import signal
import subprocess
import time

NODES = 4
CLIENTS = 2  # at a time


class Life:
    """One life of a process, and the lines that it printed."""

    def __init__(self, run, name, *words):
        self.name, self.ends = name, False  # whether it is told to end
        self.output, self.log = run.directory / f'{name}.out', run.directory / f'{name}.log'
        with open(self.output, 'wb') as out, open(self.log, 'wb') as log:
            self.process = subprocess.Popen([run.options.build / 'tests/endure' / words[0], *words[1:]], stdout=out, stderr=log)
        run.lives.append(self)

    def lines(self):
        return [line.split() for line in self.output.read_text().split('\n')[:-1]]  # a line without its end was cut off by the kill

    def numbers(self, word):
        return [[int(number) for number in line[1:]] for line in self.lines() if line[0] == word]

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def kill(self):
        self.ends = True
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Member(Life):
    def __init__(self, run, node):
        super().__init__(run, f'member.{node}.{len(run.lives)}', 'clients_member', run.config_of(node))
        self.node = node

    def serves(self):
        return ['serves'] in self.lines()

    def view(self):
        """Its members by rank, the leader first."""
        return (self.numbers('view') or [[]])[-1]


class Caller(Life):
    """A client that is given one member's address, which it asks until that is gone."""

    def __init__(self, run, node):
        self.number, self.asks = run.clients, node
        run.clients += 1
        super().__init__(run, f'client.{self.number}', 'clients_caller', 'write', run.address_of(node), str(self.number))

    def answers(self):
        return len(self.numbers('answer'))


class ClientsRun:
    """One seed: a group that begins with nothing, of which somebody is killed in each round."""

    def __init__(self, options, directory, seed):
        self.options, self.directory, self.seed = options, directory, seed
        self.random = random.Random(seed)
        self.logged = seed % 2 == 0
        self.lives, self.problems, self.clients, self.answered = [], [], 0, 0
        self.kinds = [self.member_asked, self.leader, self.client, self.client_and_member, self.stopped_member]
        if self.logged:
            self.kinds.append(self.all_members)
        self.kills = {kind.__name__: 0 for kind in (*self.kinds, self.all_members)}
        self.net = f'127.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250}.'
        self.members = {}

    def counts(self):
        return {**self.kills, 'kills': sum(self.kills.values()), 'clients': self.clients, 'answered': self.answered}

    # ---- what there is

    def config_of(self, node):
        path = self.directory / f'{node}.cfg'
        nodes = ', '.join(str(each) for each in range(NODES))
        storage = ', "storage": "logged"' if self.logged else ''
        path.write_text(f'[DERECHO]\nlocal_id = {node}\n[SPINDRIFT]\ngroup_name = clients\nmembers = {nodes}\nfounders = {nodes}\n'
                        f'fabric = tcp\naddresses = {self.net}<id>:7411\nsecurity = none\nclient_port = 7600\njoin_timeout_ms = 120000\n'
                        f'runtime_directory = {self.directory}/{node}.run\n[PERS]\nfile_path = {self.directory}/logs\n'
                        f'[LAYOUT]\njson_layout = \'[{{"name": "book"{storage}}}]\'\n')
        return path

    def address_of(self, node):
        return f'{self.net}{node}:7600'

    def wait(self, condition, what):
        """Raises if it does not come; so it does as soon as somebody ends who was not told to."""
        deadline = time.monotonic() + self.options.patience
        while not condition():
            ended = [life for life in self.lives if life.process.poll() is not None and not life.ends]
            if ended or time.monotonic() > deadline:
                words = ''.join(f'; {life.name} ended: {life.log.read_text()[-500:]}' for life in ended)
                raise RuntimeError(f'still waiting for {what}{words}')
            time.sleep(0.005)  # nobody tells when a line is written

    def start(self, nodes):
        fresh = [Member(self, node) for node in nodes]
        self.members.update({each.node: each for each in fresh})
        self.wait(lambda: all(each.serves() for each in fresh), f'nodes {list(nodes)} to let clients in')

    # ---- who is killed; each returns the nodes that are gone

    def member_asked(self, callers):
        self.members[callers[0].asks].kill()
        return [callers[0].asks]

    def leader(self, _):
        leader = self.members[0].view()[0]
        self.members[leader].kill()
        return [leader]

    def client(self, callers):
        callers[0].kill()
        return []

    def client_and_member(self, callers):
        both = [callers[0], self.members[callers[0].asks]]
        for life in self.random.sample(both, 2):
            life.kill()
        return [callers[0].asks]

    def stopped_member(self, callers):
        victim = self.members[callers[0].asks]
        victim.stop()
        self.progress(callers)
        victim.kill()
        return [victim.node]

    def all_members(self, _):
        for life in self.random.sample(list(self.members.values()), NODES):
            life.kill()
            if self.random.random() < 0.5:
                time.sleep(self.random.random() * 0.02)
        return list(self.members)

    # ---- what is done, and what is judged

    def progress(self, callers):
        """Until each client that is left has had answers to more than was under way."""
        living = [each for each in callers if not each.ends]
        before = {each: each.answers() for each in living}
        self.wait(lambda: all(each.answers() > before[each] + 32 for each in living), 'answers of clients')

    def round(self):
        callers = [Caller(self, self.random.choice(list(self.members))) for _ in range(CLIENTS)]
        enough = self.random.randint(1, self.options.most)
        # A client that has answers knows the other members, too.
        self.wait(lambda: all(each.answers() >= enough for each in callers), 'answers of clients')
        kind = self.random.choice(self.kinds)
        gone = kind(callers)
        self.kills[kind.__name__] += 1
        if len(gone) == NODES:
            self.start(gone)
            gone = []
        self.progress(callers)
        self.start(gone)
        for each in callers:
            if not each.ends:
                each.ends = True
                each.process.send_signal(signal.SIGTERM)
        for each in callers:
            self.end(each)

    def end(self, caller):
        code = caller.process.wait(timeout=self.options.patience)
        if code not in (0, -signal.SIGKILL):
            raise RuntimeError(f'{caller.name} ended with {code}: {caller.log.read_text()[-500:]}')

    def book_of(self, node):
        command = [self.options.build / 'tests/endure/clients_caller', 'read', self.address_of(node)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=self.options.patience, check=True)
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    def judge(self):
        book = self.book_of(0)
        for node in range(1, NODES):
            if self.book_of(node) != book:
                self.problems.append(f'nodes 0 and {node} have different books')
        if len(set(book)) != len(book):
            self.problems.append(f'{len(book) - len(set(book))} numbers were entered twice')
        for caller in (life for life in self.lives if isinstance(life, Caller)):
            tried = max((number for number, in caller.numbers('try')), default=0)
            answers = caller.numbers('answer')
            self.answered += len(answers)
            wrong = [(number, place) for number, place in answers if book[place:place + 1] != [(caller.number, number)]]
            if wrong:
                self.problems.append(f'{caller.name} was told of {len(wrong)} numbers that are not there, the first {wrong[0]}')
            if any(number > tried for client, number in book if client == caller.number):
                self.problems.append(f'{caller.name} tried {tried} numbers, and more are there')
            if caller.process.returncode == 0 and len(answers) != tried:
                self.problems.append(f'{caller.name} ended with {len(answers)} of {tried} answers')

    def execute(self):
        try:
            self.start(range(NODES))
            for _ in range(self.options.rounds):
                self.round()
            self.judge()
        except (RuntimeError, subprocess.SubprocessError) as failure:
            self.problems.append(str(failure))
        finally:
            for life in self.lives:
                if life.process.poll() is None:
                    life.kill()
