#!/usr/bin/env python3
"""cli_page_test.py SPINDRIFT PAGE MANUAL: docs/cli.md has every command, its options and no others, and the table of exit codes; the
manual page has every option. Commands and options are those of the command's own help; of bench only that it is there."""
import pathlib
import re
import subprocess
import sys

SPINDRIFT = sys.argv[1]
OPTION = re.compile(r'--[a-z][a-z-]*')


def help_of(*words):
    return subprocess.run([SPINDRIFT, *words, '--help'], capture_output=True, text=True, check=True).stdout


def listed(text, title):
    """First words of the lines under `title:`."""
    part = re.search(rf'^{title}:\n((?: +.*\n)+)', text, re.MULTILINE)
    return [match for match in re.findall(r'^  (\S+)', part.group(1), re.MULTILINE)] if part else []


def options_of(*words):
    """Options of a command and of those below it."""
    text = help_of(*words)
    own = {option for first in listed(text, 'Options') for option in OPTION.findall(first)} - {'--help'}
    return own.union(*(options_of(*words, below) for below in listed(text, 'Subcommands')))


def leaves(*words):
    below = listed(help_of(*words), 'Subcommands')
    return [leaf for one in below for leaf in leaves(*words, one)] or [' '.join(words)]


def exit_codes(text):
    part = text[text.index('Exit codes:'):]
    return re.findall(r'^  (\d+) +(.+)$', part, re.MULTILINE)


def main():
    page, manual = (pathlib.Path(path).read_text() for path in sys.argv[2:4])
    sections = dict(re.findall(r'^## spindrift (\S+)\n(.*?)(?=^## |\Z)', page, re.MULTILINE | re.DOTALL))
    wrong = []
    commands = listed(help_of(), 'Subcommands')
    assert len(commands) >= 9, commands
    if set(commands) != set(sections):
        wrong.append(f'commands and sections differ: {sorted(set(commands) ^ set(sections))}')
    for command in set(commands) & set(sections) - {'bench'}:
        options, told = options_of(command), set(OPTION.findall(sections[command]))
        wrong += [f'spindrift {command} takes {option}, of which its section says nothing' for option in options - told]
        wrong += [f'the section of spindrift {command} says {option}, which it does not take' for option in told - options]
        wrong += [f'nothing about {leaf}' for leaf in leaves(command) if f'spindrift {leaf}' not in sections[command]]
        wrong += [f'the manual page lacks {option} of {command}' for option in options if f'Fl -{option[2:]}' not in manual]
    wrong += [f'the page has no row: | {code} | {meaning} |' for code, meaning in exit_codes(help_of())
              if f'| {code} | {meaning} |' not in page]
    print('\n'.join(wrong) or f'{len(commands)} commands are told as they are')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
