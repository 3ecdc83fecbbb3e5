# SPDX-License-Identifier: Apache-2.0
"""A saved model, loaded and asked by a process of its own: what was saved is what answers."""

import json
import os
import subprocess
import sys
from pathlib import Path

from helpers.here import ROOT
from helpers.rollout.policies import model_path


def answers_in_new_process(base: str, adapter: Path | str | None, rows: list[dict], max_tokens: int) -> list[str]:
    """Greedy answers of a model loaded from disk by a process of its own.

    Args:
        base: Model name or folder, see `model_path`.
        adapter: Folder of a LoRA adapter to put on it, or None.
        rows: Tasks to answer.
        max_tokens: Most new tokens in an answer.

    Raises:
        RuntimeError: the process failed; the message holds the end of its output.
    """
    job = {"base": model_path(base), "adapter": str(adapter) if adapter else None, "max_tokens": max_tokens}
    job["prompts"] = [row["prompt"] for row in rows]
    done = subprocess.run(
        [sys.executable, "-m", "helpers.train.fresh_process"],
        input=json.dumps(job), capture_output=True, text=True, encoding="utf-8",
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"loading {base} with {adapter} in a new process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def _answer_job() -> None:
    """The other end of `answers_in_new_process`: job on standard input, answers as the last line of the output."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from helpers.rollout.policies import LocalPolicy

    job = json.loads(sys.stdin.read())
    model = AutoModelForCausalLM.from_pretrained(job["base"], dtype="auto")
    if job["adapter"]:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, job["adapter"])
    policy = LocalPolicy(model, AutoTokenizer.from_pretrained(job["base"]))
    replies = policy.generate(job["prompts"], temperature=0, max_tokens=job["max_tokens"])
    print(json.dumps([reply["content"] for reply in replies]))


if __name__ == "__main__":
    _answer_job()
