#!/usr/bin/env python3
"""skip_test.py PLANTED TEST SCRATCH: a test that skips itself ends as skipped unless it fails, and tools/test counts and names
what is skipped: tests, parts of steps and whole steps."""
import pathlib
import shutil
import subprocess
import sys

# A tree in which the step release has a test that passes and one that is skipped, and no emulated machine comes up.
FILES = {
    'CMakeLists.txt': '''cmake_minimum_required(VERSION 3.25)
project(planted NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME lacking COMMAND sh -c "echo 'skipped: lacking: no device'; exit 77")
set_tests_properties(lacking PROPERTIES SKIP_RETURN_CODE 77)
add_custom_target(fabric_test)
add_custom_target(fabric_peer)
''',
    'CMakePresets.json': '''{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}],
"buildPresets": [{"name": "release", "configurePreset": "release"}],
"testPresets": [{"name": "release", "configurePreset": "release"}]}''',
    'tools/setup': '#!/bin/sh\n',
    'tools/chaos': '#!/bin/sh\n',
    'tools/package': '#!/bin/sh\n',
    'tests/house/subproject.sh': '#!/bin/sh\n',
    'tests/package/run': '#!/bin/sh\necho "skipped: packages in a clean root: no debootstrap"\nexit 77\n',
    'bin/lintian': '#!/bin/sh\n',
    'tests/vm/run': '#!/bin/sh\nexit 125\n',
    'bin/ip': '#!/bin/sh\nexit 1\n',
}


def main():
    planted, tool, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    tree = scratch / 'skipping'
    shutil.rmtree(tree, ignore_errors=True)
    for name, text in FILES.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    shutil.copy(tool, tree / 'tools/test')
    failures = []

    def expect(what, status, words, command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=100,
                              env={'PATH': f'{tree}/bin:/usr/local/bin:/usr/bin:/bin'})
        missing = [word for word in words if word not in done.stdout]
        if done.returncode != status or missing:
            failures.append(f'{what}: exit {done.returncode}, without {missing}:\n{done.stdout}{done.stderr}')

    expect('a test that skips itself', 77, ['skipped: is skipped: planted'], [planted, 'is skipped'])
    expect('one that passes beside it', 0, ['1 of 2 test cases skipped'], [planted, 'is skipped,passes'])
    expect('one that also fails', 1, ['assertions: 1'], [planted, 'is skipped once and fails once'])
    expect('a name that no test has', 2, ['No tests ran'], [planted, 'there is none'])
    expect('as many failures as mean skipped', 1, ['77 failed'], [planted, 'fails as often as means skipped'])
    test = tree / 'tools/test'
    expect('a skipped test', 0, ['skipped: lacking: no device', '\n1 passed, 0 failed, 1 skipped\n'], [test, '--only', 'release'])
    expect('a skipped step', 0, ['guest', 'skipped (', '\n0 passed, 0 failed, 1 skipped\n'], [test, '--only', 'guest'])
    expect('a skipped part of a step', 0, ['skipped: ', '\n1 passed, 0 failed, 1 skipped\n'], [test, '--only', 'chaos'])
    expect('a fresh root that cannot be made', 0, ['no debootstrap', '\n1 passed, 0 failed, 1 skipped\n'], [test, '--only', 'package'])
    (tree / 'tools/setup').write_text('#!/bin/sh\n[ "$1" != --package ]\n')
    expect('a step that cannot be set up', 0, ['cannot install it', '\n0 passed, 0 failed, 1 skipped\n'], [test, '--only', 'package'])
    expect('all of it', 0, ['\n2 passed, 0 failed, 3 skipped\n'],
           [test, *(word for step in ('release', 'guest', 'chaos') for word in ('--only', step))])
    print('\n'.join(failures) or 'skip: what is skipped is counted and named')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
