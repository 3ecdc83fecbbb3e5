"""The JSON schema of a tool, from its signature and docstring, in the shape of the OpenAI Responses API."""

import inspect
import re
from collections.abc import Callable

_KINDS = {str: "string", int: "integer"}


def schema(tool: Callable) -> dict:
    """Name, description and parameters of a tool."""
    text = inspect.getdoc(tool)
    described = dict(re.findall(r"^    (\w+): (.*)$", text.partition("Args:\n")[2].partition("\nReturns:")[0], re.M))
    parameters = [p for p in inspect.signature(tool).parameters.values() if p.name != "self"]
    return {
        "type": "function",
        "name": tool.__name__,
        "description": text.partition("\n")[0],
        "parameters": {
            "type": "object",
            "properties": {
                p.name: {"type": _KINDS[p.annotation], "description": described[p.name]} for p in parameters
            },
            "required": [p.name for p in parameters if p.default is p.empty],
            "additionalProperties": False,
        },
        "strict": False,
    }
