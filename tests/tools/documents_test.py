#!/usr/bin/env python3
"""documents_test.py BUILD TREE [--hosts]: does what README, tutorial and the page on programming tell a reader to do, each in a
directory of its own, with an installation of its own. A fence `ini file=NAME` is written to that file; `sh run` is run; `text expect` names lines that the block
before must have printed; with --hosts also `sh run=hosts`, which makes network namespaces: 77 (skipped) where that is not allowed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 100  # seconds that no page may take
FENCE = re.compile(r'^```(\S+)([^\n]*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
# Namespaces that are made in it are seen by nobody else, and end with it.
PRIVATE = ['unshare', '--user', '--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
OPENING = 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && mount -t sysfs none /sys\n'


def script_of(page, hosts):
    """The page as one script, and what each block must print: [(marker, lines)]."""
    script, expected, blocks, ran = 'set -euo pipefail\n', [], 0, False
    for language, info, body in FENCE.findall(page.read_text()):
        info = info.strip()
        if info.startswith('file='):
            script += f"cat >{info[5:]} <<'END-OF-FILE'\n{body}END-OF-FILE\n"
        elif info in ('run', 'run=hosts'):
            ran = hosts or info == 'run'
            if ran:
                blocks += 1
                script += f'echo "=== block {blocks}"\n{body}'
        elif info == 'expect':
            if ran:
                expected.append((blocks, body.splitlines()))
        elif info:
            raise AssertionError(f'{page}: a fence of {language} says {info!r}, which means nothing')
    assert blocks, f'{page} has nothing to run'
    return script + 'echo "=== end"\n', expected


def dead_links(prefix):
    """Links of installed pages that lead to no installed file, and directories without one."""
    root = next(prefix.rglob('ARCHITECTURE.md')).parent
    dead = [f'{page.relative_to(root)}: {target}' for page in sorted(root.rglob('*.md'))
            for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', page.read_text())
            if '://' not in target and not (page.parent / target).exists()]
    return dead + [f'{path} is empty' for path in root.rglob('*') if path.is_dir() and not any(path.iterdir())]


def play(page, prefix, hosts):
    """Runs the page; its output."""
    with tempfile.TemporaryDirectory(prefix='spindrift-documents-') as directory:
        script, expected = script_of(page, hosts)
        pathlib.Path(directory, '.script').write_text((OPENING if hosts else '') + script)
        environment = dict(os.environ, PATH=f'{prefix}/bin:{os.environ["PATH"]}', SPINDRIFT_RUNTIME_DIRECTORY=f'{directory}/run',
                           HOME=directory,
                           PKG_CONFIG_PATH=str(next(prefix.rglob('spindrift.pc')).parent))
        command = ['timeout', '--kill-after=5', str(LIMIT), *(PRIVATE if hosts else []), 'bash', '.script']
        said = subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        print(f'--- {page.name}\n{said.stdout}')
        assert said.returncode == 0, f'{page.name} ended with {said.returncode}'
        printed = dict(re.findall(r'^=== block (\d+)\n(.*?)(?=^=== )', said.stdout, re.MULTILINE | re.DOTALL))
        for block, lines in expected:
            for line in lines:
                assert line in printed[str(block)], f'{page.name}, block {block} does not print: {line}'


def main():
    build, tree, hosts = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), '--hosts' in sys.argv
    if hosts:
        allowed = subprocess.run([*PRIVATE, 'bash', '-c', OPENING + 'ip netns add one'], capture_output=True, text=True, check=False)
        if allowed.returncode != 0:
            print(f"skipped: the tutorial's two hosts: no network namespace can be made here: {allowed.stderr.strip()}")
            return 77
    with tempfile.TemporaryDirectory(prefix='spindrift-prefix-') as prefix:
        subprocess.run(['cmake', '--install', build, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        assert not dead_links(pathlib.Path(prefix)), dead_links(pathlib.Path(prefix))
        for page in (['docs/tutorial.md'] if hosts else ['README.md', 'docs/tutorial.md', 'docs/programming.md']):
            play(tree / page, pathlib.Path(prefix), hosts)
    return 0


if __name__ == '__main__':
    sys.exit(main())
