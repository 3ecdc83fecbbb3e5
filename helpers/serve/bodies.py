# SPDX-License-Identifier: Apache-2.0
"""The JSON in requests and replies of a server."""

import json

from fastapi import HTTPException, Request, Response


def json_reply(content, status: int = 200) -> Response:
    """JSON, escaped only if it must be, since models read it: where half a character breaks UTF-8."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = json.dumps(content, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


async def object_in(request: Request) -> tuple[dict, int]:
    """The JSON object in a request, and its size in bytes.

    Raises:
        HTTPException: it is none.
    """
    body = await request.body()
    try:
        value = json.loads(body, parse_constant=refuse_number) if body else {}
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise HTTPException(422, f"the body must be a JSON object, got {type(value).__name__}")
    return value, len(body)


def refuse_number(name: str):
    raise ValueError(f"{name} is no JSON")


def missing(field: str, why: str = "Field required") -> HTTPException:
    return HTTPException(422, [{"type": "missing", "loc": ["body", *field.split(".")], "msg": why}])
