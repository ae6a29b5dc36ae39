#!/usr/bin/env python3
"""mutate_test.py MUTATE CXX SCRATCH: tools/mutate kills the one of two planted mutants that unit tests notice, reports the other,
judges whole runs by what is wanted of each room, and refuses a tree that fails by itself."""
import json
import pathlib
import shutil
import subprocess
import sys

FILES = {
    'CMakeLists.txt': '''cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
add_executable(test_core core/add.cpp tests/core/add_test.cpp)
set_target_properties(test_core PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/core)
''',
    'core/add.cpp': '// Adds.\nint add(int a, int b) { return a + b; }\nint answer() { return 42; }\n',
    # In the manner of Catch2: a choice of tests behind --abort, the failed test's name between lines.
    'tests/core/add_test.cpp': '''#include <cstdio>
#include <string>
int add(int a, int b);
int main(int, char** words) {
  if (std::string(words[2]) == "[slow]") return std::puts("No tests ran"), 2;
  if (add(2, 3) == 5) return 0;
  std::printf("%s\\ntwo and three\\nare five\\n%s\\n", std::string(79, '-').c_str(), std::string(79, '-').c_str());
  return 1;
}
''',
    'tests/mutants/core.txt': '''mutant subtracts
file core/add.cpp
why  a sum is a difference
- a + b
+ a - b

mutant answers-otherwise
file core/add.cpp
why  no test asks
- 42
+ 43
''',
}


def main():
    mutate, compiler, scratch = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    tree, results = scratch / 'planted', scratch / 'results.json'
    shutil.rmtree(tree, ignore_errors=True)
    for name, text in FILES.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(*options):
        return subprocess.run([mutate, '--tree', tree, '--jobs', '1', '--json', results, *options], capture_output=True, text=True,
                              env={'CXX': compiler, 'PATH': '/usr/local/bin:/usr/bin:/bin'}, timeout=240)

    failures = []

    def expect(what, good, done):
        if not good:
            failures.append(f'{what} (exit {done.returncode}): {done.stdout}{done.stderr}')

    whole = run()
    judged = json.loads(results.read_text())['results'] if results.exists() else {}
    killed = judged.get('subtracts') or {}
    expect('the mutant that a test notices', killed.get('test') == 'two and three are five', whole)
    expect('the mutant that no test notices', judged.get('answers-otherwise', {}) is None, whole)
    expect('half of the mutants are too few', whole.returncode == 1 and ' 50.0 ' in whole.stdout, whole)
    expect('the survivor is named', 'survivors: answers-otherwise' in whole.stdout, whole)
    part = run('--only', 'sub*')
    expect('a part of which all are killed is good', part.returncode == 0 and 'answers' not in part.stdout, part)
    (tree / 'core/add.cpp').write_text(FILES['core/add.cpp'].replace('a + b', 'a + b + 1'))
    broken = run('--only', 'answers*')
    expect('a tree that fails by itself judges no mutant', 'before any mutant' in broken.stderr and broken.returncode == 1, broken)
    print('\n'.join(failures) or 'mutate: killed, survived and refused as planted')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
