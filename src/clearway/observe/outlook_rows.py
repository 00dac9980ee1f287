"""An outlook as a document: everything typed, with the sentences beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.observe.need_words import need_row
from clearway.observe.outlook_words import (
    change_sentence,
    eta_sentence,
    expected_sentence,
    fits_sentence,
    lack_sentence,
    lifts_sentence,
    needs_sentence,
)
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.model.outlook import Change, Eta, Holder, Lack, Outlook
    from clearway.observe.timeline import Face


def outlook_row(outlook: Outlook, face: Face) -> dict[str, Any]:
    """Return an outlook; amounts are in the program's units, as the facts of a reason are."""
    expected = None
    if outlook.start_us is not None:
        expected = {"start": face.at(outlook.start_us), "nodes": list(outlook.nodes)}
    return {
        "verdict": outlook.verdict,
        "text": expected_sentence(outlook, face.moment),
        "expected": expected,
        "eta": None if outlook.eta is None else _eta(outlook.eta, face),
        "lacks": [_lack(one, face) for one in outlook.lacks],
        "changes": [_change(one) for one in outlook.changes],
        "fits": {"nodes": list(outlook.fits), "more": outlook.more_fit, "of": outlook.of_nodes},
        "fits_text": fits_sentence(outlook),
        "looked_to": None if outlook.looked_us is None else face.at(outlook.looked_us),
        "needs": [need_row(need) for need in outlook.needs],
        "needs_text": needs_sentence(outlook),
        "now": None if outlook.reason is None else sentence(outlook.reason, face.moment),
    }


def _eta(eta: Eta, face: Face) -> dict[str, Any]:
    low, middle, high = (None if us is None else face.at(us) for us in (eta.low_us, eta.median_us, eta.high_us))
    return {"low": low, "median": middle, "high": high, "samples": eta.samples, "text": eta_sentence(eta, face.moment)}


def _lack(lack: Lack, face: Face) -> dict[str, Any]:
    return {
        "level": lack.level,
        "name": lack.name or None,
        "resource": lack.resource or None,
        "need": lack.need,
        "has": lack.has,
        "short": lack.short,
        "holders": [_holder(one, face) for one in lack.holders],
        "more_holders": lack.more,
        "until": None if lack.until_us is None else face.at(lack.until_us),
        "lifts": list(lack.lifts),
        "text": lack_sentence(lack, face.moment),
        "lifts_text": lifts_sentence(lack),
    }


def _holder(one: Holder, face: Face) -> dict[str, Any]:
    until = None if one.until_us is None else face.at(one.until_us)
    return {"job": one.job, "name": one.name, "queue": one.queue, "amount": one.amount, "until": until}


def _change(one: Change) -> dict[str, Any]:
    return {
        "word": one.word,
        "before": one.before,
        "after": one.after,
        "role": one.role or None,
        "how": one.how,
        "nodes": list(one.nodes),
        "text": change_sentence(one),
    }
