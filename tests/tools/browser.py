"""A headless Chromium that a test looks at a page with, by its debugging protocol, over a WebSocket of our own."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import urllib.request

from waiting import until

PATIENCE_S = 60


def program():
    """Chromium's path; None where it is not installed."""
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')


class WebSocket:
    """As much of RFC 6455 as a client needs that sends short texts and reads any."""

    def __init__(self, url):
        host, path = url.removeprefix('ws://').split('/', 1)
        name, port = host.rsplit(':', 1)
        self.socket = socket.create_connection((name, int(port)), PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f'GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                             f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n').encode())
        self.stream = self.socket.makefile('rb')
        assert b' 101 ' in self.stream.readline()
        while self.stream.readline().strip():
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        length = struct.pack('!BB', 0x81, 0x80 | len(data)) if len(data) < 126 else struct.pack('!BBH', 0x81, 0x80 | 126, len(data))
        self.socket.sendall(length + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))

    def receive(self):
        whole = b''
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7f
            if size >= 126:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8), 'big')
            data = self.stream.read(size)
            if first & 0x0f in (0, 1, 2):
                whole += data
                if first & 0x80:
                    return whole.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Page:
    def __init__(self, url):
        self.web = WebSocket(url)
        self.calls = 0
        self.complaints = []  # what a developer would see in red
        for domain in ('Page', 'Runtime', 'Log'):
            self.call(domain + '.enable')

    def call(self, method, **parameters):
        self.calls += 1
        self.web.send(json.dumps({'id': self.calls, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self.web.receive())
            self.note(message)
            if message.get('id') == self.calls:
                assert 'error' not in message, f'{method}: {message}'
                return message['result']

    def note(self, message):
        what = message.get('params', {})
        bad = {'Runtime.exceptionThrown': True, 'Log.entryAdded': what.get('entry', {}).get('level') == 'error',
               'Runtime.consoleAPICalled': what.get('type') in ('error', 'assert', 'warning')}
        if bad.get(message.get('method')):
            self.complaints.append(json.dumps(what)[:600])

    def value(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        assert 'exceptionDetails' not in result, f'{expression}: {result}'
        return result['result'].get('value')

    def text(self, selector):
        return self.value(f'document.querySelector({json.dumps(selector)})?.textContent')

    def await_value(self, expression, wanted=True):
        until(lambda: self.value(expression) == wanted, lambda: f'{expression} is {self.value(expression)!r}, not {wanted!r}')

    def size(self, width, height, phone=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)

    def screenshot(self, path, whole=False):
        shot = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(shot['data']))


@contextlib.contextmanager
def opened(url):
    """The page in a browser that ends with the block."""
    with tempfile.TemporaryDirectory(prefix='spindrift-browser-', ignore_cleanup_errors=True) as scratch:
        words = [program(), '--headless', '--disable-gpu', '--no-first-run', '--disable-extensions', '--disable-background-networking',
                 '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--remote-debugging-port=0', f'--user-data-dir={scratch}']
        if os.geteuid() == 0:
            words.append('--no-sandbox')  # Chromium refuses to start as root with it
        port_file = pathlib.Path(scratch, 'DevToolsActivePort')
        with open(pathlib.Path(scratch, 'log'), 'wb') as log:
            process = subprocess.Popen([*words, 'about:blank'], stdout=log, stderr=log)
        try:
            until(lambda: port_file.exists() and '\n' in port_file.read_text(), lambda: pathlib.Path(scratch, 'log').read_text()[-2000:])
            port = port_file.read_text().split()[0]
            request = urllib.request.Request(f'http://127.0.0.1:{port}/json/new?about:blank', method='PUT')
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                page = Page(json.load(answer)['webSocketDebuggerUrl'])
            with contextlib.closing(page.web):
                page.call('Page.navigate', url=url)
                yield page
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
