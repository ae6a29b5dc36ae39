#!/usr/bin/env python3
"""shape.py TREE: measures the product's shape, prints it as a table, and exits 1 if a limit is broken that tests/house/shape.txt
does not list. Classes have at most 16 fields and 40 functions, functions at most 40 lines, and no two types share a name, but for
those of the namespace dds, which OMG's API names.

TREE is a folder, or a commit of the repository around this file. --table prints the table alone, --list what breaks a limit, in the
form of shape.txt. Needs universal-ctags.
"""
import argparse
import collections
import io
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOMS = ("core", "fabric", "kernel", "sst", "smc", "store", "rpc", "views", "group", "dds", "tools", "bench")
FIELDS_MAX, FUNCTIONS_MAX, LINES_MAX = 16, 40, 40
# A comment, or what may contain what looks like one.
LEXEMES = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def sources(tree):
    """Every C++ and C file of the product, with its room: of an older tree's core/fabric, fabric."""
    for room in ROOMS:
        for path in sorted((tree / room).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".c") and "build" not in path.relative_to(tree).parts:
                yield "fabric" if path.is_relative_to(tree / "core/fabric") else room, path


def code_lines(text):
    """How many lines are neither blank nor comment."""
    def shorten(match):
        lexeme = match[0]
        return "\n" * lexeme.count("\n") if lexeme.startswith(("//", "/*")) else lexeme
    return sum(1 for line in LEXEMES.sub(shorten, text).splitlines() if line.strip())


