"""A GPU through the true binding over a stand-in for its library: no driver is needed.

These are the cases of every machine; ``test_library.py`` repeats the main ones with a real
shared object where a C compiler is.
"""

from __future__ import annotations

import sys
from typing import Any

import pynvml
import pytest

from costlab.devices.clocks import judge_clocks
from costlab.devices.energy import energy_window
from costlab.devices.gpu import GPU_UNITS, GpuReader, open_gpu, open_gpus
from costlab.devices.nvml import Gpu, list_gpus, mig_uuids, process_memory_bytes
from costlab.devices.nvml_processes import GpuProcess
from costlab.devices.nvml_session import NvmlSession, NvmlUnavailable
from costlab.devices.readings import Sample
from costlab.devices.reasons import NVML_REASONS, REASONS
from tests.devices.fake_nvml import GIB, MIG_UUID, NAMES, UUIDS, FakeLibrary, loaded

HERE: frozenset[str] = frozenset()
# Every code that the binding knows, and two that it does not.
CODES = sorted(
    {getattr(pynvml, name) for name in dir(pynvml) if name.startswith("NVML_ERROR_")} | {77, 998}
)
FIELDS = ";".join(f"field={field}/{scope}:{{code}}" for field in (185, 186) for scope in (0, 1))
# Every query a reading is made of: with all of these failing, the reading has no value.
QUERIES = {
    "energy": "fail=nvmlDeviceGetTotalEnergyConsumption:{code}",
    "power": FIELDS + ";fail=nvmlDeviceGetPowerUsage:{code}",
    "power_instant": FIELDS,
    "power_average": "fail=nvmlDeviceGetFieldValues:{code}",
    "power_limit": "fail=nvmlDeviceGetPowerManagementLimit:{code}",
    "sm_clock": "fail=nvmlDeviceGetClockInfo:{code}",
    "sm_clock_max": "fail=nvmlDeviceGetMaxClockInfo:{code}",
    "memory_clock": "fail=nvmlDeviceGetClockInfo:{code}",
    "memory_clock_max": "fail=nvmlDeviceGetMaxClockInfo:{code}",
    "throttle": "fail=nvmlDeviceGetCurrentClocksEventReasons:{code};"
    "fail=nvmlDeviceGetCurrentClocksThrottleReasons:{code}",
    "temperature": "fail=nvmlDeviceGetTemperatureV:{code};fail=nvmlDeviceGetTemperature:{code}",
    "utilisation": "fail=nvmlDeviceGetUtilizationRates:{code}",
    "memory_utilisation": "fail=nvmlDeviceGetUtilizationRates:{code}",
    "memory_used": "fail=nvmlDeviceGetMemoryInfo_v2:{code};fail=nvmlDeviceGetMemoryInfo:{code}",
    "memory_reserved": "fail=nvmlDeviceGetMemoryInfo_v2:{code};fail=nvmlDeviceGetMemoryInfo:{code}",
    "memory_total": "fail=nvmlDeviceGetMemoryInfo_v2:{code};fail=nvmlDeviceGetMemoryInfo:{code}",
    "processes": ";".join(
        f"fail=nvmlDeviceGetComputeRunningProcesses{version}:{{code}}"
        for version in ("", "_v2", "_v3")
    ),
    "mig": "fail=nvmlDeviceGetMigMode:{code}",
    "persistence": "fail=nvmlDeviceGetPersistenceMode:{code}",
}


def read(text: str = "", uuid: str = UUIDS[1], where: frozenset[str] = HERE) -> Sample:
    """One sample of a GPU set up by ``text``."""
    with loaded(text) as library:
        reader = open_gpu(uuid, where=where)
        sample = reader.read()
        reader.close()
        assert library.open == 0
    return sample


def test_every_reading_has_its_value_unit_and_source() -> None:
    readings = read("throttle=0x44;processes=11:500,12:-1").readings

    assert {name: reading.unit for name, reading in readings.items()} == GPU_UNITS
    assert {name: reading.value for name, reading in readings.items()} == {
        "energy": 0.0,
        "power": 250.0,
        "power_instant": 250.0,
        "power_average": 250.0,
        "power_limit": 700.0,
        "sm_clock": 1980e6,
        "sm_clock_max": 1980e6,
        "memory_clock": 2619e6,
        "memory_clock_max": 2619e6,
        "throttle": 0x44,
        "temperature": 41,
        "utilisation": 0.37,
        "memory_utilisation": 0.0,  # measured 0 is 0
        "memory_used": 2 * GIB,
        "memory_reserved": GIB,
        "memory_total": 80 * GIB,
        "processes": 2,
        "mig": 0,
        "persistence": 1,
    }
    assert all(reading.source for reading in readings.values())


