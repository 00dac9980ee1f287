"""Values as Kubernetes writes them: quantities, moments, what containers ask for."""

from __future__ import annotations

import math
import re
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from clearway.interop.moments import moment_us
from clearway.model.errors import InputError
from clearway.model.values import MILLI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.interop.gaps import Gaps

UTC = ZoneInfo("UTC")
QUANTITY = re.compile(
    r"([0-9]{1,20}(?:\.[0-9]{0,12})?)(?:[eE]([+-]?[0-9]{1,2})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)"
)
UNITS: dict[str, Fraction | int] = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9,
    "T": 10**12, "P": 10**15, "E": 10**18, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
GPUS = frozenset({"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"})
PLAIN = {"cpu": "cpus", "memory": "memory"}
MODEL_LABELS = (
    "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name",
    "gpu.nvidia.com/model", "amd.com/gpu.product-name",
)  # fmt: skip
MODEL_OPERATOR = "In"


def fields(raw: object, *keys: str) -> Any:  # noqa: ANN401 - whatever an object holds
    """Return what lies below some keys; an empty map where there is no such thing."""
    found: Any = raw
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return {} if found is None else found


def listed(raw: object, *keys: str) -> list[dict[str, Any]]:
    """Return the objects of the list that lies below some keys."""
    found = fields(raw, *keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text(raw: object, *keys: str) -> str:
    """Return the text below some keys, nothing where there is none."""
    found = fields(raw, *keys)
    return found if isinstance(found, str) else ""


def number(raw: object, *keys: str) -> int | None:
    """Return the whole number below some keys."""
    found = fields(raw, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def moment(raw: object, *keys: str) -> int | None:
    """Return the moment below some keys. YAML gives it as a date. Raises InputError for what is none."""
    found = fields(raw, *keys)
    if found == {}:
        return None
    if isinstance(found, datetime):
        found = found.isoformat()
    if not isinstance(found, str):
        raise InputError(".".join(keys), found, "a time such as 2026-01-05T12:00:00Z")
    return moment_us(".".join(keys), found, UTC)


def quantity(field: str, value: object) -> Fraction:
    """Return an amount exactly: `500m`, `64Gi`, `2`, `1e3`."""
    match = None if isinstance(value, bool) else QUANTITY.fullmatch(str(value).strip())
    if match is None:
        raise InputError(field, value, "a quantity such as 2, 500m or 64Gi")
    return Fraction(match[1].rstrip(".")) * (
        Fraction(10) ** int(match[2]) if match[2] else UNITS.get(match[3] or "", 1)
    )


def needs(spec: object, gaps: Gaps) -> dict[str, object]:
    """Return what one pod asks for, all its containers together. Raises InputError."""
    sums: dict[str, Fraction] = {}
    for kind, value in _asked(spec):
        sums[kind] = sums.get(kind, Fraction(0)) + quantity(f"resources.{kind}", value)
    words: dict[str, object] = {}
    gpus = sum((n for kind, n in sums.items() if kind in GPUS), Fraction(0))
    models = list(_models(spec))
    for kind, amount in sums.items():
        if kind.startswith("nvidia.com/mig-") and amount:
            gpus += amount
            models = [kind.removeprefix("nvidia.com/mig-")]
        elif kind not in GPUS and kind not in PLAIN and "/" in kind and amount:
            gaps.assume(f"it asked for {kind:.80}, which has no word here")
    if gpus:
        words["gpus"] = math.ceil(gpus)
        words |= {"gpu_model": models} if models else {}
    if sums.get("cpu"):
        words["cpus"] = math.ceil(sums["cpu"] * MILLI) / MILLI
    if sums.get("memory"):
        words["memory"] = math.ceil(sums["memory"])
    return words


def _asked(spec: object) -> Iterator[tuple[str, object]]:
    """Yield what each container asks for: what it requests, else its limit."""
    for container in listed(spec, "containers"):
        limits, requests = fields(container, "resources", "limits"), fields(container, "resources", "requests")
        both = {**(limits if isinstance(limits, dict) else {}), **(requests if isinstance(requests, dict) else {})}
        yield from ((str(kind), value) for kind, value in both.items() if value is not None)


def _models(spec: object) -> Iterator[str]:
    """Yield the models of GPU that a pod accepts, by the labels that say so."""
    selector = fields(spec, "nodeSelector")
    for label in MODEL_LABELS:
        if isinstance(selector, dict) and isinstance(selector.get(label), str):
            yield selector[label]
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    for term in listed(spec, "affinity", "nodeAffinity", rule, "nodeSelectorTerms"):
        for one in listed(term, "matchExpressions"):
            values = one.get("values")
            if one.get("key") in MODEL_LABELS and one.get("operator") == MODEL_OPERATOR and isinstance(values, list):
                yield from (value for value in values if isinstance(value, str))