def tags(tree, paths):
    """What ctags finds: types, their members and functions, with the lines that they take."""
    names = "\n".join(str(path.relative_to(tree)) for path in paths)
    done = subprocess.run(["ctags", "--quiet", "--options=NONE", "--output-format=json", "--fields=+neKs", "--fields-C++=+{properties}",
                           "--kinds-C=fgmpsu", "--kinds-C++=cfgmpsu", "--langmap=C++:+.h", "-L", "-", "-o", "-"],
                          cwd=tree, input=names, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_type(tag):
    return tag["kind"] in ("class", "struct", "union", "enum") and not tag["name"].startswith("__anon")


def name_of(scope):
    """A scope as people write it."""
    return re.sub(r"__anon\w+", "(anonymous)", scope).split("spindrift::")[-1]


def of_templates(tag):
    """A specialization of somebody else's template is no type of ours."""
    return tag.get("scope", "") in ("std", "fmt") or "<" in tag["name"]


def defines(tag, rows):
    """Whether its line names the type behind the keyword: of `struct stat status{}`, ctags makes a type too."""
    attributes = r"(?:\[\[.*?\]\]\s*|alignas\(.*?\)\s*)*"
    return re.search(rf"\b(?:class|struct|union|enum)\s+{attributes}(?:\w+::)*{tag['name']}\b", rows[tag["path"]][tag["line"] - 1])


class Shape:
    def __init__(self, tree):
        files = list(sources(tree))
        texts = {str(path.relative_to(tree)): path.read_text() for _, path in files}
        self.lines = collections.Counter()
        for room, path in files:
            self.lines[room] += code_lines(texts[str(path.relative_to(tree))])
        found = tags(tree, [path for _, path in files])
        rows = {name: text.splitlines() for name, text in texts.items()}
        self.measure_types(found, rows)
        self.functions = {}
        for tag in found:
            if tag["kind"] == "function" and (length := tag.get("end", tag["line"]) - tag["line"] + 1) > LINES_MAX:
                self.functions[f"{tag['path']} {name_of('::'.join(filter(None, (tag.get('scope'), tag['name']))))}"] = length
        self.installed = installed(tree)
        self.readme = len((tree / "README.md").read_text().splitlines())
        self.words = sum(len(path.read_text().split()) for path in (tree / "docs").rglob("*.md"))

    def measure_types(self, found, rows):
        self.fields, self.methods = collections.Counter(), collections.Counter()
        types = [tag for tag in found if is_type(tag) and not of_templates(tag) and defines(tag, rows)]
        whole_name = {(tag["path"], "::".join(filter(None, (tag.get("scope", ""), tag["name"])))): tag for tag in types}
        for tag in found:
            owner = whole_name.get((tag["path"], tag.get("scope", "")))
            if owner is None or not owner["line"] <= tag["line"] <= owner.get("end", owner["line"]):
                continue
            key = f"{tag['path']} {name_of(tag['scope'])}"
            text = rows[tag["path"]][tag["line"] - 1]
            if tag["kind"] == "member" and not re.match(r"\s*(inline )?static\b", text):
                self.fields[key] += 1
            elif tag["kind"] in ("function", "prototype") and not re.search(r"= (delete|default);", text):
                self.methods[key] += 1
        self.names = collections.defaultdict(set)
        self.nested = collections.defaultdict(set)
        for tag in types:
            if tag.get("scope", "").split("::")[0] == "dds":
                continue  # OMG's API names it
            inside = tag.get("scopeKind") in ("class", "struct", "union")
            if re.search(rf"\b{tag['name']}<", rows[tag["path"]][tag["line"] - 1]):
                continue  # a specialization is the same type
            (self.nested if inside else self.names)[tag["name"]].add(f"{tag['path']}:{tag['line']}")

    def shared_names(self):
        return {name: sorted(places) for name, places in sorted(self.names.items()) if len(places) > 1}

    def offences(self):
        for key, count in sorted(self.fields.items()):
            if count > FIELDS_MAX:
                yield f"fields {key}", f"{count} fields"
        for key, count in sorted(self.methods.items()):
            if count > FUNCTIONS_MAX:
                yield f"functions {key}", f"{count} functions"
        for key, length in sorted(self.functions.items()):
            yield f"lines {key}", f"{length} lines"
        for name, places in self.shared_names().items():
            yield f"name {name}", ", ".join(places)

    def table(self):
        def largest(counts):
            key, count = max(counts.items(), key=lambda item: item[1], default=("none", 0))
            return f"{count:6}  {key}"
        product = sum(self.lines.values())
        shared = self.shared_names()
        inside = sum(len(places) > 1 for places in self.nested.values())
        yield "lines of code, without blanks and comments"
        yield from (f"  {room:8} {self.lines[room]:6}" for room in ROOMS if self.lines[room])
        yield f"  {'all':8} {product:6}    without bench {product - self.lines['bench']}"
        yield f"most fields of a class        {largest(self.fields)}"
        yield f"most functions of a class     {largest(self.methods)}"
        yield f"classes over {FIELDS_MAX} fields or {FUNCTIONS_MAX} functions  " \
              f"{sum(count > FIELDS_MAX for count in self.fields.values())} and {sum(count > FUNCTIONS_MAX for count in self.methods.values())}"
        yield f"longest function              {largest(self.functions)}"
        yield f"functions over {LINES_MAX} lines       {len(self.functions):6}  without bench {sum(not key.startswith('bench/') for key in self.functions)}"
        yield f"names shared by types         {len(shared):6}  of {sum(map(len, shared.values()))} types; inside of classes {inside} more"
        yield f"headers installed             {len(self.installed):6}"
        yield f"lines of README.md            {self.readme:6}"
        yield f"words of docs/                {self.words:6}"


def lists_of(text, name):
    """The words behind NAME in a call of spindrift_room, of each such call."""
    for call in re.findall(r"spindrift_room\((.*?)\)\s*$", re.sub(r"#.*", "", text), re.S | re.M):
        words = call.split()
        if "INTERNAL" not in words:
            behind = words[words.index(name) + 1:] if name in words else []
            yield words[0], list(itertools.takewhile(lambda word: not re.fullmatch(r"[A-Z_]+", word), behind))


def installed(tree):
    """The headers that `cmake --install` puts on a machine, but for the front doors, which are copies of their names."""
    waiting, needed, private, rooms = [], set(), set(), []
    for path in tree.glob("*/CMakeLists.txt"):
        if path.parent.name not in ROOMS:
            continue
        text = path.read_text()
        waiting += [f"{room}/{header}" for room, headers in lists_of(text, "PUBLIC_HEADERS") for header in headers]
        private |= {f"{room}/{header}" for room, headers in lists_of(text, "PRIVATE_HEADERS") for header in headers}
        rooms += [room for room, _ in lists_of(text, "PUBLIC_HEADERS")]
    if private:  # an older tree installs all that it does not call private
        headers = {str(path.relative_to(tree)) for room in rooms for path in (tree / room).rglob("*.h*")}
        return headers - private
    while waiting:
        header = waiting.pop()
        if header not in needed and (tree / header).is_file():
            needed.add(header)
            waiting += re.findall(r"^\s*#\s*include <spindrift/([^>]+)>", (tree / header).read_text(), re.M)
    return needed


def folder_of(tree, scratch):
    """TREE itself, or the files of that commit."""
    if pathlib.Path(tree).is_dir():
        return pathlib.Path(tree).resolve()
    here = pathlib.Path(__file__).resolve().parent
    top = subprocess.run(["git", "-C", here, "rev-parse", "--show-toplevel"], capture_output=True, text=True).stdout.strip()
    archive = subprocess.run(["git", "-C", top, "archive", tree], capture_output=True)
    if archive.returncode != 0:
        sys.exit(f"shape.py: {tree} is neither a folder nor a commit")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(scratch)
    return pathlib.Path(scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument("--table", action="store_true", help="judge nothing")
    parser.add_argument("--list", action="store_true", help="print what breaks a limit, in the form of shape.txt")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tree = folder_of(arguments.tree, scratch)
        shape = Shape(tree)
        offences = dict(shape.offences())
        if arguments.list:
            print("\n".join(offences))
            return 0
        print("\n".join(shape.table()))
        if arguments.table:
            return 0
        listed = tree / "tests/house/shape.txt"
        lines = listed.read_text().splitlines() if listed.is_file() else []
    known = {line for line in lines if line and not line.startswith("#")}
    for key in sorted(known - offences.keys()):
        print(f"mended, and to be removed from tests/house/shape.txt: {key}")
    for key in sorted(offences.keys() - known):
        print(f"breaks a limit: {key}: {offences[key]}")
    return 1 if offences.keys() - known else 0


if __name__ == "__main__":
    sys.exit(main())
