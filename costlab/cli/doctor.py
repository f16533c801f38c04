"""``costlab doctor``: what on this machine stands in the way, and the command that fixes it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from costlab.cli.common import Subparsers, add_command, print_json
from costlab.i18n import _
from costlab.units import format_value

if TYPE_CHECKING:
    from costlab.devices import Environment

PASS, WARN, FAIL = "PASS", "WARN", "FAIL"
_LEAST_MEMORY = 4 * 2**30


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, the verdict, what was found, and what to do (text, often a command)."""

    name: str
    verdict: str
    found: str
    fix: str = ""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "doctor",
        run,
        help=_("check this machine and say what to do about what is missing"),
        examples=["costlab doctor", "costlab doctor --template"],
    )
    parser.add_argument(
        "--template",
        action="store_true",
        help=_("print a device profile of this machine to fill in, for --device FILE.toml"),
    )


def run(args: argparse.Namespace) -> int:
    """Print a line for each check; 1 if one failed."""
    if args.template:
        return _print_template()
    checks = list(_checks())
    if args.json:
        print_json({"schema": "costlab.doctor/1", "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            print(f"{check.verdict}  {check.name}: {check.found}")
            if check.fix:
                print(f"      -> {check.fix}")
    return 1 if any(check.verdict == FAIL for check in checks) else 0


def _print_template() -> int:
    from costlab.devices import fingerprint
    from costlab.hardware.template import profile_template

    print(profile_template(fingerprint(), datetime.now(UTC).date()), end="")
    return 0


def _checks() -> Iterator[Check]:
    from costlab.cli.doctor_app import app_checks
    from costlab.cli.doctor_hardware import hardware_checks
    from costlab.cli.doctor_noise import noise_check
    from costlab.devices import fingerprint

    environment = fingerprint()
    yield _python()
    yield _torch(environment)
    yield _processor(environment)
    yield _memory(environment)
    yield from hardware_checks(environment)
    yield _home()
    if environment.torch is not None:
        yield noise_check()
    yield _calibration()
    yield from app_checks()


def _python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    return Check("Python", PASS, found)


def _torch(environment: Environment) -> Check:
    from costlab.devices.packages import allowed, within

    if environment.torch is None:
        return Check("torch", FAIL, _("not installed"), "pip install torch")
    wanted = allowed("torch")
    if not within(environment.torch, wanted):
        return Check("torch", FAIL, environment.torch, f'pip install "torch{wanted}"')
    return Check("torch", PASS, environment.torch)


def _processor(environment: Environment) -> Check:
    usable = len(environment.affinity)
    if environment.cgroup_cpus is not None:
        usable = min(usable, max(int(environment.cgroup_cpus), 1))
    found = _("{cpu}, {usable} of {all} logical CPUs usable").format(
        cpu=environment.cpu, usable=usable, all=environment.logical_cores
    )
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > usable:
        found += _(", load {load:.1f}").format(load=load)
        return Check(
            _("processor"), WARN, found, _("measure when nothing else runs; timings are noisy now")
        )
    return Check(_("processor"), PASS, found)


def _memory(environment: Environment) -> Check:
    limit = environment.memory_bytes
    if environment.cgroup_memory_bytes:
        limit = min(limit, environment.cgroup_memory_bytes)
    found = format_value(limit, "B")
    if limit < _LEAST_MEMORY:
        return Check(_("memory"), WARN, found, _("large sizes will not fit; keep b and n small"))
    return Check(_("memory"), PASS, found)


def _home() -> Check:
    from costlab.store import home

    folder = home()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        return Check(
            _("data folder"), FAIL, _("{path} cannot be written").format(path=folder),
            _("set COSTLAB_HOME to a folder of yours"),
        )  # fmt: skip
    return Check(_("data folder"), PASS, str(folder))


def _calibration() -> Check:
    from costlab.calibration.records import load_latest, staleness

    name = _("calibration")
    fix = "costlab calibrate --quick"
    record = load_latest(stale=True)
    if record is None:
        return Check(name, WARN, _("none: predictions for this machine need one"), fix)
    age = datetime.now(UTC).date() - date.fromisoformat(record.date[:10])
    found = _("of {date}, {days} days ago, level {level}").format(
        date=record.date[:10], days=age.days, level=record.level
    )
    if changes := staleness(record):
        return Check(name, WARN, f"{found}; {', '.join(changes)}", fix)
    return Check(name, PASS, found)
