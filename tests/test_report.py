"""What a report quotes of a run."""

import json

from helpers.run import report


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