@pytest.mark.parametrize("name", GPU_UNITS)
def test_every_error_code_makes_a_reading_null_with_a_reason(name: str) -> None:
    for code in CODES:
        reading = read(QUERIES[name].format(code=code)).readings[name]

        assert reading.value is None, code
        assert reading.unit == GPU_UNITS[name]
        assert reading.reason in REASONS, code
        assert reading.text.startswith(REASONS[reading.reason])
        assert f"NVML {code}" in reading.text


def test_one_failing_query_leaves_the_other_readings() -> None:
    readings = read("fail=nvmlDeviceGetTotalEnergyConsumption:3").readings

    assert [name for name, reading in readings.items() if reading.value is None] == ["energy"]


def test_every_error_of_the_binding_has_a_reason_of_its_own_or_says_unknown() -> None:
    named = {code: NVML_REASONS.get(code) for code in CODES}

    # Codes of calls that set something, of virtual GPUs, and of opening twice.
    assert {code for code, reason in named.items() if reason is None} <= {5, 22, 24, 30, 77, 998}
    assert set(NVML_REASONS.values()) <= set(REASONS)


@pytest.mark.parametrize("code", CODES)
def test_an_nvml_that_does_not_start_says_why(code: int) -> None:
    with loaded(f"fail=nvmlInitWithFlags:{code}"), pytest.raises(NvmlUnavailable) as caught:
        open_gpus(where=HERE)

    assert caught.value.reason in REASONS
    assert f"NVML {code}" in caught.value.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fail=nvmlInitWithFlags:12", "no_library"),
        ("fail=nvmlInitWithFlags:9", "no_driver"),
        ("fail=nvmlInitWithFlags:18", "driver_mismatch"),
        ("fail=nvmlDeviceGetCount_v2:15", "gpu_lost"),
        ("devices=0", "no_gpu"),
    ],
)
def test_no_gpu_at_all_says_why(text: str, reason: str) -> None:
    with loaded(text) as library, pytest.raises(NvmlUnavailable) as caught:
        open_gpus(where=HERE)

    assert caught.value.reason == reason
    assert library.open == 0


def test_a_jetson_without_nvml_says_what_to_use() -> None:
    with loaded("fail=nvmlInitWithFlags:12"), pytest.raises(NvmlUnavailable) as caught:
        open_gpus(where=frozenset({"jetson"}))

    assert caught.value.reason == "jetson"
    assert "tegrastats" in caught.value.text


def test_a_missing_binding_says_which_package() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pynvml", None)
        with pytest.raises(NvmlUnavailable) as caught:
            open_gpus()

    assert caught.value.reason == "no_binding"
    assert "nvidia-ml-py" in caught.value.text


@pytest.mark.parametrize(
    ("where", "reading", "code", "reason"),
    [
        (set(), "energy", 3, "energy_before_volta"),
        (set(), "power", 3, "no_power_sensor"),
        (set(), "memory_used", 3, "unified_memory"),
        (set(), "processes", 13, "driver_too_old"),
        ({"wsl"}, "processes", 999, "wsl"),
        ({"wsl"}, "utilisation", 3, "wsl"),
        ({"jetson"}, "power", 3, "jetson"),
        ({"jetson"}, "memory_used", 3, "jetson"),
        ({"windows"}, "processes", 3, "wddm"),
        (set(), "throttle", 15, "gpu_lost"),
        (set(), "temperature", 16, "reset_required"),
        (set(), "sm_clock", 4, "no_permission"),
    ],
)
def test_the_place_explains_what_is_missing(
    where: set[str], reading: str, code: int, reason: str
) -> None:
    sample = read(QUERIES[reading].format(code=code), where=frozenset(where))

    assert sample.readings[reading].reason == reason


def test_mig_mode_explains_missing_utilisation() -> None:
    readings = read("mig=1;fail=nvmlDeviceGetUtilizationRates:3").readings

    assert readings["utilisation"].reason == "mig"
    assert readings["power"].value == 250


def test_a_mig_instance_has_no_energy_but_the_clock_of_its_card() -> None:
    readings = read("mig=1", MIG_UUID).readings

    for name in ("energy", "power", "power_instant", "power_average"):
        assert readings[name].reason == "mig_whole_card"
    assert readings["sm_clock"].value == 1980e6
    assert readings["memory_used"].value == 2 * GIB


