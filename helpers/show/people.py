# SPDX-License-Identifier: Apache-2.0
"""People in the place of the policy and of the verifier: play a task, and say whether verdicts are right.

Both work without a front end; `helpers.show.browser` puts buttons on them.
"""

import json
import random
import time
from pathlib import Path

from helpers.episodes.environment import tools_of
from helpers.episodes.store import KEY, Store, key_of, read
from helpers.rollout.agents import Session
from helpers.rollout.rollouts import Sampling, rollout

# --- be the policy ---------------------------------------------------------------------------------------


class Game:
    """A person plays a task through the tools a model gets, and the same verifier grades it.

    >>> game = Game(env, row)
    >>> game.call("place", row=1, column=2, value=3)
    >>> game.finish("Done.").reward

    Args:
        module: The environment.
        row: The task.
        name: What to call the player in the episode.
    """

    def __init__(self, module, row: dict, name: str = "person"):
        self.module, self.row, self.name = module, row, name
        env = module.ENV()
        env.reset(**row)
        self.session = Session(env, tuple(tools_of(module, row)))
        self.messages: list[dict] = []
        self.episode: dict | None = None  # once it is over

    def call(self, tool: str, /, **arguments) -> str:
        """Call a tool.

        Args:
            tool: Its name.
            **arguments: As a model would give them.

        Returns:
            What the tool answered; "Error: ..." where it refused the call.

        Raises:
            RuntimeError: the game is over.
        """
        self._go_on()
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"type": "function", "id": f"call_{self.session.calls}", "function": function}
        result = self.session.call(call)
        self.messages += [{"role": "assistant", "content": "", "tool_calls": [call]}, result]
        return result["content"]

    def finish(self, text: str = "") -> dict:
        """End the game with plain text: the whole answer, or any words after tool calls.

        Returns:
            The episode, as `rollout` returns it, with `reward` and `reason`.

        Raises:
            RuntimeError: the game is over.
        """
        self._go_on()
        self.messages.append({"role": "assistant", "content": text, "finish_reason": "stop"})
        self.session.close()
        self.episode = rollout(
            self.module, [self.row], None, Sampling(tools=True), name=self.name, agent=self, quiet=True
        )[0]
        return self.episode

    def run(self, row: dict, session, model) -> list[dict]:
        """What an agent does: here it was done already, by hand."""
        return self.messages

    def _go_on(self) -> None:
        if self.messages and "tool_calls" not in self.messages[-1] and self.messages[-1]["role"] == "assistant":
            raise RuntimeError("this game is over; start another")


# --- be the verifier -------------------------------------------------------------------------------------


def review(path: Path | str, episode: dict, right: bool, note: str = "", by: str = "") -> dict:
    """Append to a JSONL file what a person says of an answer.

    Args:
        path: The file; made if missing.
        episode: Such as `rollout` returns.
        right: Whether the answer deserves full reward, whatever the verifier said.
        note: In the person's own words.
        by: Who says so.

    Returns:
        The line: the episode's key, `environment`, `reward`, `reason`, `right`, `agree` (None where the verifier gave
        no verdict), `note`, `by` and `time`.
    """
    line = dict(zip(KEY, key_of(episode))) | {name: episode.get(name) for name in ("environment", "reward", "reason")}
    reward = episode["reward"]
    line |= {"right": bool(right), "agree": None if reward is None else (reward >= 1) == bool(right)}
    line |= {"note": note, "by": by, "time": time.time()}
    with Store(path) as store:
        store.add(line)
    return line


def reviews(path: Path | str) -> list[dict]:
    """Each person's last word on each episode; an empty list where there is no file yet."""
    lines = read(path) if Path(path).is_file() else []
    return list({(*key_of(line), line.get("by")): line for line in lines}.values())


def to_review(episodes: list[dict], path: Path | str, by: str = "", seed: int = 0) -> list[dict]:
    """Episodes that a person has not reviewed yet, in random order, so that those done first are a fair sample."""
    done = {key_of(line) for line in reviews(path) if line.get("by") == by}
    order = random.Random(seed).sample(episodes, len(episodes))
    return [episode for episode in order if key_of(episode) not in done]


def against_people(lines: list[dict]) -> dict:
    """The verifier against people: an answer counts as paid where its reward is at least 1.

    Args:
        lines: Such as `reviews` returns.

    Returns:
        `n` reviews of judged answers; `precision`, the share of the paid answers that people call right, and `recall`,
        the share of the right ones that were paid, each with `..._ci95` (Wilson) and None where there is nothing to
        count; `agreement`; `false_accepts` and `false_rejects`; and apart from all these `unjudged`, the reviews of
        answers without a verdict, with `unjudged_right` of them called right.
    """
    from helpers.episodes.estimates import wilson

    judged = [(line["reward"] >= 1, line["right"]) for line in lines if line["reward"] is not None]
    open_ = [line["right"] for line in lines if line["reward"] is None]
    hits, paid, right = judged.count((True, True)), sum(p for p, _ in judged), sum(r for _, r in judged)
    return {
        "n": len(judged),
        "precision": hits / paid if paid else None,
        "precision_ci95": wilson(hits, paid),
        "recall": hits / right if right else None,
        "recall_ci95": wilson(hits, right),
        "agreement": sum(p == r for p, r in judged) / len(judged) if judged else None,
        "false_accepts": judged.count((True, False)),
        "false_rejects": judged.count((False, True)),
        "unjudged": len(open_),
        "unjudged_right": sum(open_),
    }
