import pytest

from skimp.estimators import _fitted
from skimp.estimators._fitted import Clock


@pytest.fixture
def now(monkeypatch):
    time = [100.0]
    monkeypatch.setattr(_fitted, "perf_counter", lambda: time[0])
    return time


def test_phases_are_in_the_order_in_which_they_ended_first(now):
    clock = Clock()
    for name, seconds in (("search", 1.0), ("map", 2.0), ("solve", 4.0), ("map", 8.0)):
        with clock.phase(name):
            now[0] += seconds
    assert list(clock.seconds.items()) == [("search", 1.0), ("map", 10.0), ("solve", 4.0)]


def test_a_phase_that_fails_is_counted(now):
    clock = Clock()

    def fail():
        now[0] += 7
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), clock.phase("solve"):
        fail()
    assert clock.seconds == {"solve": 7.0}