def test_power_of_the_module_is_taken_where_the_chip_has_none() -> None:
    readings = read("field=186/0:3;field=185/0:3").readings

    assert readings["power"].value == 250
    assert readings["power"].source == "NVML field 186, module, instant"
    assert "average" in readings["power_average"].source


def test_power_falls_back_to_average_and_to_the_plain_call() -> None:
    average = read("field=186/0:3;field=186/1:3").readings
    plain = read(FIELDS.format(code=2)).readings
    old = read("fail=nvmlDeviceGetFieldValues:13").readings

    assert average["power"].source == "NVML field 185, chip, average over 1 s"
    assert average["power_instant"].reason == "not_supported"
    for readings in (plain, old):
        assert readings["power"].value == 250
        assert readings["power"].source.startswith("nvmlDeviceGetPowerUsage")


def test_a_field_of_an_unknown_type_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def strange(self: FakeLibrary, handle: object, count: object, values: Any) -> None:
        for value in values._obj:
            value.nvmlReturn, value.valueType = 0, 99

    monkeypatch.setattr(FakeLibrary, "_nvmlDeviceGetFieldValues", strange)

    readings = read().readings

    assert readings["power_instant"].reason == "unknown_type"
    assert readings["power"].source.startswith("nvmlDeviceGetPowerUsage")


@pytest.mark.parametrize("uuid", [*UUIDS, MIG_UUID])
def test_uuids_as_cuda_writes_them(uuid: str) -> None:
    with loaded("mig=1"):
        assert open_gpu(uuid[4:], where=HERE).id == uuid


def test_memory_falls_back_to_the_first_version() -> None:
    for code in (13, 25, 26):
        readings = read(f"fail=nvmlDeviceGetMemoryInfo_v2:{code}").readings

        assert readings["memory_used"].value == 3 * GIB
        assert "reserve" in readings["memory_used"].source
        assert readings["memory_reserved"].reason == "driver_too_old"


def test_temperature_and_throttle_fall_back() -> None:
    readings = read(
        "fail=nvmlDeviceGetTemperatureV:13;fail=nvmlDeviceGetCurrentClocksEventReasons:13"
    ).readings

    assert readings["temperature"].source == "nvmlDeviceGetTemperature"
    assert readings["throttle"].source == "nvmlDeviceGetCurrentClocksThrottleReasons"


LIST = "nvmlDeviceGetComputeRunningProcesses"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("", 3),
        (f"fail={LIST}_v3:13", 2),
        (f"fail={LIST}_v3:25;fail={LIST}_v2:13", 1),
        ("garble=3", 2),
        ("garble=3,2", 1),
    ],
)
def test_process_lists_of_three_versions(text: str, version: int) -> None:
    with loaded(text):
        reader = open_gpu(UUIDS[0], where=HERE)
        found, count = reader.processes(80 * GIB)

    assert found == (GpuProcess(11, 500), GpuProcess(12, None))
    assert (count.value, count.source[-2:]) == (2, f"v{version}")


def test_a_list_that_makes_no_sense_in_any_version_is_refused() -> None:
    reading = read("garble=3,2,1").readings["processes"]

    assert (reading.value, reading.reason) == (None, "process_list_garbled")


def test_more_memory_than_the_device_has_makes_no_sense() -> None:
    assert read(f"processes=11:{81 * GIB}").readings["processes"].reason == "process_list_garbled"


def test_no_processes_is_a_measured_zero() -> None:
    assert read("processes=").readings["processes"].value == 0


def test_a_lost_gpu_stands_in_the_list_with_its_reason() -> None:
    with loaded("fail=nvmlDeviceGetName:15") as library:
        readers = open_gpus(where=HERE)
        sample = readers[0].read()

    assert [reader.id for reader in readers] == ["gpu0", "gpu1"]
    assert {reading.reason for reading in sample.readings.values()} == {"gpu_lost"}
    assert library.open == 0


def test_gpus_share_one_session_in_the_order_of_the_bus() -> None:
    with loaded() as library:
        readers = open_gpus(where=HERE)
        assert [(one.id, one.name) for one in readers] == list(zip(UUIDS, NAMES, strict=True))
        assert library.open == 1
        for reader in readers:
            reader.close()
        assert library.open == 0


