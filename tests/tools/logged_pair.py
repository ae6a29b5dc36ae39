"""Two nodes of one host for tests: "orders" is logged, "news" is not."""
import os
import subprocess
import tempfile

CONFIG = """[SPINDRIFT]
group_name = hand
members = 0,1
founders = 0,1
fabric = shm
runtime_directory = {0}/run
join_timeout_ms = 40000
[PERS]
file_path = {0}/journals
[LAYOUT]
json_layout = '[{{"name": "orders", "storage": "logged"}}, {{"name": "news"}}]'
"""


class LoggedPair:
    """Its files last as long as the `with` that begins it. `config`: the path of the configuration."""

    def __init__(self, spindrift):
        self.spindrift = spindrift
        self.directory = tempfile.TemporaryDirectory(prefix="spindrift-log-")
        self.config = os.path.join(self.directory.name, "c.cfg")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(self.directory.name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def run(self, node, *words, given=""):
        """A command as that node, to its end; as nobody, if it is None."""
        who = [] if node is None else ["--id", str(node)]
        return subprocess.run([self.spindrift, *words, "--config", self.config, *who], input=given, capture_output=True, text=True,
                              timeout=100)

    def start(self, node):
        return subprocess.Popen([self.spindrift, "node", "--config", self.config, "--id", str(node)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
