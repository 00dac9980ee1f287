"""Typed reasons."""

from __future__ import annotations

from clearway.model.reasons import Code, Reason, because


def test_equal_reasons_are_equal_however_their_facts_were_given() -> None:
    assert because(Code.SLOTS, limit="database", slots=4) == because(Code.SLOTS, slots=4, limit="database")
    assert hash(because(Code.SLOTS, a=1, b=2)) == hash(because(Code.SLOTS, b=2, a=1))


def test_a_fact_is_found_by_its_name() -> None:
    reason = because(Code.NODE_LOST, node="n1", lease_us=5)
    assert (reason.get("node"), reason.get("lease_us"), reason.get("other"), reason.get("other", 0)) == ("n1", 5, "", 0)
    assert Reason(Code.PLACED).get("nodes") == ""


def test_codes_are_short_words_that_can_name_a_page() -> None:
    for code in Code:
        assert code.value.replace("-", "").isalpha()
        assert code.value == code.name.lower().replace("_", "-")
