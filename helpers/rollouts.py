"""Rollouts: a policy answers rows, the environment grades them, and every episode is a line of JSON.

An episode is `{"task_id", "sample", "environment", "reward", "reason", "metrics", "messages", "finish_reason",
"steps", "seconds", "policy", "prompt", "task"}`; `messages` is what came after the prompt, and a reward of None means
that the answer could not be judged.
"""

import json
import time
from pathlib import Path

TOOL_TEXT_LIMIT = 4000  # characters of a tool result that the policy gets to read


def tools_of(module, row: dict | None = None) -> list[str]:
    """Names of the tools of an environment, in the order of a trainer, by name: the public methods of its class but
    `reset` and `get_reward`. Where the module has `tools_for(row)`, a row may offer fewer."""
    if row is not None and hasattr(module, "tools_for"):
        return sorted(module.tools_for(row))
    return [n for n in dir(module.ENV) if not n.startswith("_") and n not in ("reset", "get_reward")]


def rollout(
    module,
    rows: list[dict],
    policy,
    *,
    name: str,
    samples: int = 1,
    tools: bool = False,
    temperature: float = 1.0,
    max_tokens: int = 128,
    max_steps: int = 6,
    seed: int = 0,
    at_once: int = 256,
    out: Path | str | None = None,
    quiet: bool = False,
) -> list[dict]:
    """Let a policy answer every row `samples` times.

    Args:
        module: The environment, as `envs.load` returns it.
        rows: Its tasks.
        policy: Anything with `generate`, see `helpers.policies`.
        name: What to call the policy in the episodes.
        samples: Episodes of each row.
        tools: Offer the environment's tools and go on until the policy answers in plain text; else one reply, read
            as text.
        temperature: 0 for greedy decoding, 1 to sample from the policy itself.
        max_tokens: Most new tokens in a reply.
        max_steps: Most replies in an episode with tools.
        seed: Of the sampling.
        at_once: Episodes that run side by side.
        out: A JSONL file that episodes are appended to as they finish. If it is there already, the episodes in it are
            kept and only the missing ones run.
        quiet: Print no progress.

    Returns:
        All episodes, rows in order, each row's samples together.

    Raises:
        ValueError: `out` holds episodes of other settings.
    """
    settings = {"policy": name, "temperature": temperature, "max_tokens": max_tokens, "tools": tools, "seed": seed}
    done = {(e["task_id"], e["sample"]): e for e in _resume(out, settings)}
    wanted = [(row, sample) for row in rows for sample in range(samples)]
    todo = [(row, sample) for row, sample in wanted if (row["task_id"], sample) not in done]
    progress = Progress(f"{name}: rollouts", len(wanted), start=len(wanted) - len(todo), quiet=quiet)
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    for start in range(0, len(todo), at_once):
        batch = todo[start : start + at_once]
        first = len(wanted) - len(todo) + start
        episodes = _episodes(module, batch, policy, tools, max_steps, sampling, seed * 1_000_003 + first)
        for episode in episodes:
            episode |= settings
            done[episode["task_id"], episode["sample"]] = episode
        if out is not None:
            _append(Path(out), episodes)
        progress.step(len(batch))
    return [done[row["task_id"], sample] for row, sample in wanted]


def read(path: Path | str) -> list[dict]:
    """The episodes in a JSONL file. A last line that a killed run left unfinished is left out."""
    episodes = []
    for line in Path(path).read_text(encoding="utf-8").split("\n"):  # not splitlines: U+2028 stands inside strings
        try:
            episodes.append(json.loads(line))
        except ValueError:
            continue
    return episodes


def _resume(out: Path | str | None, settings: dict) -> list[dict]:
    if out is None or not Path(out).is_file():
        return []
    episodes = read(out)
    for key, value in settings.items():
        other = next((e[key] for e in episodes if e.get(key) != value), value)
        if other != value:
            raise ValueError(
                f"{out} holds episodes with {key}={other!r}, this run has {value!r}: give another file or delete it"
            )
    text = "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in episodes)
    if text != Path(out).read_text(encoding="utf-8"):  # cut off a line that was never finished
        Path(out).write_text(text, encoding="utf-8")
    return episodes


def _append(out: Path, episodes: list[dict]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in episodes))


