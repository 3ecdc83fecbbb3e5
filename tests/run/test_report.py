"""What a report quotes of a run, and that its templates let nothing through as it is."""

import base64
import json
import re

import jinja2
import pytest

from helpers.run import report
from helpers.show import page


def test_examples_quote_answers_as_text_and_say_where_they_are_from_where_that_tells_something(tmp_path):
    def episode(reward, text, reason="so"):
        prompt = [{"role": "user", "content": "Say <b>yes</b>."}]
        said = [{"role": "assistant", "content": text}]
        return {"prompt": prompt, "messages": said, "reward": reward, "reason": reason}

    lines = [json.dumps(episode(1.0, "<script>yes</script>")), json.dumps(episode(0.0, "no")), "torn {"]
    (tmp_path / "before.jsonl").write_text("\n".join(lines))
    page = report.examples(tmp_path)
    assert "&lt;script&gt;yes" in page and "<script" not in page and "before" not in page
    (tmp_path / "after.jsonl").write_text(json.dumps(episode(1.0, "yes, after all")))
    page = report.examples(tmp_path, most=2)
    assert page.count(">before<") == 2 and page.count(">after<") == 1
    assert report.examples(tmp_path / "nothing") == ""


def test_examples_of_what_went_wrong_are_of_the_commonest_kind(tmp_path):
    reasons = ["wrong given: row 1", "format: 3 rows", "wrong given: row 2", "wrong cell: row 4"]
    lines = [{"prompt": "?", "completion": "no", "reward": 0.0, "reason": reason} for reason in reasons]
    (tmp_path / "after.jsonl").write_text("\n".join(map(json.dumps, lines)))
    page = report.examples(tmp_path, most=2)
    assert page.index("wrong given: row 2") < page.index("wrong given: row 1") and "wrong cell" not in page


def test_no_template_can_print_a_value_as_it_is():
    evil = "<script>&'\"\x1b \ud800"
    shown = "&lt;script&gt;&amp;&#x27;&quot;[U+001B] \\ud800"
    assert (
        page.tags.p(evil) == f"<p>{shown}</p>" and page.tags.badge("", evil) == f'<span class="badge {shown}"></span>'
    )
    assert f'<td class="{shown}" aria-label="{shown}">{shown}</td>' in page.tags.table(
        [["a"], [{"text": evil, "look": evil, "note": evil}]]
    )
    with pytest.raises(jinja2.TemplateAssertionError, match="No filter named 'safe'"):
        page._TEMPLATES.from_string("{{ value|safe }}")
    with pytest.raises(jinja2.UndefinedError):  # a misspelt name is no blank
        page._TEMPLATES.from_string("{{ valeu }}").render(value=1)
    for path in (page.Path(page.__file__).parent / "templates").iterdir():
        assert "autoescape" not in path.read_text(encoding="utf-8")


def test_rows_are_formatted_by_column():
    made = page.rows([{"name": "a b", "ci": [0.1, 0.25]}], {"who": "{name}", "interval": "{ci[0]:.2f} to {ci[1]:.2f}"})
    assert made == [["who", "interval"], ["a b", "0.10 to 0.25"]]


def test_a_picture_is_whole_inside_its_page(tmp_path):
    data = bytes(range(256)) * 400  # far longer than a text may be
    (tmp_path / "a.png").write_bytes(data)
    source = re.search(r'src="data:image/png;base64,([^"]*)"', page.figure(tmp_path / "a.png", "a picture"))[1]
    assert base64.b64decode(source, validate=True) == data
