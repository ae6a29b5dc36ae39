#!/usr/bin/env python3
"""name_server.py ADDRESS FILE: answers what names have which IPv4 address, over UDP, from a JSON object that is read anew for each
question; if that is null, nobody is answered. Nothing is kept, so that what the file says holds at once."""
import json
import pathlib
import socket
import struct
import sys

ADDRESS_TYPE = 1  # A
NO_SUCH_NAME = 3
ANSWER = 0x8580  # to a recursive question, with authority, recursion available


def question(packet):
    """The name that is asked for, its type, and where the question ends."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return '.'.join(labels).lower(), struct.unpack_from('!H', packet, at + 1)[0], at + 5


def answer(packet, names):
    name, kind, end = question(packet)
    found = names.get(name) if kind == ADDRESS_TYPE else None
    code = 0 if name in names else NO_SUCH_NAME
    reply = packet[:2] + struct.pack('!HHHHH', ANSWER | code, 1, 1 if found else 0, 0, 0) + packet[12:end]
    if found:
        reply += struct.pack('!HHHIH', 0xc00c, ADDRESS_TYPE, 1, 1, 4) + socket.inet_aton(found)
    return reply


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], 53))
    while True:
        packet, caller = server.recvfrom(512)
        names = json.loads(pathlib.Path(sys.argv[2]).read_text())
        if names is not None:
            server.sendto(answer(packet, names), caller)


main()