def test_identities_for_the_fingerprint() -> None:
    with loaded("mig=1"):
        gpus, reason = list_gpus()

    assert reason == ""
    assert gpus[1] == Gpu(
        name="Fast GPU", uuid=UUIDS[1], memory_bytes=80 * GIB, driver="580.65.06",
        pci="00000000:02:00.0", power_limit_w=700.0, mig=True, persistence=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "field"),
    [
        ("nvmlDeviceGetMemoryInfo", "memory_bytes"),
        ("nvmlDeviceGetPciInfo_v3", "pci"),
        ("nvmlDeviceGetPowerManagementLimit", "power_limit_w"),
        ("nvmlDeviceGetMigMode", "mig"),
        ("nvmlDeviceGetPersistenceMode", "persistence"),
    ],
)
def test_an_unsupported_fact_is_unknown_and_not_zero(function: str, field: str) -> None:
    with loaded(f"fail={function}:3"):
        gpus, _reason = list_gpus()

    assert [getattr(gpu, field) for gpu in gpus] == [None, None]


@pytest.mark.parametrize(
    "function", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2", "nvmlDeviceGetName"]
)
def test_a_failing_library_gives_its_words_as_reason(function: str) -> None:
    with loaded(f"fail={function}:15") as library:
        gpus, reason = list_gpus()

    assert gpus == ()
    assert "GPU is lost" in reason
    assert library.open == 0


def test_mig_instances_are_listed() -> None:
    with loaded("mig=1"):
        session = NvmlSession(where=HERE)
        handles = [session.call("nvmlDeviceGetHandleByIndex", index) for index in (0, 1)]
        assert [mig_uuids(session, handle) for handle in handles] == [(MIG_UUID,), ()]
    with loaded("fail=nvmlDeviceGetMaxMigDeviceCount:13"):
        assert mig_uuids(NvmlSession(where=HERE), handles[0]) == ()


def test_process_memory_is_found_by_pid() -> None:
    with loaded():
        assert process_memory_bytes(UUIDS[1], 11) == (500, "")


@pytest.mark.parametrize(
    ("pid", "uuid", "text", "where", "reason"),
    [
        (12, UUIDS[0], "", set(), "no_process_memory"),
        (12, UUIDS[0], "", {"windows"}, "wddm"),
        (12, UUIDS[0], "", {"wsl"}, "wsl"),
        (99, UUIDS[0], "", set(), "not_found"),
        (99, UUIDS[0], "", {"container"}, "container_pids"),
        (11, UUIDS[0], "garble=1,2,3", set(), "process_list_garbled"),
    ],
)
def test_process_memory_that_is_missing_has_a_reason(
    pid: int, uuid: str, text: str, where: set[str], reason: str
) -> None:
    with loaded(text):
        reading = open_gpu(uuid, where=frozenset(where)).process_memory(pid)

    assert (reading.value, reading.reason) == (None, reason)


def test_an_unknown_device_is_unavailable() -> None:
    with loaded() as library:
        memory, reason = process_memory_bytes("GPU-none", 11)

    assert memory is None
    assert "NVML 6" in reason
    assert library.open == 0


def sweep(reader: GpuReader, count: int, tick_s: float) -> list[Sample]:
    """Samples at the stand-in's own times."""
    taken = [reader.read_energy() for _ in range(count)]
    return [
        Sample((i + 1) * tick_s, 0.0, one.device, one.readings) for i, one in enumerate(taken)
    ]  # fmt: skip


def test_energy_of_a_counter_in_steps_of_a_tenth_of_a_second() -> None:
    with loaded("watts=60,430,2.5;tick=20"):
        window = energy_window(sweep(open_gpu(UUIDS[0], where=HERE), 300, 0.02))

    assert window.start_s is not None and window.end_s is not None and window.bound.value
    true_j = 60 * (2.5 - window.start_s) + 430 * (window.end_s - 2.5)
    assert window.counter.value == pytest.approx(true_j, abs=window.bound.value)
    assert window.bound.value < 0.01 * true_j
    assert window.power_source == "NVML field 186, chip, instant"
    assert window.flags == ()


def test_a_lagging_average_is_flagged() -> None:
    with loaded(f"watts=60,430,2.5;tick=20;{FIELDS.format(code=3)}"):
        window = energy_window(sweep(open_gpu(UUIDS[0], where=HERE), 300, 0.02))

    assert window.flags == ("counter_power_disagree",)
    assert "average" in window.power_source


def test_a_clock_ramp_and_throttling_are_seen() -> None:
    with loaded("sm=345,900,1400,1800,1965,1980"):
        reader = open_gpu(UUIDS[1], where=HERE)
        ramp = [reader.read() for _ in range(7)]
    hot = read("throttle=0x40")

    judged = judge_clocks([*ramp, hot], ramp[0].readings["sm_clock_max"])

    assert judged.discarded == (0, 1, 2, 7)
    assert judged.verdicts[7].throttle == ("hardware_thermal",)
