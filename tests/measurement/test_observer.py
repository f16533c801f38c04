"""Cool-downs by a fake temperature, and observers of devices that are not there."""

from __future__ import annotations

from costlab.devices.readers import NullReader, ReplayReader
from costlab.devices.readings import Reading, Sample
from costlab.measurement.observer import Observer, open_observer


def _observer(*celsius: float) -> tuple[Observer, list[float]]:
    samples = [Sample(0.0, 0.0, "g", {"temperature": Reading(one, "°C")}) for one in celsius]
    pauses: list[float] = []
    reader = ReplayReader(samples, id="g", name="G", kind="gpu")
    return Observer(reader, pause=pauses.append), pauses


def _cool_down(observer: Observer) -> tuple[str, ...]:
    return observer.cool_down(lambda: False)


def test_the_first_pass_starts_at_once_and_sets_the_band() -> None:
    observer, pauses = _observer(40.0, 75.0, 66.0, 58.0)

    assert _cool_down(observer) == ()
    observer.ended()
    assert _cool_down(observer) == ()

    assert len(pauses) == 2


def test_nobody_waits_for_a_device_that_is_colder() -> None:
    observer, pauses = _observer(70.0, 40.0)

    _cool_down(observer)

    assert _cool_down(observer) == ("colder_than_band",)
    assert pauses == []


def test_a_cancel_ends_the_wait() -> None:
    observer, pauses = _observer(40.0, 90.0)
    _cool_down(observer)
    observer.ended()

    observer.cool_down(lambda: True)

    assert pauses == []


def test_without_a_temperature_nobody_waits() -> None:
    observer = Observer(NullReader("gpu", {"temperature": "°C"}, "no_driver"))

    assert _cool_down(observer) == _cool_down(observer) == ()


def test_a_gpu_that_is_not_there_is_observed_as_missing() -> None:
    reader = open_observer("cuda:99").reader

    assert reader.read().get("temperature").value is None
    assert open_observer("cpu").reader.kind == "cpu"
