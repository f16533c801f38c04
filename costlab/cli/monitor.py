"""``costlab monitor``: live readings of the hardware, recorded to a file and played from one."""

from __future__ import annotations

import argparse
import queue
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Subparsers,
    add_command,
    cancellable,
    check_output,
    parsed,
    print_json,
)
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import parse_seconds

if TYPE_CHECKING:
    from costlab.devices.readers import DeviceReader
    from costlab.devices.readings import Sample
    from costlab.devices.recording import Recording

DONE, CANCELLED = 0, 130
_LEAST_S = 0.01
# How late Ctrl-C and the end are noticed.
_PATIENCE_S = 0.1


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "monitor",
        run,
        help=_("show, record and play readings of the processor and the GPUs"),
        examples=[
            "costlab monitor",
            "costlab monitor --every 100ms --for 1m --record trace.jsonl",
            "costlab monitor --replay trace.jsonl",
        ],
    )
    parser.add_argument(
        "--every", metavar="TIME", help=_("time between readings (default: 1s; 100ms, 2s)")
    )
    parser.add_argument(
        "--for", dest="duration", metavar="TIME", help=_("end after this time (default: on Ctrl-C)")
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--record", type=Path, metavar="FILE", help=_("write all readings to a file, as JSON lines")
    )
    source.add_argument(
        "--replay", type=Path, metavar="FILE", help=_("play a recorded file at its own pace")
    )


def run(args: argparse.Namespace) -> int:
    """Show readings until the end; 130 if ``--for`` was cut short."""
    every_s = parsed(parse_seconds, "--every", args.every) if args.every else None
    duration_s = parsed(parse_seconds, "--for", args.duration) if args.duration else None
    if every_s is not None and every_s < _LEAST_S:
        raise InputError(_("--every is too short"), given=args.every, allowed=_("10ms and more"))
    if args.record:
        check_output(args.record)
    if args.replay:
        from costlab.devices.recording import load_trace

        replayed, period_s = load_trace(args.replay)
        readers: Sequence[DeviceReader] = replayed
    else:
        from costlab.devices.system import open_readers

        readers, period_s = open_readers(), 1.0
        for reader in readers:
            # Rates are known from the second reading on.
            reader.read()
    recording = None
    try:
        if args.record:
            from costlab.devices.recording import Recording

            recording = Recording(args.record, readers, period_s=every_s or period_s)
        show = _Show(readers, as_json=args.json, quiet=args.quiet)
        whole = _watch(readers, every_s or period_s, duration_s, show, recording)
    finally:
        if recording is not None:
            recording.close()
        # The first GPU holds the session of all, so it goes last.
        for reader in reversed(readers):
            reader.close()
    return DONE if whole or duration_s is None else CANCELLED


def _watch(
    readers: Sequence[DeviceReader],
    every_s: float,
    duration_s: float | None,
    show: _Show,
    recording: Recording | None,
) -> bool:
    """Take rounds until the time is over or the traces end; False if Ctrl-C came first."""
    from costlab.devices.sampler import Sampler

    rounds: queue.Queue[tuple[Sample, ...]] = queue.Queue()
    end_s = time.monotonic() + duration_s if duration_s is not None else float("inf")
    sampler = Sampler(
        [reader.read for reader in readers], period_s=every_s, on_round=rounds.put, keep=False
    )
    with cancellable() as cancelled, sampler:
        while not cancelled():
            ended = sampler.wait(0)
            left_s = end_s - time.monotonic()
            try:
                samples = rounds.get(timeout=min(max(left_s, 0.001), _PATIENCE_S))
            except queue.Empty:
                if ended or left_s <= 0:
                    return True
                continue
            for sample in samples:
                if recording is not None:
                    recording.add(sample)
            show(samples)
            if left_s <= 0:
                return True
    return False


class _Show:
    """Prints rounds: on a terminal in place, else one after the other; as JSON a line each."""

    def __init__(self, readers: Sequence[DeviceReader], *, as_json: bool, quiet: bool) -> None:
        self._names: Mapping[str, str] = {reader.id: reader.name for reader in readers}
        self._devices = [
            {"id": reader.id, "name": reader.name, "kind": reader.kind} for reader in readers
        ]
        self._json = as_json
        self._quiet = quiet and not as_json
        self._height = 0

    def __call__(self, samples: Sequence[Sample]) -> None:
        """Print one round."""
        if self._json:
            print_json(
                {
                    "schema": "costlab.monitor/1",
                    "devices": self._devices,
                    "samples": [sample.to_json() for sample in samples],
                },
                indent=None,
            )
        elif not self._quiet:
            self._draw(samples)
        sys.stdout.flush()

    def _draw(self, samples: Sequence[Sample]) -> None:
        from costlab.cli.readings_text import device_text

        text = "\n\n".join(device_text(self._names[one.device], one) for one in samples)
        if not sys.stdout.isatty():
            print(text, end="\n\n")
            return
        width, height = shutil.get_terminal_size()
        lines = [line[: width - 1] for line in text.splitlines()][: height - 1]
        # Up to the first line of the last round, and clear what is below.
        back = f"\x1b[{self._height}A\x1b[J" if self._height else ""
        print(back + "\n".join(lines))
        self._height = len(lines)
