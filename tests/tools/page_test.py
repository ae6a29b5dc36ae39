#!/usr/bin/env python3
"""page_test.py PAGE PROGRAM: does what a page of an example tells a reader to do, in a copy of the example's directory, with the
program that was built in the tree. Fences are those of documents_test.py."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import documents_test


def main():
    page, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    script, expected = documents_test.script_of(page, False)
    with tempfile.TemporaryDirectory(prefix='spindrift-page-') as directory:
        copy = shutil.copytree(page.parent, pathlib.Path(directory, page.parent.name))
        environment = dict(os.environ, PATH=f'{program.parent}:{os.environ["PATH"]}', SPINDRIFT_RUNTIME_DIRECTORY=f'{directory}/run')
        shell = subprocess.Popen(['bash', '-c', script], cwd=copy, env=environment, text=True, start_new_session=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said = shell.communicate(timeout=documents_test.LIMIT)[0]
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # whatever the page has left
            except ProcessLookupError:
                pass
    print(said)
    assert shell.returncode == 0, f'{page} ended with {shell.returncode}'
    printed = dict(re.findall(r'^=== block (\d+)\n(.*?)(?=^=== )', said, re.MULTILINE | re.DOTALL))
    for block, lines in expected:
        for line in lines:
            assert line in printed[str(block)].splitlines(), f'block {block} of {page} does not print: {line}'


if __name__ == '__main__':
    main()
