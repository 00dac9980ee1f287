"""Our numbers are shown as the library's own counters and histograms show theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from clearway.observe.tallies import Count, Tallies, Times

BOUNDS = (0.1, 1, 5, 14_400)
VALUES = st.one_of(st.sampled_from([0.0, 0.1, 1.0, 5.0, 5.5, 14_400.0, 1e9]), st.floats(0, 1e6))


def page(registry: CollectorRegistry) -> list[bytes]:
    return [line for line in generate_latest(registry).splitlines() if b"_created" not in line]


@given(st.lists(st.tuples(VALUES, st.sampled_from(["a", 'b"\n', "c\\"])), max_size=30))
def test_they_look_the_same(seen: list[tuple[float, str]]) -> None:
    theirs, ours = CollectorRegistry(), CollectorRegistry()
    counter = Counter("x_count", "A count", ["q"], registry=theirs)
    plain = Counter("x_plain", "A count", registry=theirs)
    histogram = Histogram("x_time", "A time", ["q"], buckets=BOUNDS, registry=theirs)
    whole = Histogram("x_whole", "A time", buckets=BOUNDS, registry=theirs)
    count, one = Count("x_count", "A count", "q"), Count("x_plain", "A count")
    times, all_of = Times("x_time", "A time", BOUNDS, "q"), Times("x_whole", "A time", BOUNDS)
    ours.register(Tallies(count, one, times, all_of))
    for value, label in sorted(seen, key=lambda pair: pair[1]):
        counter.labels(label).inc()
        plain.inc()
        histogram.labels(label).observe(value)
        whole.observe(value)
        count.add(label)
        one.add()
        times.add(value, label)
        all_of.add(value)
    assert page(ours) == page(theirs)
