#!/usr/bin/env python3
"""self_test.py CHAOS BUILD: a short chaos run passes, and chaos_check notices every kind of damage done to its journals."""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

RECORD = struct.Struct('<QIIQQQQQQ')  # kind, subgroup, node, incarnation, view, begun, count, digest, value
START, VIEW, MEMBER, BOUNDARY, DELIVERY, SENT, LOADED, BAD, LEFT, ENDED, LEAVING = range(1, 12)
KIND, SUBGROUP, NODE, INCARNATION, VIEW_ID, BEGUN, COUNT, DIGEST, VALUE = range(9)
TICKS = 1


def read(path):
    data = path.read_bytes()
    records = []
    for at in range(0, len(data), RECORD.size):
        record = list(RECORD.unpack_from(data, at))
        if record[KIND]:
            records.append(record)
        elif not any(data[at:at + 64 * RECORD.size]):
            break
    return records


def write(path, records):
    path.write_bytes(b''.join(RECORD.pack(*record) for record in records))


def find(records, kind, **fields):
    """Where a record of this kind lies, in the middle of all such."""
    names = {'subgroup': SUBGROUP}
    places = [at for at, record in enumerate(records)
              if record[KIND] == kind and all(record[names[name]] == value for name, value in fields.items())]
    return places[len(places) // 2] if places else None


def change(kind, field, by=1, **fields):
    def apply(records):
        at = find(records, kind, **fields)
        if at is not None:
            records[at][field] += by
        return at is not None
    return apply


def drop(kind, **fields):
    def apply(records):
        at = find(records, kind, **fields)
        if at is not None:
            del records[at]
        return at is not None
    return apply


def drop_inner_view(records):
    """Neither the first nor the last: a life may begin and end with any view."""
    places = [at for at, record in enumerate(records) if record[KIND] == VIEW]
    if len(places) >= 3:
        del records[places[len(places) // 2]]
    return len(places) >= 3


def swap_ticks(records):
    at = find(records, DELIVERY, subgroup=TICKS)
    if at is None:
        return False
    sender = records[at][INCARNATION]
    for other in range(at + 1, len(records)):
        if records[other][KIND] == DELIVERY and records[other][SUBGROUP] == TICKS and records[other][INCARNATION] == sender:
            records[at], records[other] = records[other], records[at]
            return True
    return False


def forget_sent(records):
    """As if the last half of what it sent had never been."""
    places = [at for at, record in enumerate(records) if record[KIND] == SENT and record[SUBGROUP] == 0]
    for at in reversed(places[len(places) // 2:]):
        del records[at]
    return bool(places)


def claim_sent(records):
    """As if it had left with messages that nobody delivered."""
    sent = [record for record in records if record[KIND] == SENT and record[SUBGROUP] == 0]
    if not sent or records[-1][KIND] != LEFT:
        return False
    records.insert(-1, [*sent[-1][:VALUE], sent[-1][VALUE] + 1])
    return True


def send_after_delivery(records):
    """As if a message had been sent behind itself and all that followed it."""
    places = [at for at, record in enumerate(records) if record[KIND] == SENT and record[SUBGROUP] == 0]
    delivered = [record for record in records if record[KIND] == DELIVERY and record[SUBGROUP] == 0]
    if not places or not delivered:
        return False
    records[places[0]][BEGUN:DIGEST] = delivered[-1][BEGUN:DIGEST]
    return True


def view_too_early(records):
    """As if its last view had been installed before any other was."""
    places = [at for at, record in enumerate(records) if record[KIND] == VIEW]
    if not places or records[places[-1]][VIEW_ID] < 2:
        return False
    records[places[-1]][COUNT] = 0
    return True


def remove_majority(records):
    """As if view 1 had been made by its first member alone, and nobody had asked to leave."""
    seen = [at for at, record in enumerate(records) if record[KIND] == MEMBER and record[VIEW_ID] == 1]
    asked = [at for at, record in enumerate(records) if record[KIND] == LEAVING]
    for at in sorted(seen[1:] + asked, reverse=True):
        del records[at]
    return bool(seen)


EVERYWHERE = {remove_majority}  # damage to all journals, others to the first that allows it


DAMAGES = {
    'another message at a place': (change(DELIVERY, VALUE, subgroup=0), 'M1'),
    'another digest at a place': (change(DELIVERY, DIGEST, subgroup=0), 'M1'),
    'another sender at a place': (change(DELIVERY, INCARNATION, subgroup=0), 'M1'),
    'a delivery missing': (drop(DELIVERY, subgroup=0), 'M3'),
    'a place twice': (change(DELIVERY, COUNT, -1, subgroup=0), 'M3'),
    'a tick missing': (drop(DELIVERY, subgroup=TICKS), 'M4'),
    'ticks out of order': (swap_ticks, 'M4'),
    'a boundary elsewhere': (change(BOUNDARY, COUNT, subgroup=0), 'J1'),
    'a boundary with another digest': (change(BOUNDARY, DIGEST, subgroup=0), 'J1'),
    'a loaded state of nobody': (change(LOADED, DIGEST, subgroup=0), 'J1'),
    'a message sent behind what follows it': (send_after_delivery, 'M9'),
    'other members in a view': (change(MEMBER, INCARNATION), 'V3'),
    'other members in a view at one time': (change(MEMBER, INCARNATION), 'V4'),
    'a view before its time': (view_too_early, 'V4'),
    'a majority removed': (remove_majority, 'V4'),
    'a view left out': (drop_inner_view, 'V3'),
    'messages that were not sent': (forget_sent, 'M2'),
    'messages lost at the leave': (claim_sent, 'M8'),
}


def check(build, directory):
    result = subprocess.run([build / 'tests/chaos/chaos_check', directory], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout


def main():
    chaos, build = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix='spindrift-chaos-self-') as parent:
        # By this seed's plan a member is killed, and one leaves.
        command = [chaos, '--runs', '1', '--seed', '5', '--members', '3', '--seconds', '0.6', '--keep', '--no-build',
                   '--build', build, '--directory', parent]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        print(result.stdout)
        if result.returncode != 0:
            return 1
        if json.loads(result.stdout.splitlines()[-1])['large'] == 0:
            print('NOT PLAYED: large messages')
            return 1
        run = next(path for path in pathlib.Path(parent).iterdir() if path.is_dir())
        journals = {path: read(path) for path in sorted(run.glob('*.journal'))}
        damaged = pathlib.Path(parent) / 'damaged'
        failures = 0
        for name, (damage, invariant) in DAMAGES.items():
            shutil.rmtree(damaged, ignore_errors=True)
            damaged.mkdir()
            done = False
            for path, records in journals.items():
                records = [list(record) for record in records]
                if not done or damage in EVERYWHERE:
                    done = damage(records) or done
                write(damaged / path.name, records)
            code, output = check(build, damaged)
            noticed = code == 1 and any(line.startswith(invariant + ' ') for line in output.splitlines())
            if not done or not noticed:
                failures += 1
                print(f'NOT NOTICED: {name} ({invariant}); done: {done}\n{output}')
        print(json.dumps({'damages': len(DAMAGES), 'not_noticed': failures}))
        return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
