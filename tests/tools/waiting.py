"""How tests of commands wait for what other processes do."""
import sys
import time

PATIENCE_S = 60


def until(holds, why):
    """Ends the test with the words of `why` if `holds` has not become true in time."""
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > limit:
            sys.exit(why())
        time.sleep(0.05)
