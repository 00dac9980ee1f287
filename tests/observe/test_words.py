"""Each reason in words: the amounts are there, the words are those of docs/job.md, and missing facts do no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from clearway.model.errors import InputError
from clearway.model.reasons import Code, Fact, Reason, because
from clearway.model.values import gpus
from clearway.observe import words
from clearway.observe.words import sentence

ROOT = Path(__file__).resolve().parent.parent.parent
S = 1_000_000
GIB = 2**30

SENTENCES: list[tuple[Reason, str]] = [
    (
        because(Code.NO_CAPACITY, gpus=4000, tasks=1, nodes=2, short_gpus=2, most_free_gpus=1000, best_node="n1"),
        "needs 4 GPUs on one node, 1 free on n1; 2 nodes: 2 with too few GPUs free",
    ),
    (
        because(Code.NO_CAPACITY, share=600, tasks=1, nodes=2, short_share=2, most_free_gpus=800, best_node="n1"),
        "needs 0.6 of one GPU device on one node, 0.8 free on n1; 2 nodes: 2 with no device that has enough of it free",
    ),
    (
        because(Code.NO_CAPACITY, gpu_memory=12 * GIB, cpus=500, memory=GIB, tasks=1),
        "needs 12 GiB of GPU memory on one device, 0.5 CPUs and 1 GiB of memory on one node",
    ),
    (
        because(Code.NO_CAPACITY, gpus=1000, tasks=8, fit=3, nodes=1, short_gpus=1),
        "needs 8 tasks at once, each with 1 GPU on one node; 3 of them fit now; 1 node: 1 with too few GPUs free",
    ),
    (
        because(Code.NO_CAPACITY, gpus=1000, tasks=1, models="A100, H100", nodes=3, wrong_model=2, drained=1),
        "needs 1 GPU of model A100 or H100 on one node; 3 nodes: 2 with another GPU model, 1 drained",
    ),
    (
        because(Code.NO_CAPACITY, gpus=1000, tasks=1, nodes=2, tainted=1, taints="kept", short_gpus=1),
        "needs 1 GPU on one node; 2 nodes: 1 with a taint that it does not tolerate (kept), 1 with too few GPUs free",
    ),
    (
        because(Code.NO_CAPACITY, tasks=1, nodes=1, wrong_label=1, wants="zone=z1", **{"res.npu": 2}),
        "needs 2 npu on one node; 1 node: 1 without a label that it wants (zone=z1)",
    ),
    (
        because(Code.NO_CAPACITY, tasks=2, fit=0, cpus=1000, role="big", nodes=1, short_res_npu=1, pin="n1"),
        (
            "needs 2 tasks at once, each with 1 CPU on its pinned node n1; role big; 0 of them fit now; "
            "1 node: 1 with too little npu free"
        ),
    ),
    (
        because(Code.NEVER_FITS, gpus=8000, tasks=1, nodes=2, too_small=2, largest_gpus=4000),
        (
            "no node can ever run it: needs 8 GPUs on one node; the largest node that it could use has 4 GPUs; "
            "2 nodes: 2 too small even when empty"
        ),
    ),
    (because(Code.BEHIND, first="H"), "waits behind H, which goes first on the nodes that it could use"),
    (
        because(Code.RESERVATION, first="H", start_us=100 * S, node="n1"),
        "would delay the reservation of H to start at 100 s on n1",
    ),
    (
        because(Code.RESERVATION, start_us=100 * S, node="n1"),
        "has a reservation to start at 100 s on n1",
    ),
    (
        because(Code.QUEUE_LIMIT, queue="parent", resource="gpus", need=5000, used=4000, limit=4000),
        "needs 5 GPUs; queue parent holds 4 GPUs and may hold at most 4 GPUs (its limit)",
    ),
    (
        because(Code.QUEUE_LIMIT, queue="q", resource="memory", need=GIB, used=0, limit=GIB // 2),
        "needs 1 GiB of memory; queue q holds 0 bytes of memory and may hold at most 512 MiB of memory (its limit)",
    ),
    (
        because(Code.SPOT_NOTICE, node="s1", gone_us=40_000_000),
        "node s1 is taken away by its provider at 40 s",
    ),
    (because(Code.SLOTS, limit="db", slots=1, used=1), "waits for a slot of the limit db: all 1 are in use"),
    (because(Code.AFTER, jobs="prepare, clean"), "waits for prepare, clean to succeed"),
    (
        because(Code.RETRY_DELAY, until_us=31 * S, tries=1, max_retries=3),
        "retry 1 of 3 may start at 31 s (retry delay)",
    ),
    (because(Code.PLACED, nodes="n1, n2"), "was next in order and fits on n1, n2"),
    (
        because(Code.BACKFILLED, nodes="n1", first="H", start_us=100 * S),
        "fits on n1 without touching the reservation of H at 100 s (backfill)",
    ),
    (because(Code.EXITED, exit_code=137), "exited with code 137"),
    (because(Code.CANCELLED, by=""), "was cancelled"),
    (because(Code.CANCELLED, by="ada"), "was cancelled by ada"),
    (because(Code.TIME_LIMIT, limit_us=5400 * S), "ran for its time limit of 1 h 30 min"),
    (because(Code.DEADLINE, deadline_us=100 * S), "had not succeeded by its deadline, 100 s"),
    (because(Code.START_DEADLINE, limit_us=30 * S), "had not started by its start deadline, 30 s after its submit"),
    (because(Code.NODE_LOST, node="n1", lease_us=30 * S), "node n1 was lost: not heard of for the lease of 30 s"),
    (
        because(Code.START_FAILED, error="no such program: trian.py"),
        "could not be started: no such program: trian.py",
    ),
    (because(Code.EXIT_UNKNOWN), "ended while nobody saw it, so its exit code is unknown (counts as a loss)"),
    (
        because(Code.RETRIES_USED_UP, tries=4, max_retries=3, exit_code=1),
        "exited with code 1; failed 4 times, which uses up its retries (max_retries 3)",
    ),
    (
        because(Code.ARRAY, jobs=100, at_once=10),
        "is an array: its 100 jobs start one by one, as they fit, at most 10 at once",
    ),
    (because(Code.ARRAY, jobs=2, at_once=0), "is an array: its 2 jobs start one by one, as they fit"),
    (because(Code.ARRAY_TURN), "waits behind others of its array, of which a few at a time stand in the line"),
    (
        because(Code.INDICES, failed=2, cancelled=1, of=100, named="3, 17"),
        "of its 100 jobs 2 failed and 1 cancelled (failed: indices 3, 17)",
    ),
    (
        because(Code.RETRIES_USED_UP, tries=2, max_retries=1, limit_us=10 * S),
        "ran for its time limit of 10 s; failed 2 times, which uses up its retries (max_retries 1)",
    ),
    (because(Code.MAX_COST, max_cost=12_500_000), "has cost the 12.5 that it may cost (max_cost)"),
    (
        because(Code.RAN_SHORT, word="memory", had=144 * 2**20, asked=2**30),
        (
            "ran out of memory with the 144 MiB that it was given; it is tried again with the 1 GiB that it asks for,"
            " which counts as no failure of its own"
        ),
    ),
    (
        because(Code.NOT_RETRIED, exit_code=1, retry_on="exit 75, timed_out"),
        "exited with code 1, which is not tried again (retry_on exit 75, timed_out)",
    ),
    (
        because(Code.LOSSES_USED_UP, losses=1, max_losses=0, node="n1"),
        "node n1 was lost; it lost its place once, more than it survives (max_losses 0)",
    ),
    (because(Code.RETRY_WINDOW, window_us=100 * S), "its retry window of 1 min 40 s after its first start is over"),
    (because(Code.DEPENDENCY, job="prepare", state="failed"), "needs prepare to succeed, which is failed"),
    (
        because(Code.BAD_VALUE, field="gpus", value="1.5", rule="a whole number >= 0, or a fraction below 1"),
        "gpus: 1.5 is refused: a whole number >= 0, or a fraction below 1",
    ),
    (
        because(Code.QUEUE_LIMIT, queue="lab", user="ann", resource="gpus", need=1000, used=2000, limit=2000),
        "needs 1 GPU; user ann holds 2 GPUs in queue lab and may hold at most 2 GPUs there (its limit per user)",
    ),
    (
        because(Code.BOOKED, booking="demo", from_us=100 * S, to_us=200 * S),
        "has room only where booking demo keeps it for others from 100 s to 200 s",
    ),
    (because(Code.STEP_FAILED, steps="clean", many=1), "step clean failed"),
    (because(Code.STEP_FAILED, steps="a, b", many=2), "steps a, b failed"),
    (because(Code.STEP_FAILED, steps="a, b", many=9), "steps a, b and others, 9 in all failed"),
    (
        because(Code.LOOP_LIMIT, step="improve", max_loops=5),
        "step improve reached its loop limit: 5 passes (max_loops 5) and no end",
    ),
    (
        because(Code.RULE, rule="all_succeeded", failed=1, skipped=2),
        "its rule all_succeeded cannot hold any more; of the steps before it: 1 failed, 2 skipped",
    ),
    (because(Code.CONDITION, condition="a.rows > 0"), "its condition is false: a.rows > 0"),
    (because(Code.NOT_CHOSEN, step="pick"), "step pick did not choose it"),
    (
        because(Code.NOT_A_LIST, step="gen"),
        "runs once for each item of the result of gen, which is no list",
    ),
    (because(Code.NOT_A_FOLLOWER, name="deploy"), "chose deploy, which is no step that comes directly after it"),
    (
        because(Code.TOO_LONG, what="its result", most=1_000_000, deep=100),
        "its result is longer than 1,000,000 characters, or nested more than 100 times: put large data into a file",
    ),
    (because(Code.SKIPPED_ITSELF, exit_code=99), "had nothing to do (it exited with code 99)"),
    (
        because(Code.PREVIOUS_RUN, run="S@1", success=1),
        "waits for the run S@1 of its schedule to succeed",
    ),
    (because(Code.PREVIOUS_RUN, run="S@1", success=0), "waits for the run S@1 of its schedule to be over"),
    (because(Code.OVERLAP, run="S@1", state="running"), "overlap: the run S@1 is still running"),
    (
        because(Code.CLOCK_CHANGE, timezone="Europe/Berlin"),
        "the clocks of Europe/Berlin leave out this hour (dst: skip)",
    ),
    (
        because(Code.EVERY_POINT, points=6, completed=5, trials=10),
        "every point of the space was tried (6): 5 of 10 trials completed",
    ),
    (because(Code.EXCLUDED, timezone="Europe/Berlin"), "its day in Europe/Berlin is excluded"),
    (
        because(Code.NO_POINT, error="ValueError: no"),
        "its sampler found no point: ValueError: no",
    ),
    (
        because(Code.TRIALS_FAILED, failed=11, max_failed=10),
        "11 trials failed, more than it allows (max_failed 10)",
    ),
    (because(Code.SKIPPED_BY, by="ada"), "was left out by ada"),
    (
        because(Code.STOPPED_EARLY, rule="median", step=3),
        "stopped early by the rule median: others did better at step 3",
    ),
    (because(Code.FLOW_OVER), "its workflow was stopped before it began"),
    (because(Code.BOOKED, booking="demo"), "has room only where booking demo keeps it for others"),
    (
        because(Code.ORDERED, machines="T-1, T-2", ready_us=50 * S),
        "waits for an ordered machine: T-1, T-2, ready at 50 s",
    ),
    (
        because(Code.MACHINE_LIMIT, kind="T", most=4),
        "too few machines may still be ordered of type T, which may have 4 at most",
    ),
    (
        because(Code.MACHINE_LIMIT, kind="T", until_us=600 * S),
        "machines of type T could not be ordered, and are not tried again before 600 s",
    ),
    (because(Code.NEEDED, first="train"), "train waits and finds no other place"),
    (because(Code.NEEDED, least=2), "at least 2 of its type are to be there"),
    (because(Code.IDLE, idle_us=120 * S), "nobody needed the machine for 2 min"),
    (because(Code.NOT_NEEDED), "the order was taken back: nobody counts on the machine any more"),
    (because(Code.BOOT_TIMEOUT, timeout_us=900 * S), "the machine had not come 15 min after its order"),
    (because(Code.ORDER_FAILED, error="none left"), "the order of the machine failed: none left"),
    (because(Code.ORDER_FAILED), "the order of the machine failed: the provider does not say why"),
    (because(Code.HELD, by="ann"), "is held back by ann"),
    (because(Code.HELD, by=""), "is held back until it is released"),
    (because(Code.REQUEUED, by="ann"), "was put back into its queue by ann"),
    (because(Code.REQUEUED), "was put back into its queue"),
    (
        because(Code.BUDGET, budget="vision", period="month", gpu_milli_hours=500_000, until_us=60_000_000),
        "budget vision of 500 GPU-hours a month is used up, until 60 s",
    ),
    (because(Code.BUDGET, budget="b", period="day", cost=2_500_000), "budget b of 2.5 a day is used up"),
    (because(Code.IDLE_GPUS, idle_us=7_200_000_000), "its devices did nothing for 2 h, and others wait for them"),
    (
        because(Code.NO_VICTIM, why="priority: nobody of lower priority than 50 runs in queue research"),
        "may stop nobody for it (priority: nobody of lower priority than 50 runs in queue research)",
    ),
    (
        because(Code.FROZEN, first="V", job=1, until_us=3610 * S),
        "V was stopped for it twice within an hour, and is not again before 3610 s",
    ),
    (because(Code.CLEARING), "a place is being cleared for it: those who stand there are told to stop"),
    (
        because(Code.PREEMPTED, first="P", cause="priority", priority=100, lost=20_000_000_000),
        "makes room for P, which has a higher priority (100); 20 s of device time is lost by it",
    ),
    (because(Code.GROWN, tasks=2), "grows by 2 tasks into what no waiting job can use"),
    (
        because(Code.INHERITED, nodes="n1", priority=100, first="urgent"),
        "fits on n1 and was raised to priority 100 by urgent, which waits for it",
    ),
]


@pytest.mark.parametrize(("reason", "text"), SENTENCES)
def test_a_reason_in_words(reason: Reason, text: str) -> None:
    assert sentence(reason) == text


def test_every_code_has_an_example() -> None:
    assert {reason.code for reason, _ in SENTENCES} == set(Code)


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence_without_facts_and_with_strange_ones(code: Code) -> None:
    assert sentence(Reason(code)).strip()
    facts: dict[str, Fact] = {k: "x" for _, k in _all_facts()}
    assert sentence(because(code, **facts)).strip()


def _all_facts() -> list[tuple[Code, str]]:
    return [(reason.code, key) for reason, _ in SENTENCES for key, _ in reason.facts]


@pytest.mark.parametrize("code", Code)
def test_every_code_has_its_page(code: Code) -> None:
    page = (ROOT / "docs" / "reasons" / f"{code}.md").read_text()
    assert page.startswith(f"# {code}\n")
    for part in ("## What it means", "## What lifts it", "## Facts"):
        assert part in page


def test_no_page_is_left_over() -> None:
    pages = {p.stem for p in (ROOT / "docs" / "reasons").glob("*.md")} - {"README"}
    assert pages == set(Code)


def test_a_page_shows_a_sentence_as_it_is_said() -> None:
    for reason, text in SENTENCES:
        page = (ROOT / "docs" / "reasons" / f"{reason.code}.md").read_text()
        said = [line[2:] for line in page.splitlines() if line.startswith("> ")]
        known = {t for r, t in SENTENCES if r.code is reason.code}
        assert said, reason.code
        assert set(said) <= known, (reason.code, text)


def test_moments_are_put_into_words_by_the_shell() -> None:
    reason = because(Code.RESERVATION, first="H", start_us=5, node="n1")
    assert "to start at noon on" in sentence(reason, lambda us: "noon" if us == 5 else "?")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "\u202eevil", "a\tb"])
def test_names_are_shown_escaped(name: str) -> None:
    text = sentence(because(Code.BEHIND, first=name))
    assert text.isprintable()
    assert "\\" in text


def test_names_of_other_scripts_are_shown_as_they_are() -> None:
    assert "Größe 猫" in sentence(because(Code.BEHIND, first="Größe 猫"))


def test_a_refused_value_reads_as_its_error() -> None:
    with pytest.raises(InputError) as caught:
        gpus("gpus", 1.5)
    error = caught.value
    reason = because(Code.BAD_VALUE, field=error.field, value=error.value, rule=error.rule)
    assert sentence(reason) == str(error)


def test_needs_are_in_the_units_of_files() -> None:
    reason = because(Code.NO_CAPACITY, gpus=4000, cpus=500, memory=GIB, nodes=3, short_gpus=3, **{"res.npu": 2})
    assert words.needs(reason) == {"gpus": 4, "cpus": 0.5, "memory": GIB, "npu": 2}
    assert words.needs(because(Code.NO_CAPACITY, share=600)) == {"gpus": 0.6}
    assert words.needs(because(Code.BEHIND, first="x")) == {}


EXPECTED: list[tuple[str, Reason, list[str | list[str]]]] = [
    ("14 node", because(Code.NO_CAPACITY, gpus=4000, tasks=1, nodes=2, short_gpus=2), ["4", "node"]),
    (
        "27 limit",
        because(Code.QUEUE_LIMIT, queue="parent", resource="gpus", need=5000, used=0, limit=4000),
        ["4", ["limit", "quota", "at most"]],
    ),
    ("32 share", because(Code.NO_CAPACITY, share=600, tasks=1), [["0.6", "600"], ["device", "gpu"]]),
    (
        "33 tiny",
        because(Code.BAD_VALUE, field="gpus", value="1e-07", rule="the smallest share is 0.001 (one milli-GPU)"),
        [["0.001", "milli", "smallest"]],
    ),
    (
        "36 one and a half",
        because(Code.BAD_VALUE, field="gpus", value="1.5", rule="a whole number >= 0, or a fraction below 1"),
        ["gpus", "1.5", ["whole", "fraction", "below 1"]],
    ),
    (
        "52 retries",
        because(Code.RETRIES_USED_UP, tries=5, max_retries=4, exit_code=1),
        [["retry", "retries", "attempts"]],
    ),
    ("52 window", because(Code.RETRY_WINDOW, window_us=100 * S), ["window"]),
    ("55 time limit", because(Code.TIME_LIMIT, limit_us=100 * S), [["time limit", "time_limit"]]),
    ("55b deadline", because(Code.DEADLINE, deadline_us=100 * S), ["deadline"]),
    ("80 too large", because(Code.NEVER_FITS, gpus=8000, tasks=1, largest_gpus=4000), ["8", ["node", "4"]]),
    ("80 model", because(Code.NEVER_FITS, gpus=1000, models="H100", nodes=2, wrong_model=2), ["H100"]),
    (
        "107 taint",
        because(Code.NO_CAPACITY, gpus=1000, nodes=2, tainted=1, taints="maintenance"),
        [["maintenance", "taint", "tolerate"]],
    ),
    ("start deadline", because(Code.START_DEADLINE, limit_us=S), ["start deadline"]),
    ("retry window", because(Code.RETRY_WINDOW, window_us=S), ["retry window"]),
]
"""What scenario files expect to be mentioned: (which, reason, mentions)."""


@pytest.mark.parametrize(("which", "reason", "mentions"), EXPECTED)
def test_a_sentence_mentions_what_scenarios_expect(which: str, reason: Reason, mentions: list[str | list[str]]) -> None:
    text = sentence(reason).lower()
    for mention in mentions:
        alternatives = mention if isinstance(mention, list) else [mention]
        assert any(word.lower() in text for word in alternatives), (which, text)
