"""A child that does what its first argument says, as a command of CostLab would or would not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys


def _line(stream: int, **data: object) -> None:
    os.write(stream, (json.dumps(data) + "\n").encode())


def _until_stdin_ends() -> None:
    while os.read(0, 4096):
        pass


def main(what: str) -> int:
    """Play one part."""
    _line(2, kind="progress", text="working", done=0, points=2)
    _line(1, kind="point", number=1)
    if what in ("good", "calibrate", "profile"):
        _line(2, kind="progress", text="working", done=1, points=2)
        os.write(1, b'{"kind": "point", "number": 2}')
        return 0
    if what == "obeys":
        _until_stdin_ends()
        _line(1, kind="point", number=2)
        return 130
    if what == "stubborn":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # A grandchild that nobody but the starter's tree knows of.
        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        _line(1, kind="child", pid=child.pid)
        while True:
            signal.pause()
    os.write(2, b"costlab: it is broken\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
