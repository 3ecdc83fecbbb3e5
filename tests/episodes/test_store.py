"""The one reader of JSONL files."""

import pytest

from helpers.episodes.store import read


def test_a_line_that_holds_no_object_is_left_out_or_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": "é"}\n\n{"b": 2}\r\n'.encode())
    assert read(path) == read(path, strict=True) == [{"a": "é"}, {"b": 2}]
    for line in (b'{"c": "cut', b"[1, 2]", b"7", b"null", b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(b'{"a": 1}\n' + line + b'\n{"b": 2}')
        assert read(path) == [{"a": 1}, {"b": 2}]
        with pytest.raises(ValueError, match=r"a\.jsonl, line 2 is not JSON: .*one object a line"):
            read(path, strict=True)
