# SPDX-License-Identifier: Apache-2.0
"""The forms in which models write reasoning into their text. A draft in there is no answer, in none of these forms."""

FORMS = {  # opening, closing
    "<think>": ("<think>", "</think>"),  # Qwen, DeepSeek
    "<thinking>": ("<thinking>", "</thinking>"),
    "<thought>": ("<thought>", "</thought>"),
    "<reasoning>": ("<reasoning>", "</reasoning>"),
    "<reflection>": ("<reflection>", "</reflection>"),
    "<seed:think>": ("<seed:think>", "</seed:think>"),  # Seed-OSS
    "[THINK]": ("[THINK]", "[/THINK]"),  # Magistral
    "◁think▷": ("◁think▷", "◁/think▷"),  # Kimi
    "begin_of_thought": ("<|begin_of_thought|>", "<|end_of_thought|>"),  # open-r1
    "channels": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),  # gpt-oss
    "channels without special tokens": ("analysis", "assistantfinal"),  # gpt-oss, as many servers decode it
}


def unclosed(form: str, thought: str) -> str:
    """Reasoning that the token limit cut off.

    Args:
        form: A name in `FORMS`.
        thought: What it ends with.
    """
    return f"{FORMS[form][0]}Let me see.\n{thought}"


def closed(form: str, thought: str, answer: str = "") -> str:
    """A whole completion: reasoning, and what follows it.

    Args:
        form: A name in `FORMS`.
        thought: What the reasoning ends with.
        answer: What follows it.
    """
    return f"{unclosed(form, thought)}\n{FORMS[form][1]}\n{answer}"


def opened_in_the_prompt(form: str, answer: str) -> str:
    """A completion whose reasoning only ends: the chat template wrote its opening into the prompt.

    Args:
        form: A name in `FORMS`.
        answer: What follows the reasoning.
    """
    return f"Let me see.\n{FORMS[form][1]}\n{answer}"
