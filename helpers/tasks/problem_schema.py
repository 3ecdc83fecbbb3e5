# SPDX-License-Identifier: Apache-2.0
"""A programming problem as a model writes it: its schema, and the reading of a reply."""

import json
import re
from keyword import iskeyword
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError, model_validator


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) or iskeyword(name):
        raise ValueError(f"{name!r:.60} is no plain name of a function or parameter")
    return name


def _known_type(kind: str) -> str:
    kind = kind.replace(" ", "").lower()
    made = re.fullmatch(r"(list\[|dict\[str,){0,3}(int|float|bool|str)\]{0,3}", kind)
    if not made or kind.count("[") != kind.count("]"):
        raise ValueError(f"{kind!r:.60} is not made of int, float, bool, str, list[T] and dict[str, T]")
    return kind


Name = Annotated[str, AfterValidator(_identifier)]


class Parameter(BaseModel):
    """A parameter and the inputs that it allows."""

    name: Name
    type: Annotated[str, AfterValidator(_known_type)]
    low: float = Field(-20, ge=-1e9, le=1e9)
    high: float = Field(50, ge=-1e9, le=1e9)
    min_length: int = Field(0, ge=0, le=50)
    max_length: int = Field(8, ge=0, le=60)
    alphabet: str = Field("abcdeXYZ 019", min_length=1, max_length=200)

    @model_validator(mode="after")
    def _in_order(self):
        if self.low > self.high or self.min_length > self.max_length:
            raise ValueError(f"parameter {self.name}: its smallest value or length is above its largest")
        return self


class Example(BaseModel):
    """Arguments and what the function is claimed to return."""

    arguments: list[JsonValue]
    result: JsonValue


class Problem(BaseModel):
    """A problem as a model writes it."""

    statement: str = Field(min_length=20, max_length=4000)
    entry_point: Name
    parameters: list[Parameter] = Field(min_length=1, max_length=5)
    precondition: str = Field("True", max_length=400)
    examples: list[Example] = Field(min_length=1, max_length=6)
    solution: str = Field(min_length=10, max_length=8000)

    @model_validator(mode="after")
    def _examples_fit(self):
        if len({p.name for p in self.parameters}) < len(self.parameters):
            raise ValueError("two parameters have the same name")
        for example in self.examples:
            given, wanted = example.arguments, [p.type for p in self.parameters]
            if len(given) != len(wanted) or not all(fits(value, kind) for value, kind in zip(given, wanted)):
                raise ValueError(f"arguments {json.dumps(given)[:100]} are not of the types {', '.join(wanted)}")
        return self


def inner_type(kind: str) -> str:
    """T of list[T] and dict[str,T]."""
    return kind.partition("[")[2][:-1].removeprefix("str,")


def item_of(p: Parameter) -> Parameter:
    """What a list or dict holds, as a parameter of its own."""
    return p.model_copy(update={"type": inner_type(p.type), "min_length": 1, "max_length": 6})


def fits(value: Any, kind: str) -> bool:
    if kind.startswith("list["):
        return isinstance(value, list) and all(fits(v, inner_type(kind)) for v in value)
    if kind.startswith("dict["):
        return isinstance(value, dict) and all(fits(v, inner_type(kind)) for v in value.values())
    if kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value).__name__ == kind


def parse(text: str) -> tuple[Problem | None, str]:
    """The problem in a model's reply, or None and what is wrong with it, in words that the model can act on.

    Thoughts before </think> are dropped; the first JSON object counts, in a code block or not.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    if start < 0:
        return None, "there is no JSON object in it"
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()  # no infinities, no halves of characters
        return Problem.model_validate(found), ""
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors()[:3]]
        return None, "; ".join(faults)[:500]
    except (ValueError, RecursionError) as error:
        return None, f"it is not JSON ({error})"[:300]


def clean(text: str) -> str:
    """Text that can be written and sent: halves of characters, which models and programs can produce, become '?'."""
    return text.encode("utf-8", "replace").decode()
