"""Entry point of ``costlab`` and of ``python -m costlab``, which are equal.

The command line takes a moment to import. A Ctrl-C in that moment ends it like any later one:
with one line and exit code 130.
"""

import os
import signal
import sys


def _leave(_signal: int, _frame: object) -> None:
    os.write(2, b"costlab: cancelled\n")
    os._exit(130)


def main() -> int:
    """Run the command line of the process and return its exit code."""
    # A job in the background of a script starts with the signal ignored, and keeps that.
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds:
        signal.signal(signal.SIGINT, _leave)
    from costlab.cli.__main__ import main as run

    try:
        if heeds:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        return 130
    finally:
        if heeds:
            # All is done and said; a late Ctrl-C would only interrupt the interpreter's exit.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
