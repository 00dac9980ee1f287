"""How single values are read: what is exact, and what is refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model import values as v
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = pytest.param(10**5000, id="huge")  # more digits than Python writes out
NOT_NUMBERS: list[object] = [True, False, None, "4", "", "4.0", [1], {}, math.nan, math.inf, -math.inf, 1j, b"1"]
EVERY: list[Callable[[str, object], object]] = [
    v.duration, v.size, v.gpus, v.milli, v.count, v.priority, v.flag, v.text, v.name, v.names, v.pairs, v.counts,
    v.instant,
]  # fmt: skip

# --- sizes -------------------------------------------------------------------------------------

SIZES = [
    (0, 0),
    (1073741824, 1073741824),
    ("1Ki", 1024),
    ("1k", 1000),
    ("500Mi", 524288000),
    ("24Gi", 25769803776),
    ("24GiB", 25769803776),
    ("24G", 24000000000),
    ("24GB", 24000000000),
    ("1.5Gi", 1610612736),
    ("1.25Gi", 1342177280),
    ("1Ti", 2**40),
    ("2TiB", 2**41),
    ("1T", 10**12),
    ("1kB", 1000),
    ("1KiB", 1024),
    ("0.1Ki", 103),  # rounded up
    ("0Gi", 0),
]
BAD_SIZES: list[object] = [
    "128m", "0.5", "1 Gi", "Gi", "", "-1Gi", "1Zz", "1e400", "1e3", "1e3Gi", "1GIB", "1gi", "1K", "1KB", "1B", "12",
    " 1Gi", "1Gi ", "1Gi\n", "1,5Gi", ".5Gi", "1.Gi", "+1Gi", "0x10Gi", "٣Gi", "infGi", "nanGi", 0.5, 1.0, -1,
    2**53 + 1, HUGE, "8193Ti", "9" * 5000 + "Gi", True, None, math.nan, math.inf, [], {},
]  # fmt: skip


@pytest.mark.parametrize(("given", "size_bytes"), SIZES)
def test_a_size_means_what_it_says(given: object, size_bytes: int) -> None:
    assert v.size("memory", given) == size_bytes


@pytest.mark.parametrize("bad", BAD_SIZES)
def test_a_bad_size_is_refused_with_field_value_and_rule(bad: object) -> None:
    with pytest.raises(InputError) as caught:
        v.size("memory", bad)
    assert caught.value.field == "memory"
    assert str(caught.value).startswith("memory: ")
    assert "size" in caught.value.rule or "at most" in caught.value.rule


@given(st.integers(0, 2**53))
def test_a_whole_number_of_bytes_is_itself(size_bytes: int) -> None:
    assert v.size("memory", size_bytes) == size_bytes


@given(st.decimals(0, 1000, places=3), st.sampled_from(["k", "M", "G", "Ki", "Mi", "Gi"]), st.sampled_from(["", "B"]))
def test_a_decimal_size_is_the_exact_product_rounded_up(part: object, unit: str, tail: str) -> None:
    base, power = (1024, "KMG") if unit.endswith("i") else (1000, "kMG")
    exact = Fraction(str(part)) * base ** (power.index(unit[0]) + 1)
    assert v.size("disk", f"{part}{unit}{tail}") == math.ceil(exact)


# --- durations ---------------------------------------------------------------------------------

DURATIONS = [
    (0, 0), (30, 30_000_000), (0.5, 500_000), (0.1, 100_000), (1e-6, 1), ("30s", 30_000_000), ("10m", 600_000_000),
    ("4h", 14_400_000_000), ("2d", 172_800_000_000), ("1h30m", 5_400_000_000), ("1.5h", 5_400_000_000),
    ("1d1h1m1s", 90_061_000_000), ("0s", 0),
]  # fmt: skip
BAD_DURATIONS: list[object] = [
    "", "30", "s", "30 s", "30S", "-30s", "1e3s", "1h 30m", "30ms", "30us", "30sec", "٣s", "9" * 5000 + "s", -1, -0.5,
    math.nan, math.inf, -math.inf, True, None, "none", [30], {"s": 30}, 10**6 * 86_400 + 1, HUGE, "1000001d", 1e-7,
    "0.0000001s", 1e300,
]  # fmt: skip


@pytest.mark.parametrize(("given", "wait_us"), DURATIONS)
def test_a_duration_is_exact_microseconds(given: object, wait_us: int) -> None:
    assert v.duration("time_limit", given) == wait_us


@pytest.mark.parametrize("bad", BAD_DURATIONS)
def test_a_bad_duration_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^time_limit: "):
        v.duration("time_limit", bad)


@given(st.integers(0, 900), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_parts_of_a_duration_add_up(days: int, hours: int, minutes: int, seconds: int) -> None:
    whole = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert v.duration("x", f"{days}d{hours}h{minutes}m{seconds}s") == whole // timedelta(microseconds=1)


@given(st.integers(0, 10**15))
def test_seconds_as_a_decimal_keep_every_microsecond_they_can_hold(wait_us: int) -> None:
    assert v.duration("x", f"{wait_us // 10**6}.{wait_us % 10**6:06}s") == wait_us


# --- GPUs and other thousandths ----------------------------------------------------------------

GPUS = [(0, 0), (1, 1000), (8, 8000), (2.0, 2000), (0.5, 500), (0.25, 250), (0.001, 1), (0.3, 300), (0.0, 0), (-0.0, 0)]


@pytest.mark.parametrize(("given", "milli"), GPUS)
def test_gpus_are_thousandths_of_a_device(given: object, milli: int) -> None:
    assert v.gpus("gpus", given) == milli


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, 1.5, 2.25, -1, -0.5, 10**6 + 1, HUGE, 1e300])
def test_bad_gpus_are_refused_with_the_rule(bad: object) -> None:
    with pytest.raises(InputError, match="^gpus: ") as caught:
        v.gpus("gpus", bad)
    assert "share of one device" in caught.value.rule or "at most" in caught.value.rule


@pytest.mark.parametrize("tiny", [0.0009, 1e-9, 5e-324])
def test_less_than_a_milli_gpu_is_refused_naming_the_smallest_unit(tiny: float) -> None:
    with pytest.raises(InputError, match=r"smallest share is 0\.001"):
        v.gpus("gpus", tiny)


@given(st.floats(0.001, 1, exclude_max=True))
def test_shares_never_round_up_so_equal_shares_of_one_device_always_fit_it(share: float) -> None:
    assert 1 <= v.gpus("gpus", share) <= share * 1000 * (1 + 1e-12)


MILLIS = [(0, 0), (0.1, 100), (1, 1000), (2.5, 2500), (0.001, 1), (64, 64000)]


@pytest.mark.parametrize(("given", "milli"), MILLIS)
def test_cpus_are_thousandths(given: object, milli: int) -> None:
    assert v.milli("cpus", given) == milli


def test_eight_times_a_tenth_is_exactly_eight_tenths() -> None:
    assert 8 * v.milli("cpus", 0.1) == v.milli("cpus", 0.8)


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, -1, -0.001, 10**6 + 1, 0.0001, HUGE])
def test_bad_cpus_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^cpus: "):
        v.milli("cpus", bad)


# --- counts, priorities, flags -----------------------------------------------------------------


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, 1.0, 0.5, -1, 10**6 + 1, HUGE])
def test_bad_counts_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^max_retries: ") as caught:
        v.count("max_retries", bad)
    assert "from 0 to 1000000" in caught.value.rule


@given(st.integers(-(2**31) + 1, 2**31 - 1))
def test_any_whole_number_of_32_bits_is_a_priority(number: int) -> None:
    assert v.priority("priority", number) == number


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, 1.0, 2**31, -(2**31), HUGE])
def test_bad_priorities_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^priority: "):
        v.priority("priority", bad)


@pytest.mark.parametrize("bad", [0, 1, "true", "yes", None, 1.0, []])
def test_a_flag_is_true_or_false_and_nothing_else(bad: object) -> None:
    assert v.flag("spot", True) is True
    assert v.flag("spot", False) is False
    with pytest.raises(InputError, match="true or false"):
        v.flag("spot", bad)


# --- texts and maps ----------------------------------------------------------------------------


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=1000))
def test_any_text_of_a_thousand_characters_is_a_name(name: str) -> None:
    assert v.name("name", name) == name
    assert name.encode().decode() == name


@pytest.mark.parametrize("bad", ["", "x" * 1001, "a\0b", "\ud800", "a\udfffb", 5, None, True, b"x", ["x"], {"x": 1}])
def test_bad_names_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^name: "):
        v.name("name", bad)


def test_one_name_stands_for_a_list_of_one() -> None:
    assert v.names("after", "a") == v.names("after", ["a"]) == ("a",)
    assert v.names("after", []) == ()


@pytest.mark.parametrize("bad", [5, None, True, {"a": 1}, ["a", 5], ["a", ""], [["a"]]])
def test_bad_lists_of_names_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^after: "):
        v.names("after", bad)


def test_maps_are_sorted_so_that_equal_ones_are_equal() -> None:
    assert v.pairs("labels", {"b": "2", "a": 1}) == v.pairs("labels", {"a": "1", "b": 2}) == (("a", "1"), ("b", "2"))
    assert v.counts("resources", {"b": 2, "a": 1, "none": 0}) == (("a", 1), ("b", 2))


@pytest.mark.parametrize("bad", [5, "a=b", ["a"], None, {"a": True}, {"a": 1.5}, {"a": None}, {"a": "\0"}, {5: "a"}])
def test_bad_maps_of_texts_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^labels"):
        v.pairs("labels", bad)


@pytest.mark.parametrize("bad", [5, "a", ["a"], None, {"a": True}, {"a": 1.5}, {"a": -1}, {"a": "1"}, {5: 1}, {"": 1}])
def test_bad_maps_of_counts_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^resources"):
        v.counts("resources", bad)


@pytest.mark.parametrize("bad", ["other", "", None, 5, ["none"], True])
def test_a_choice_names_what_is_allowed(bad: object) -> None:
    assert v.choice("spot", "allow", ("allow", "avoid")) == "allow"
    with pytest.raises(InputError, match="one of allow, avoid"):
        v.choice("spot", bad, ("allow", "avoid"))


# --- moments -----------------------------------------------------------------------------------


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)), st.integers(-720, 720))  # noqa: DTZ001  zone is added
def test_an_instant_is_the_same_moment_in_every_zone(plain: datetime, offset_min: int) -> None:
    moment = plain.replace(tzinfo=UTC)
    there = moment.astimezone(timezone(timedelta(minutes=offset_min)))
    exact = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert v.instant("deadline", there.isoformat()) == v.instant("deadline", there) == exact


def test_z_is_an_offset() -> None:
    assert v.instant("deadline", "2026-12-01T08:00:00Z") == 1_796_112_000 * 10**6


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "soon",
        "2026-12-01",
        "2026-12-01T08:00:00",
        "2026-13-01T08:00:00Z",
        "1969-12-31T23:59:59Z",
        5,
        None,
        True,
        1e9,
    ],
)
def test_a_time_without_an_offset_or_before_1970_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="^deadline: .*with an offset|a text"):
        v.instant("deadline", bad)


# --- whatever comes ----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("read", EVERY)
@given(raw=JSON)
def test_whatever_comes_is_read_or_refused_and_nothing_else(read: Callable[[str, object], object], raw: object) -> None:
    try:
        read("word", raw)
    except InputError as error:
        assert error.field.startswith("word")
        assert error.rule
