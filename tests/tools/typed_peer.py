"""A program with the C++ types of topics, beside which `spindrift topic` is tried."""
import subprocess

PATIENCE = 100


class TypedPeer:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect('ready')

    def expect(self, line):
        """Reads up to that line."""
        for said in self.process.stdout:
            if said.rstrip('\n') == line:
                return
        raise AssertionError(f'the program ended before it said {line}')

    def tell(self, line):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        self.expect('done')

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.communicate()
