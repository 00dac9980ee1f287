"""Code that came as bytes has lost the name of its file: it gets it back, so that tracebacks tell where it is."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

DYNAMIC = "<dynamic-code>"
"""What stands in code in place of its file's name, after it was sent."""


def name_file(made: object, file: str) -> None:
    """Have all code that a function or class uses, and that was sent with it, say which file it is from."""
    seen: set[int] = set()
    waiting: list[Any] = [made] if file else []
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType) and one.__code__.co_filename == DYNAMIC:
            one.__code__ = _in_file(one.__code__, file)
            waiting += [*one.__globals__.values(), *_enclosed(one), getattr(one, "__wrapped__", None)]
        elif isinstance(one, type):
            waiting += vars(one).values()
        elif isinstance(one, staticmethod | classmethod):
            waiting.append(one.__func__)
        elif isinstance(one, property):
            waiting += [one.fget, one.fset, one.fdel]


def _enclosed(function: FunctionType) -> list[object]:
    found: list[object] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue  # it is empty
    return found


def _in_file(code: CodeType, file: str) -> CodeType:
    parts = tuple(_in_file(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=parts)
