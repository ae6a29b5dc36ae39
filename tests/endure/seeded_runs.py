"""Runs of tools/endure that are of many seeds, each in a directory of its own."""
import shutil


class SeededRuns:
    """All seeds; the directories of those that were clean go.

    A run is made of options, its directory and its seed, and has, once executed, `problems` and `counts()`.
    """

    def __init__(self, kind, options, directory):
        self.kind, self.options, self.directory = kind, options, directory

    def execute(self):
        total = {'ok': True, 'seeds': 0}
        problems = {}
        for seed in range(self.options.seed, self.options.seed + self.options.seeds):
            directory = self.directory / str(seed)
            directory.mkdir(mode=0o700)
            run = self.kind(self.options, directory, seed)
            run.execute()
            total['seeds'] += 1
            for what, count in run.counts().items():
                total[what] = total.get(what, 0) + count
            if run.problems:
                problems[seed] = run.problems
            else:
                shutil.rmtree(directory)
        if problems:
            total.update(ok=False, problems=problems, directory=str(self.directory))
        return total
