"""Where peers run: namespaces of their own for mounts, network, processes and IPC, which go with all that is in them when the
driver ends, however it ends. Nothing in here is seen from outside, nor outside from here but the programs to run."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

PROGRAMS = pathlib.Path('/run/programs')
PLACE = pathlib.Path('/tmp/place')  # sockets and configurations of peers
DISK = pathlib.Path('/run/disk')  # a directory of the disk outside, for what has to be durable
NODES = 3
PATIENCE = 30.0  # seconds for a server to be ready; a run has a limit of its own


def enter(arguments):
    """Starts this program anew inside of the cage; the process returned dies with this one, and all in the cage with it."""
    libc = ctypes.CDLL(None)
    kill_with_parent = 1  # PR_SET_PDEATHSIG
    user = [] if os.getuid() == 0 else ['--user', '--map-root-user']
    return subprocess.Popen(
        ['unshare', *user, '--mount', '--net', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc', sys.executable, *arguments],
        preexec_fn=lambda: libc.prctl(kill_with_parent, signal.SIGKILL), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def command(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def furnish(programs, disk=None):
    """Memory in place of whatever a peer may write to, and the bench's programs beneath it. `disk`: a directory that stays what
    it is, at DISK."""
    command('mount', '-t', 'tmpfs', 'tmpfs', '/run')
    PROGRAMS.mkdir()
    # Before /tmp goes out of sight, for they may lie there.
    command('mount', '--bind', programs, PROGRAMS)
    if disk:
        DISK.mkdir()
        command('mount', '--bind', disk, DISK)
    for directory in ('/dev/shm', '/tmp', '/var/lib/corosync', '/var/log/corosync'):
        if os.path.isdir(directory):
            command('mount', '-t', 'tmpfs', 'tmpfs', directory)
    PLACE.mkdir()
    os.chdir(PLACE)
    command('ip', 'link', 'set', 'lo', 'up', 'multicast', 'on')
    command('ip', 'route', 'add', '224.0.0.0/4', 'dev', 'lo')


class Server:
    """A process that is there while a run lasts, ready when its output says so."""

    def __init__(self, words, ready):
        self.lines = []
        self.ready = threading.Event()
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors='replace')
        self.reader = threading.Thread(target=self.read, args=(re.compile(ready),))
        self.reader.start()

    def read(self, ready):
        for line in self.process.stdout:
            self.lines = (self.lines + [line.rstrip()])[-20:]
            if ready.search(line):
                self.ready.set()

    def await_ready(self):
        if not self.ready.wait(PATIENCE):
            raise RuntimeError(f'{self.process.args[0]} was not ready; its last words:\n' + '\n'.join(self.lines))

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()


@contextlib.contextmanager
def servers(starting):
    """`starting`: (command, what it says when it is ready) of each. All are ready inside, and gone after."""
    running = []
    try:
        for words, ready in starting:
            running.append(Server(words, ready))
        for server in running:
            server.await_ready()
        yield
    finally:
        for server in reversed(running):
            server.end()


@contextlib.contextmanager
def network(name):
    """Three network namespaces, NAME0 … NAME2, at 10.77.0.1 … 3 on one bridge."""
    made = []
    try:
        command('ip', 'link', 'add', 'bridge', 'type', 'bridge')
        command('ip', 'link', 'set', 'bridge', 'up')
        for node in range(NODES):
            space = f'{name}{node}'
            command('ip', 'netns', 'add', space)
            command('ip', 'link', 'add', f'port{node}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
            made.append(space)
            command('ip', 'link', 'set', f'port{node}', 'master', 'bridge', 'up')
            for words in (('link', 'set', 'lo', 'up'), ('link', 'set', 'eth0', 'up'),
                          ('addr', 'add', f'10.77.0.{node + 1}/24', 'dev', 'eth0')):
                command('ip', '-n', space, *words)
        yield
    finally:
        # The namespaces go when their last process has gone; their links must not wait for that.
        for node, space in enumerate(made):
            command('ip', 'link', 'delete', f'port{node}')
            command('ip', 'netns', 'delete', space)
        command('ip', 'link', 'delete', 'bridge')


def corosync_configuration(node, transport, sealed=False):
    nodes = ''.join(f'  node {{\n    nodeid: {other + 1}\n    name: node{other + 1}\n    ring0_addr: 10.77.0.{other + 1}\n  }}\n'
                    for other in range(NODES))
    cipher, digest = ('aes256', 'sha256') if sealed else ('none', 'none')
    return (f'totem {{\n  version: 2\n  cluster_name: bench\n  transport: {transport}\n  secauth: off\n'
            + (f'  crypto_cipher: {cipher}\n  crypto_hash: {digest}\n' if transport == 'knet' else '')
            + (f'  keyfile: {PLACE}/authkey\n' if sealed else '')
            + f'}}\nnodelist {{\n{nodes}}}\n'
            'logging {\n  to_stderr: yes\n  to_syslog: no\n  to_logfile: no\n}\n'
            'quorum {\n  provider: corosync_votequorum\n}\n')


@contextlib.contextmanager
def corosync(transport, sealed):
    if sealed:
        command('corosync-keygen', '-l', '-k', PLACE / 'authkey')
    starting = []
    for node in range(NODES):
        path = PLACE / f'corosync{node}.conf'
        path.write_text(corosync_configuration(node, transport, sealed))
        # Every daemon locks a file in /run; each has a /run of its own.
        starting.append((['ip', 'netns', 'exec', f'corosync{node}', 'sh', '-c',
                          f'mount -t tmpfs tmpfs /run && exec corosync -f -c {path}'], r'Members\[3\]'))
    with network('corosync'), servers(starting):
        yield 'corosync'


def make_certificates():
    """An authority, and one certificate of it that servers show to each other and to clients."""
    new = ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
    silent = {'check': True, 'cwd': PLACE, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    subprocess.run([*new, '-keyout', 'authority.key', '-out', 'authority.crt', '-subj', '/CN=authority'], **silent)
    subprocess.run([*new, '-CA', 'authority.crt', '-CAkey', 'authority.key', '-keyout', 'server.key', '-out', 'server.crt',
                    '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'], **silent)


def nats_configuration(node, sealed=False, store=PLACE):
    port, routes = 14222, 16222
    others = ', '.join(f'nats://127.0.0.1:{routes + other}' for other in range(NODES) if other != node)
    files = f'cert_file: {PLACE}/server.crt, key_file: {PLACE}/server.key, ca_file: {PLACE}/authority.crt'
    return (f'listen: 127.0.0.1:{port + node}\nserver_name: node{node}\n'
            f'jetstream {{ store_dir: {store}/nats{node}, max_mem: 4G }}\n'
            + (f'tls {{ {files} }}\n' if sealed else '')
            + f'cluster {{ name: bench, listen: 127.0.0.1:{routes + node}, routes: [{others}]'
            + (f', tls {{ {files}, verify: true }}' if sealed else '') + ' }\n')


@contextlib.contextmanager
def nats(sealed, store=PLACE):
    if sealed:
        make_certificates()
    starting = []
    for node in range(NODES):
        path = PLACE / f'nats{node}.conf'
        path.write_text(nats_configuration(node, sealed, store))
        starting.append((['nats-server', '-c', path], r'new (JetStream cluster )?metadata leader'))
    with servers(starting):
        yield '14222' + (':' + str(PLACE / 'authority.crt') if sealed else '')


@contextlib.contextmanager
def etcd(store):
    """Three members with their own defaults, each in a directory of its own. Clients call 12379 and the ports behind it."""
    clients, peers = 12379, 13379
    everybody = ','.join(f'node{node}=http://127.0.0.1:{peers + node}' for node in range(NODES))
    starting = []
    for node in range(NODES):
        own, other = f'http://127.0.0.1:{clients + node}', f'http://127.0.0.1:{peers + node}'
        starting.append((['etcd', '--name', f'node{node}', '--data-dir', store / f'etcd{node}', '--initial-cluster', everybody,
                          '--initial-cluster-state', 'new', '--listen-client-urls', own, '--advertise-client-urls', own,
                          '--listen-peer-urls', other, '--initial-advertise-peer-urls', other],
                         r'ready to serve (insecure )?client requests'))
    with servers(starting):
        yield str(clients)


@contextlib.contextmanager
def redis(store):
    """A master and two replicas, all of which sync their file of commands before they answer. That file is never written anew
    meanwhile, which would take time from the master."""
    port = 16379
    starting = []
    for node in range(NODES):
        directory = store / f'redis{node}'
        directory.mkdir()
        replica = ['--replicaof', '127.0.0.1', port] if node > 0 else []
        starting.append((['redis-server', '--port', port + node, '--bind', '127.0.0.1', '--dir', directory, '--appendonly', 'yes',
                          '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0', '--save', '', '--daemonize', 'no',
                          '--repl-diskless-sync-delay', '0', '--shutdown-timeout', '0', *replica],
                         r'sync: Finished with success' if replica else r'Ready to accept connections'))
    with servers(starting):
        yield str(port)


@contextlib.contextmanager
def between_hosts(namespaces):
    """Spindrift with keys over tcp: in namespaces like those of Corosync's nodes, or over loopback."""
    if not namespaces:
        yield 'tcp'
        return
    with network('spindrift'):
        yield 'tcp:spindrift'