def _episodes(module, batch, policy, tools: bool, max_steps: int, sampling: dict, seed: int) -> list[dict]:
    """Run a batch of episodes side by side, each with an environment of its own."""
    began = time.perf_counter()
    envs = [module.ENV() for _ in batch]
    said: list[list[dict]] = [[] for _ in batch]
    offered = [tuple(tools_of(module, row)) if tools else () for row, _ in batch]
    for env, (row, _) in zip(envs, batch):
        env.reset(**row)
    active = list(range(len(batch)))
    for step in range(max_steps if tools else 1):
        for names in dict.fromkeys(offered[i] for i in active):  # a policy is offered one set of tools at a time
            alike = [i for i in active if offered[i] == names]
            schemas = [getattr(envs[alike[0]], name) for name in names] or None
            conversations = [batch[i][0]["prompt"] + said[i] for i in alike]
            replies = policy.generate(conversations, schemas, seed=seed + step, **sampling)
            for i, reply in zip(alike, replies):
                said[i].append(reply)
                said[i] += [_tool_message(envs[i], call, names) for call in reply.get("tool_calls") or []]
        active = [i for i in active if said[i][-1]["role"] == "tool"]
        if not active:
            break
    seconds = (time.perf_counter() - began) / len(batch)
    return [_episode(module, row, sample, messages, seconds) for (row, sample), messages in zip(batch, said)]


def _tool_message(env, call: dict, offered: tuple[str, ...]) -> dict:
    """Call a tool; whatever goes wrong becomes text that the policy can read."""
    function = call.get("function") or {}
    name, arguments = function.get("name"), function.get("arguments")
    try:
        if name not in offered:
            raise ValueError(f"there is no tool {name!r}; the tools are {', '.join(offered)}")
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        if not isinstance(arguments, dict):
            raise ValueError(f"arguments must be a JSON object, got {arguments!r:.100}")
        text = str(getattr(env, name)(**arguments))
    except Exception as error:  # the model's fault or a tool's: an episode never ends by it
        text = f"Error: {error}"
    return {"role": "tool", "name": name, "tool_call_id": call.get("id", ""), "content": text[:TOOL_TEXT_LIMIT]}


def _episode(module, row: dict, sample: int, messages: list[dict], seconds: float) -> dict:
    replies = [message for message in messages if message["role"] == "assistant"]
    try:
        reward, reason, metrics = module.score(messages, row)
    except Exception as error:  # a verifier must not raise; if it does, the episode counts as unjudged
        reward, reason, metrics = None, f"unjudged: {type(error).__name__}: {error}", {}
    if reward == 0.0 and replies[-1].get("finish_reason") == "length":
        reason = f"truncated: cut off at the token limit ({reason})"
    return {
        "task_id": row["task_id"],
        "sample": sample,
        "environment": row["environment"],
        "reward": reward,
        "reason": reason,
        "metrics": metrics,
        "messages": messages,
        "finish_reason": replies[-1].get("finish_reason", "stop"),
        "steps": len(replies),
        "seconds": round(seconds, 4),
        "prompt": row["prompt"],
        "task": row["task"],
    }


class Progress:
    """Says how far a long loop is and how long it still takes, in at most five lines; a quick one gets one line."""

    def __init__(self, what: str, total: int, start: int = 0, quiet: bool = False):
        self.what, self.total, self.at, self.first, self.quiet = what, total, start, start, quiet
        self._began, self._next = time.perf_counter(), 0.2
        self._spoke = self._began
        if start and not quiet:
            print(f"{what}: {start} of {total} were there already")

    def step(self, n: int = 1) -> None:
        """Count `n` more; print a line at each fifth of the way."""
        self.at += n
        share = self.at / self.total
        now = time.perf_counter()
        if self.quiet or share < self._next or (share < 1 and now - self._spoke < 3):
            return
        self._next = int(share * 5 + 1e-9) / 5 + 0.2
        self._spoke, spent = now, now - self._began
        left = spent / (self.at - self.first) * (self.total - self.at)
        ending = f"about {left:.0f} s left" if self.at < self.total else "done"
        print(f"{self.what}: {self.at} of {self.total}, {spent:.0f} s, {ending}", flush=True)
