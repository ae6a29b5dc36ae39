#!/usr/bin/env python3
"""prometheus_server_test.py SPINDRIFT: a real Prometheus scrapes the metrics of two nodes that form a group, and answers a query
about them; its own checker finds nothing wrong with the page. 77 (skipped) where Prometheus is not installed."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from free_ports import free_ports

SPINDRIFT = sys.argv[1]
PATIENCE = 60  # seconds
CONFIG = '''[SPINDRIFT]
members = 0, 1
runtime_directory = {directory}
[LAYOUT]
json_layout = '[{{"name": "orders"}}]'
'''
SCRAPING = '''global:
  scrape_interval: 200ms
scrape_configs:
  - job_name: spindrift
    static_configs:
      - targets: ["{target}"]
'''


@contextlib.contextmanager
def running(*words, **options):
    """A process that ends with the block."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def wait_for_line(process, text):
    """Reads lines until one has the text; that line."""
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f'{process.args} ended without a line with {text}')


def values_of(address, query):
    """What Prometheus answers, by node; nothing while it does not listen, or is not ready."""
    try:
        with urllib.request.urlopen(f'http://{address}/api/v1/query?{urllib.parse.urlencode({"query": query})}', timeout=5) as answer:
            return {each['metric'].get('node'): each['value'][1] for each in json.load(answer)['data']['result']}
    except (urllib.error.URLError, ConnectionError):
        return {}


def await_values(address, query, expected):
    deadline, values = time.monotonic() + PATIENCE, None
    while values != expected:
        assert time.monotonic() < deadline, f'{query} is {values}, not {expected}'
        values = values_of(address, query)
        time.sleep(0.05)  # nobody tells when a scrape is done
    print(f'{query}: {values}')


def check_page(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        page = answer.read()
    checked = subprocess.run(['promtool', 'check', 'metrics'], input=page, capture_output=True, check=False)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr.decode()
    print(f'promtool finds nothing wrong with {len(page.splitlines())} lines')


def main():
    if not shutil.which('prometheus') or not shutil.which('promtool'):
        print('skipped: a Prometheus scrapes two nodes: it is not installed (apt-get install prometheus)')
        return 77
    with tempfile.TemporaryDirectory(prefix='spindrift-prometheus-') as directory, contextlib.ExitStack() as stack:
        def start(*words):
            return stack.enter_context(running(*words, stderr=sys.stderr))
        config = pathlib.Path(directory, 'group.cfg')
        config.write_text(CONFIG.format(directory=directory))
        nodes = [start(SPINDRIFT, 'node', '--config', config, '--id', str(node), '--quiet') for node in (0, 1)]
        for node in nodes:
            wait_for_line(node, 'in view')
        server = start(SPINDRIFT, 'metrics', '--config', config, '--listen', '127.0.0.1:0')
        url = re.search(r'http://\S+', wait_for_line(server, '/metrics'))[0]
        check_page(url)
        scraping = pathlib.Path(directory, 'prometheus.yml')
        scraping.write_text(SCRAPING.format(target=urllib.parse.urlsplit(url).netloc))
        address = f'127.0.0.1:{free_ports(1)[0]}'
        with open(os.path.join(directory, 'prometheus.log'), 'wb') as log:
            stack.enter_context(running('prometheus', f'--config.file={scraping}', f'--storage.tsdb.path={directory}/data',
                                        f'--web.listen-address={address}', stderr=log))
            await_values(address, 'spindrift_node_running', {'0': '1', '1': '1'})
            await_values(address, 'spindrift_views_installed_total', {'0': '1', '1': '1'})
            nodes[1].terminate()
            await_values(address, 'spindrift_node_running', {'0': '1', '1': '0'})
            await_values(address, 'spindrift_node_view{node="0"}', {'0': '1'})
    return 0


if __name__ == '__main__':
    sys.exit(main())