@contextlib.contextmanager
def iceoryx():
    with servers([(['iox-roudi'], 'RouDi is ready')]):
        yield ''


@contextlib.contextmanager
def nothing():
    yield str(PLACE)


@contextlib.contextmanager
def on_disk(store):
    yield str(store)


def run_program(name, place, members, senders, size, seconds):
    """One run of peer_NAME: messages per second."""
    done = subprocess.run([PROGRAMS / f'peer_{name}', '--members', str(members), '--senders', str(senders), '--size', str(size),
                           '--watch', str(seconds), '--place', place],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f'peer_{name}: {done.stderr.strip()}')
    result = json.loads(done.stdout)
    if result['lost'] or result['repeated']:
        raise RuntimeError(f'peer_{name}: {result["lost"]} messages were lost, {result["repeated"]} came twice')
    return result['messages_per_second']


TOTAL = re.compile(r'^\[\d+\] (\d+\.\d+)  size \d+ total (\d+) lost (\d+) ')


def ddsperf_rate(text):
    """Messages per second of one `ddsperf sub`, from its first second to its last."""
    samples = [(float(found[1]), int(found[2]), int(found[3])) for found in map(TOTAL.match, text.splitlines()) if found]
    if len(samples) < 2:
        raise RuntimeError('ddsperf received nothing to speak of:\n' + text)
    if any(lost for _, _, lost in samples):
        raise RuntimeError('ddsperf lost messages')
    (start, before, _), (end, after, _) = samples[0], samples[-1]
    return (after - before) / (end - start)


def run_ddsperf(members, size, seconds):
    """One publisher, the others subscribe; the first second is the warm-up."""
    duration = str(int(seconds + 0.5) + 2)
    options = {'stdin': subprocess.DEVNULL, 'stderr': subprocess.STDOUT, 'text': True}
    subscribers = [subprocess.Popen(['ddsperf', '-D', duration, 'sub'], stdout=subprocess.PIPE, **options)
                   for _ in range(members - 1)]
    publisher = subprocess.Popen(['ddsperf', '-D', duration, 'pub', 'size', str(size)], stdout=subprocess.DEVNULL, **options)
    try:
        rates = [ddsperf_rate(subscriber.communicate(timeout=60)[0]) for subscriber in subscribers]
        publisher.wait(60)
    finally:
        for process in [*subscribers, publisher]:
            if process.poll() is None:
                process.kill()
    return min(rates)
