"""Ports of loopback on which a test's processes are to listen: none of those that the kernel gives connections of others."""
import contextlib
import random
import socket

FIRST = 20000


def free_ports(count):
    with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as file:
        given_to_others = int(file.read().split()[0])
    ports = []
    with contextlib.ExitStack() as held:
        for port in random.sample(range(FIRST, max(given_to_others, FIRST + 1000)), 1000):
            one = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(('127.0.0.1', port))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise RuntimeError('no port of loopback is free')
