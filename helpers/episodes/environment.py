# SPDX-License-Identifier: Apache-2.0
"""What the rest asks of an environment module: its tools and their schemas, its readers, its version."""

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

# --- tools -----------------------------------------------------------------------------------------------


def tools_of(module, row: dict | None = None) -> list[str]:
    """Names of the tools of an environment, sorted as a trainer sorts them: the public methods of its class except
    `reset` and `get_reward`. Where the module has `tools_for(row)`, a row may offer fewer."""
    if row is not None and hasattr(module, "tools_for"):
        return sorted(module.tools_for(row))
    return [n for n in dir(module.ENV) if not n.startswith("_") and n not in ("reset", "get_reward")]


def offered(module, row: dict) -> list[Callable]:
    """The tools that a row offers, as methods of an instance."""
    env = module.ENV()
    return [getattr(env, name) for name in tools_of(module, row)]


def needs_tools(module) -> bool:
    """Whether an environment is answered by tool calls, as its own gold answers are, and not by one text."""
    return not isinstance(module.answer(module.make_rows(1)[0]), str)


_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def tool_schema(tool: Callable | dict) -> dict:
    """A tool as chat templates and trainers see it, without importing Transformers, whose `get_json_schema` gives the
    same for the types below.

    Args:
        tool: A function or method with a Google-style docstring and hints of str, int, float, bool, list, dict,
            Literal, or a union of these; or a schema in the shape of Chat Completions or of the Responses API.

    Returns:
        {"type": "function", "function": {"name", "description", "parameters", "return"}}
    """
    if isinstance(tool, dict):
        function = tool.get("function") or {key: value for key, value in tool.items() if key != "type"}
        return {"type": "function", "function": function}
    summary, arguments, returned = _documented(inspect.getdoc(tool) or "")
    hints = typing.get_type_hints(tool)
    taken = [p for p in inspect.signature(tool).parameters.values() if p.name != "self"]
    properties = {p.name: _kind(hints.get(p.name, str)) | {"description": arguments.get(p.name, "")} for p in taken}
    parameters = {"type": "object", "properties": properties}
    if required := [p.name for p in taken if p.default is p.empty]:
        parameters["required"] = required
    function = {"name": tool.__name__, "description": summary, "parameters": parameters}
    if "return" in hints:
        function["return"] = _kind(hints["return"]) | ({"description": returned} if returned else {})
    return {"type": "function", "function": function}


def wire_schema(tool: Callable | dict) -> dict:
    """A tool in the shape of Chat Completions, without the field `return`, which servers refuse."""
    function = tool_schema(tool)["function"]
    return {"type": "function", "function": {key: value for key, value in function.items() if key != "return"}}


def responses_schema(tool: Callable | dict) -> dict:
    """A tool in the shape of the Responses API, its arguments closed to any others."""
    function = wire_schema(tool)["function"]
    parameters = {"required": []} | function["parameters"] | {"additionalProperties": False}
    return {"type": "function", **function, "parameters": parameters, "strict": False}


def _documented(doc: str) -> tuple[str, dict[str, str], str]:
    """Summary, arguments and return value as a Google-style docstring describes them."""
    summary, *sections = re.split(r"^(Args|Returns|Raises):[ \t]*\n", doc.strip(), flags=re.M)
    named = dict(zip(sections[::2], sections[1::2]))
    told = re.findall(r"^ {4}(\w+)(?: ?\([^)]*\))?:[ \t]*(.*(?:\n {5,}.*)*)", named.get("Args", ""), re.M)
    arguments = {name: " ".join(text.split()) for name, text in told}
    return summary.strip(), arguments, " ".join(named.get("Returns", "").split())


def _kind(hint) -> dict:
    """The JSON schema of a type hint."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [_kind(one) for one in of if one is not type(None)]
        kind = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        if len(kinds) > 1 and all(list(one) == ["type"] for one in kinds):
            kind = {"type": sorted(one["type"] for one in kinds)}
        return kind | ({"nullable": True} if type(None) in of else {})
    if origin is typing.Literal:
        return {"type": _KINDS[type(of[0])], "enum": list(of)}
    kind = {"type": _KINDS[origin or hint]} if (origin or hint) in _KINDS else {}
    if origin is list and of:
        return kind | {"items": _kind(of[0])}
    return kind | {"additionalProperties": _kind(of[1])} if origin is dict and len(of) == 2 else kind


# --- the module ------------------------------------------------------------------------------------------


def reader_of(module):
    """The function with which an environment reads others' rows, such as NeMo Gym's; None where it has none."""
    return getattr(module, "read_rows", None) or getattr(module, "rows_from_nemo_gym", None)


def version_of(module) -> str:
    """Eight hex digits that change when the code of an environment does, its companions included; "" for a module
    without files."""
    path = Path(getattr(module, "__file__", None) or "")
    if not path.is_file():
        return ""
    place = path.parent.parent if path.name == "__init__.py" else path.parent  # the folder that it is copied out of
    used = {getattr(thing, "__module__", None) or getattr(thing, "__name__", "") for thing in vars(module).values()}
    files = [Path(getattr(sys.modules.get(name), "__file__", None) or "") for name in used if isinstance(name, str)]
    units = {place / file.relative_to(place).parts[0] for file in [path, *files] if file.is_relative_to(place)}
    code = [file for unit in units for file in (unit.rglob("*.py") if unit.is_dir() else [unit])]
    digest = sha256()
    for file in sorted(code):
        if file != place / "__init__.py":
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:8]
