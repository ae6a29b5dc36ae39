"""Hosts for tests: network namespaces, each with a cable to a switch in one more. Needs the right to make them."""
import os
import subprocess


class Hosts:
    """`addresses`: by host, its address in a network of 256. `names`: by host, its namespace."""

    def __init__(self, kind, addresses):
        self.addresses = addresses
        self.names = {host: f'spindrift-{kind}-{os.getpid()}-{host}' for host in [*addresses, 'switch']}
        self.made = []

    def make(self):
        for name in self.names.values():
            subprocess.run(['ip', 'netns', 'add', name], check=True, capture_output=True, text=True)
            self.made.append(name)
        self.ip('switch', 'link', 'add', 'bridge', 'type', 'bridge')
        self.ip('switch', 'link', 'set', 'bridge', 'up')
        for host, address in self.addresses.items():
            self.ip(host, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', f'to-{host}', 'netns', self.names['switch'])
            self.ip('switch', 'link', 'set', f'to-{host}', 'master', 'bridge')
            self.ip('switch', 'link', 'set', f'to-{host}', 'up')
            self.ip(host, 'address', 'add', address + '/24', 'dev', 'eth0')
            self.ip(host, 'link', 'set', 'lo', 'up')
            self.ip(host, 'link', 'set', 'eth0', 'up')

    def ip(self, host, *words):
        subprocess.run(['ip', '-n', self.names[host], *words], check=True, capture_output=True, text=True)

    def remove(self):
        for name in self.made:
            subprocess.run(['ip', 'netns', 'delete', name], check=False)
