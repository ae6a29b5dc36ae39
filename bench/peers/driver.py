"""What the programs that drive peers have in common: what is missing, where it comes from, and runs inside of a cage."""
import json
import os
import pathlib
import shutil
import subprocess

import cage

TREE = pathlib.Path(__file__).resolve().parent.parent.parent


def missing_of(peer, programs):
    """What this peer lacks, in words; empty: nothing. A peer has `needs`, programs that must be there, and `built`, one of ours."""
    lacks = [f'no program {name}' for name in peer.needs if not shutil.which(name)]
    if peer.built and not (programs / peer.built).exists():
        lacks.append(f'{peer.built} was not built: its library was not there, or the target peers was not built')
    return '; '.join(lacks)


def version_of(peer):
    """Of the first package, as Debian tells it."""
    done = subprocess.run(['dpkg-query', '-W', '-f', '${Version}', *peer.packages[:1]], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() or 'unknown'


def install(peers):
    packages = sorted({package for peer in peers for package in peer.packages})
    command = ['apt-get', 'install', '-y', '--no-install-recommends', *packages]
    environment = dict(os.environ, DEBIAN_FRONTEND='noninteractive')
    if subprocess.run(command, env=environment).returncode != 0:
        subprocess.run(['apt-get', 'update'], check=True)
        subprocess.run(command, check=True, env=environment)
    print('installed; now build what drives it: cmake --preset release && cmake --build --preset release --target peers')


def short(value):
    for scale, suffix in ((1e6, ' M'), (1e3, ' k')):
        if value >= scale:
            return f'{value / scale:.3g}{suffix}'
    return f'{value:.3g}'


def provenance_of(programs):
    done = subprocess.run([programs / 'peer_spindrift', '--provenance'], check=True, stdout=subprocess.PIPE, text=True)
    line = json.loads(done.stdout)
    return {key: line[key] for key in ('machine', 'release', 'commit')}


def run_cage(program, plan):
    """What the program tells inside of the cage, line by line as it comes."""
    process = cage.enter([str(program), '--inside', json.dumps(plan)])
    try:
        for text in process.stdout:
            yield json.loads(text)
        if process.wait() != 0:
            raise SystemExit(f'{program}: the runs ended early')
    finally:
        process.kill()  # and everything in there with it
        process.wait()


def write_lines(lines, to):
    """As --json says."""
    text = ''.join(json.dumps(line, ensure_ascii=False) + '\n' for line in lines)
    if to == '-':
        print(text, end='')
    elif to:
        pathlib.Path(to).write_text(text)
