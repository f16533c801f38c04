"""The true binding with a real shared object, compiled here, in a process of its own.

Collected only where a C compiler is found (see CONTRIBUTING). ``test_gpu.py`` says what each case
has to give; here the compiled library has to give the same as the stand-in in Python.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from costlab.devices.gpu import GPU_UNITS, open_gpu
from costlab.devices.readings import Reading
from costlab.devices.reasons import REASONS
from tests.devices.compiler import compiler
from tests.devices.fake_nvml import MIG_UUID, NAMES, UUIDS, loaded
from tests.devices.test_gpu import CODES, FIELDS, HERE, LIST, QUERIES

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("fake_nvml.c")
# Sets the library up anew for each case: unlike LD_LIBRARY_PATH, the library reads this later.
READER = """
import json, os, sys
from costlab.devices.gpu import open_gpu
for setup, uuid, count in json.load(sys.stdin):
    os.environ["COSTLAB_FAKE_NVML"] = setup
    reader = open_gpu(uuid, where=frozenset())
    samples = [reader.read() for _ in range(count)]
    reader.close()
    print(json.dumps([{k: v.to_json() for k, v in one.readings.items()} for one in samples]))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the compiled library."""
    folder = tmp_path_factory.mktemp("nvml")
    built = folder / "libnvidia-ml.so.1"
    command = [
        str(compiler()), "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
        "-Wl,-soname,libnvidia-ml.so.1", "-o", str(built), str(SOURCE), "-lm",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def python(library: Path, code: str, given: str = "", **variables: str) -> str:
    """What ``code`` prints in a process that finds the library."""
    path = os.pathsep.join(str(ROOT / part) for part in ("", "profiles"))
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(library), "PYTHONPATH": path, **variables,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


Case = tuple[str, str, int]


def compare(library: Path, cases: Sequence[Case]) -> list[list[dict[str, Reading]]]:
    """Readings of all cases; the library's are those of the stand-in."""
    lines = python(library, READER, json.dumps(cases)).splitlines()
    answers = []
    for (setup, uuid, count), line in zip(cases, lines, strict=True):
        with loaded(setup):
            reader = open_gpu(uuid, where=HERE)
            expected: list[Any] = [dict(reader.read().readings) for _ in range(count)]
        found = [
            {name: Reading.from_json(data) for name, data in one.items()}
            for one in json.loads(line)
        ]  # fmt: skip
        assert found == expected, setup
        answers.append(found)
    return answers


def test_every_error_code_makes_every_reading_null_with_a_reason(library: Path) -> None:
    wanted = list(itertools.product(GPU_UNITS, CODES))
    cases = [(QUERIES[name].format(code=code), UUIDS[1], 1) for name, code in wanted]

    answers = compare(library, cases)

    assert len(answers) == len(GPU_UNITS) * len(CODES) > 400
    for (name, code), [readings] in zip(wanted, answers, strict=True):
        assert readings[name].value is None, (name, code)
        assert readings[name].reason in REASONS


CASES = [
    ("", UUIDS[0], 2),
    ("fail=nvmlDeviceGetMemoryInfo_v2:25", UUIDS[0], 1),
    ("fail=nvmlDeviceGetMemoryInfo_v2:13", UUIDS[0], 1),
    (f"fail={LIST}_v3:25;fail={LIST}_v2:13", UUIDS[0], 1),
    ("garble=3", UUIDS[0], 1),
    ("garble=3,2", UUIDS[0], 1),
    ("garble=3,2,1", UUIDS[0], 1),
    ("processes=", UUIDS[0], 1),
    ("processes=1:1,2:2,3:3,4:4,5:5,6:6,7:7,8:8,9:9", UUIDS[0], 1),
    ("fail=nvmlDeviceGetTemperatureV:25", UUIDS[0], 1),
    ("fail=nvmlDeviceGetCurrentClocksEventReasons:13;throttle=0x44", UUIDS[0], 1),
    ("field=186/0:3;field=185/0:3", UUIDS[0], 1),
    (FIELDS.format(code=3), UUIDS[0], 1),
    ("mig=1", UUIDS[0], 1),
    ("mig=1", MIG_UUID, 1),
    ("sm=345,900,1400,1800,1965,1980", UUIDS[1], 8),
    ("watts=60,430,1.3;tick=40", UUIDS[1], 80),
    (f"watts=60,430,1.3;tick=40;{FIELDS.format(code=3)}", UUIDS[1], 80),
]


def test_the_compiled_library_reads_like_the_stand_in(library: Path) -> None:
    answers = compare(library, CASES)

    assert [one["processes"].source[-2:] for [one] in answers[3:6]] == ["v1", "v2", "v1"]
    assert [one["sm_clock"].value for one in answers[15]] == [
        mhz * 1e6 for mhz in (345, 900, 1400, 1800, 1965, 1980, 1980, 1980)
    ]


def test_devices_in_the_order_of_the_bus_and_cudas_by_uuid(library: Path) -> None:
    """CUDA counts the fast GPU first, NVML second; the UUID finds the right one."""
    code = (
        "import os\n"
        "from costlab.devices.cuda_order import cuda_order\n"
        "from costlab.devices.gpu import open_gpu, open_gpus\n"
        "readers = open_gpus()\n"
        "print(*[reader.id for reader in readers])\n"
        "for uuid in cuda_order([reader.id for reader in readers], os.environ).uuids:\n"
        "    print(open_gpu(uuid).name)\n"
    )

    lines = python(library, code, CUDA_VISIBLE_DEVICES=",".join(reversed(UUIDS))).splitlines()

    assert lines == [" ".join(UUIDS), NAMES[1], NAMES[0]]


def test_a_library_that_does_not_start_says_why(library: Path) -> None:
    code = "from costlab.devices.nvml import list_gpus; print(list_gpus())"

    printed = python(library, code, COSTLAB_FAKE_NVML="fail=nvmlInitWithFlags:18")

    assert REASONS["driver_mismatch"] in printed


def test_the_fingerprint_holds_what_is_stable(library: Path) -> None:
    """Clock, power, temperature and processes differ between two readings; the id does not."""
    code = (
        "import os\n"
        "from costlab.devices import fingerprint\n"
        "for setup in ['', 'sm=345;throttle=0x40;watts=60,60,0;processes=', 'mig=1']:\n"
        "    os.environ['COSTLAB_FAKE_NVML'] = setup\n"
        "    found = fingerprint()\n"
        "    print(found.id, [gpu.uuid for gpu in found.gpus])\n"
    )

    calm, busy, mig = python(library, code).splitlines()

    assert calm == busy
    assert UUIDS[1] in calm
    assert mig != calm
