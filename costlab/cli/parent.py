"""A command that another program started ends with that program, however that ends.

A pipe's other end is closed by the system when its owner dies, on every platform. So a command
with ``--until-stdin-ends`` takes the end of its stdin as a Ctrl-C, which is also how its starter
cancels it where no signal can be sent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from _thread import interrupt_main

GRACE_S = 10.0
"""How long a cancel may take before the process and its children are killed."""

_CANCELLED = 130


def cancel_when_stdin_ends() -> None:
    """Watch stdin from a thread; its end interrupts the main thread as Ctrl-C does."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background of a script; that script does not decide here.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    # A buffered reader would hold a lock that the interpreter needs for its exit.
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        # Unlike an interrupt set by flag, a signal also ends a system call that waits.
        signal.pthread_kill(main, signal.SIGINT)
    else:
        interrupt_main()
    time.sleep(GRACE_S)
    _end_tree()


def _end_tree() -> None:
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()
    os._exit(_CANCELLED)
