"""Asking a model for problems: what it may write, resuming, the road through a real endpoint."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from helpers.tasks import gates, synthesis
from helpers.tasks.problem_schema import Problem, parse
from helpers.tasks.scripted_writer import GOOD, KNOWN, NUMBERS, SCRIPT, ScriptedWriter

# --- what a model writes ---


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD[0]),
        "Sure!\n```json\n" + json.dumps(GOOD[0], indent=2) + "\n```\nAnything else?",
        "<think>maybe {\"statement\": 1}</think>\n" + json.dumps(GOOD[0]),
        json.dumps(GOOD[0] | {"comment": "an extra field"}),
        json.dumps(GOOD[0]).replace("\\n", "\n"),  # line feeds inside a string, as models write them
    ],
)  # fmt: skip
def test_a_problem_is_found_in_a_reply(reply):
    problem, fault = parse(reply)
    assert problem is not None, fault
    assert problem.entry_point == "solve" and problem.parameters[0].type == "list[int]"


@pytest.mark.parametrize(
    "change, says",
    [
        ({"entry_point": "os.system"}, "entry_point"),
        ({"entry_point": "class"}, "entry_point"),
        ({"statement": "Short."}, "statement"),
        ({"parameters": []}, "parameters"),
        ({"parameters": [NUMBERS, NUMBERS]}, "same name"),
        ({"parameters": [NUMBERS | {"type": "list[set]"}]}, "list[set]"),
        ({"parameters": [NUMBERS | {"type": "list[list[int]"}]}, "list[list[int]"),
        ({"parameters": [NUMBERS | {"low": 5, "high": 1}]}, "smallest"),
        ({"parameters": [NUMBERS | {"max_length": 10**9}]}, "max_length"),
        ({"examples": [{"arguments": [["a"]], "result": 1}]}, "not of the types list[int]"),
        ({"examples": [{"arguments": [[True]], "result": 1}]}, "not of the types list[int]"),
        ({"examples": [{"arguments": [], "result": 1}]}, "not of the types list[int]"),
        ({"solution": None}, "solution"),
    ],
)
def test_what_does_not_fit_the_schema_is_told_by_field(change, says):
    problem, fault = parse(json.dumps(GOOD[0] | change))
    assert problem is None and says in fault


@pytest.mark.parametrize(
    "reply",
    ["", "no", "[1, 2]", "{", '{"statement": ' + "[" * 100_000, json.dumps(GOOD[0])[:-20], "{\"a\": NaN}", "<think>{}",
     json.dumps(GOOD[0] | {"statement": "\ud800 and more than twenty characters"}), "{}" * 1000,
     json.dumps(GOOD[0]).replace("2", "1e999")],
)  # fmt: skip
def test_broken_replies_are_faults_and_never_raise(reply):
    problem, fault = parse(reply)
    assert problem is None and fault and len(fault) <= 500


def test_halves_of_characters_break_neither_files_nor_prompts(tmp_path):
    broken = json.dumps(GOOD[0] | {"entry_point": "\ud800"}).replace("\\ud800", "\ud800")
    writer = Writer(lambda number, said: broken if said == 0 else numbered(number))
    drafts = synthesis.write(writer, 1, name="m", out=tmp_path / "d.jsonl", quiet=True)
    assert drafts[0]["problem"] and drafts[0]["calls"] == 2
    json.dumps(writer.talks, ensure_ascii=False).encode()
    lost = synthesis.write(Writer(lambda *_: broken), 1, name="m", out=tmp_path / "e.jsonl", quiet=True)
    assert synthesis.write(None, 1, name="m", out=tmp_path / "e.jsonl", quiet=True) == lost


# --- asking ---


class Writer:
    """Answers by a function of (request number, attempt), and counts; a request is known by its prompt."""

    def __init__(self, reply, stop_after=None):
        self.reply, self.stop_after, self.calls, self.talks, self.known = reply, stop_after, 0, [], {}

    def generate(self, conversations, tools=None, **sampling):
        if self.stop_after is not None and self.calls >= self.stop_after:
            raise KeyboardInterrupt
        self.talks += [list(talk) for talk in conversations]
        made = []
        for talk in conversations:
            self.calls += 1
            number = self.known.setdefault(talk[1]["content"], len(self.known))
            said = sum(m["role"] == "assistant" for m in talk)
            usage = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5, "seconds": 1.0}
            made.append({"role": "assistant", "content": self.reply(number, said), "finish_reason": "stop",
                         "usage": usage})  # fmt: skip
        return made


def numbered(number, said=0):
    return json.dumps(GOOD[0] | {"statement": GOOD[0]["statement"] + f" Variant {number}."})


def test_a_reply_that_does_not_fit_is_asked_again_with_the_fault():
    writer = Writer(lambda number, said: "no idea" if said < 2 else numbered(number))
    drafts = synthesis.write(writer, 1, name="m", quiet=True)
    assert drafts[0]["problem"] and drafts[0]["calls"] == 3 and not drafts[0]["fault"]
    assert [m["role"] for m in writer.talks[-1]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "there is no JSON object in it" in writer.talks[-1][-1]["content"]
    lost = synthesis.write(Writer(lambda *_: "no idea"), 2, name="m", retries=1, quiet=True)
    assert [(d["problem"], d["calls"]) for d in lost] == [(None, 2)] * 2


def test_the_cost_counts_every_attempt_and_is_shown(capsys):
    writer = Writer(lambda number, said: "no" if number == 0 and said == 0 else numbered(number))
    drafts = synthesis.write(writer, 3, name="gpt")
    spent = {"calls": 4, "retries": 1, "input_tokens": 400, "output_tokens": 40, "cost_usd": 2.0}
    assert synthesis.cost(drafts) == spent
    assert "gpt: 4 calls, 1 of them retries, 400 tokens read, 40 written, $2.0000" in capsys.readouterr().out
    assert "tokens not reported" in synthesis.cost_line(synthesis.write(ScriptedWriter(), 2, name="s", quiet=True))


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    out = tmp_path / "deep" / "drafts.jsonl"
    with pytest.raises(KeyboardInterrupt):
        synthesis.write(Writer(numbered, stop_after=4), 10, name="m", at_once=2, out=out, quiet=True)
    with out.open("a") as file:
        file.write('{"request": 4, "prob')  # killed while it wrote
    writer = Writer(numbered)
    drafts = synthesis.write(writer, 10, name="m", at_once=2, out=out, quiet=True)
    assert writer.calls == 6 and [d["request"] for d in drafts] == list(range(10))
    more = Writer(numbered)
    assert len(synthesis.write(more, 12, name="m", out=out, quiet=True)) == 12 and more.calls == 2
    assert [json.loads(line)["request"] for line in out.read_text().splitlines()] == list(range(12))


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"name": "n"}, {"temperature": 0.5}, {"max_tokens": 9}, {"topics": ("x",)}]
)
def test_drafts_of_other_settings_are_never_mixed(other, tmp_path):
    out = tmp_path / "drafts.jsonl"
    synthesis.write(Writer(numbered), 2, name="m", out=out, quiet=True)
    with pytest.raises(ValueError, match="give another file"):
        synthesis.write(Writer(numbered), 2, **{"name": "m", "out": out, "quiet": True} | other)


def test_a_refused_request_takes_no_others_along_and_a_wrong_key_stops_the_run():
    class Fault(RuntimeError):
        def __init__(self, kind):
            super().__init__(f"model 'm': {kind}")
            self.kind = kind

    class Refusing(Writer):
        def generate(self, conversations, tools=None, **sampling):
            if any(self.refused in talk[1]["content"] for talk in conversations):
                raise Fault(self.kind)
            return super().generate(conversations, tools, **sampling)

    writer = Refusing(numbered)
    writer.refused, writer.kind = "grids", "http 400"
    drafts = synthesis.write(writer, 6, name="m", topics=("grids", "intervals"), quiet=True)
    assert {d["topic"] for d in drafts if d["problem"]} == {"intervals"}
    assert {d["fault"] for d in drafts if not d["problem"]} == {"model 'm': http 400"}
    writer.kind = "http 401"
    with pytest.raises(Fault, match="401"):
        synthesis.write(writer, 6, name="m", topics=("grids", "intervals"), quiet=True)


def test_an_unknown_engine_and_a_missing_one_are_named(monkeypatch):
    with pytest.raises(ValueError, match="engine must be None or 'data-designer', got 'magic'"):
        synthesis.write(Writer(numbered), 1, name="m", engine="magic")
    with pytest.raises(ValueError, match="give an EndpointPolicy"):
        synthesis.write(Writer(numbered), 1, name="m", engine="data-designer", quiet=True)
    endpoint = Writer(numbered)
    endpoint.base_url = "http://localhost:1/v1"
    monkeypatch.setitem(sys.modules, "data_designer", None)
    monkeypatch.setitem(sys.modules, "data_designer.config", None)
    with pytest.raises(ModuleNotFoundError, match="pip install data-designer"):
        synthesis.write(endpoint, 1, name="m", engine="data-designer", quiet=True)


# --- through a real endpoint ---


class Served:
    """An OpenAI-compatible server in a thread, with Chat Completions only, that a policy answers for."""

    def __init__(self, policy, faults=()):
        self.seen, faults = [], list(faults)
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    outer.seen.append((self.path, self.headers.get("authorization"), body))
                    if not self.path.endswith("/chat/completions"):
                        return self.reply(404, {"error": "not here"})
                    if faults:
                        return self.reply(faults.pop(0), {"error": "busy"})
                    said = policy.generate([[m | {"content": _text(m)} for m in body["messages"]]])[0]["content"]
                message = {"role": "assistant", "content": said}
                usage = {"prompt_tokens": 300, "completion_tokens": 200, "total_tokens": 500}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                return self.reply(200, {"id": "c", "object": "chat.completion", "model": "m", "created": 0,
                                        "choices": [choice], "usage": usage})  # fmt: skip

            def reply(self, status, body):
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def _text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


KEY = "sk-not-to-be-seen-anywhere"


def test_from_an_endpoint_to_an_exported_data_set(tmp_path):
    endpoints = pytest.importorskip("helpers.rollout.endpoints")
    code = pytest.importorskip("envs.code_env")
    from datasets import load_from_disk

    with Served(ScriptedWriter(), faults=[503, 429]) as server:
        policy = endpoints.EndpointPolicy("m", server.url, api_key=KEY, price={"input": 1.0, "output": 2.0}, at_once=1,
                                          backoff_s=0.01)  # fmt: skip
        drafts = synthesis.write(policy, len(SCRIPT), name="m", out=tmp_path / "drafts.jsonl", quiet=True)
    spent = synthesis.cost(drafts)
    assert spent["calls"] == len(SCRIPT) + 1 + 2 and spent["retries"] == 3  # one mended, one lost after two retries
    assert spent["input_tokens"] == 300 * spent["calls"] and spent["cost_usd"] == pytest.approx(7e-4 * spent["calls"])
    made, fell = synthesis.build(drafts, out=tmp_path / "built.jsonl", quiet=True)
    sifted = gates.sift(code, made, fallen=fell, benchmark=[KNOWN])
    assert sifted.table["kept"] == len(GOOD) and sifted.table["made"] == len(SCRIPT)
    folder = gates.export({"train": sifted.kept}, tmp_path / "out", title="Written", table=gates.yields({"m": sifted}))
    back = load_from_disk(str(folder / "dataset"))["train"].to_list()
    assert back == sifted.kept and code.score(code.answer(back[0]), back[0]).reward == 1.0
    assert {key for _, key, _ in server.seen} == {f"Bearer {KEY}"}
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_same_call_through_data_designer(tmp_path):
    pytest.importorskip("data_designer")
    endpoints = pytest.importorskip("helpers.rollout.endpoints")
    with Served(ScriptedWriter()) as server:
        policy = endpoints.EndpointPolicy("m", server.url, api_key=KEY, at_once=1)
        drafts = synthesis.write(
            policy, len(SCRIPT), name="m", engine="data-designer", out=tmp_path / "d.jsonl", quiet=True
        )
        again = synthesis.write(
            policy, len(SCRIPT), name="m", engine="data-designer", out=tmp_path / "d.jsonl", quiet=True
        )
    assert again == drafts and [d["request"] for d in drafts] == list(range(len(SCRIPT)))
    usable = [d for d in drafts if d["problem"]]
    assert len(usable) >= len(SCRIPT) - 2
    assert all(Problem.model_validate(d["problem"]) for d in usable)
    assert all(key == f"Bearer {KEY}" for _, key, _ in server.seen)
    assert KEY not in (tmp_path / "d.jsonl").read_text()
