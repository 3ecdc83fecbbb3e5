"""Put the trainers in place that Unsloth makes on CUDA, on a machine without a GPU.

On a CPU `import unsloth` leaves TRL's trainers as they are; on CUDA it replaces them by generated classes with other
defaults, another tokenization and another loss. With torch.cuda answering as if a card were there, these classes can be
made here, so that tests build them and look at what they would learn from. Kernels are not covered. Use it in a process
of its own: `import cuda_trainers` comes before everything else.
"""

import os

os.environ["UNSLOTH_ALLOW_CPU"] = "1"
import torch


class Card:
    name, total_memory, major, minor, multi_processor_count = "Tesla T4", 15 * 2**30, 7, 5, 40


torch.cuda.get_device_properties = lambda *_, **__: Card
torch.cuda.get_device_capability = lambda *_, **__: (Card.major, Card.minor)
torch.cuda.get_device_name = lambda *_, **__: Card.name
torch.cuda.current_device = lambda: 0
torch.cuda.mem_get_info = lambda *_, **__: (Card.total_memory, Card.total_memory)
torch.cuda.max_memory_reserved = torch.cuda.memory_reserved = torch.cuda.memory_allocated = lambda *_, **__: 0
torch.cuda.empty_cache = torch.cuda.synchronize = lambda *_, **__: None

import unsloth  # noqa: E402, F401
from unsloth.models import rl  # noqa: E402
from unsloth.models.llama import FastLlamaModel  # noqa: E402

os.environ["UNSLOTH_ALLOW_CPU"] = "0"
rl.PatchFastRL(FastLanguageModel=FastLlamaModel)


def tiny():
    """The embedded policy with a LoRA adapter, and its tokenizer, ready for these trainers."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from helpers.tiny_policy import PATH

    model = AutoModelForCausalLM.from_pretrained(PATH, dtype="float32")
    model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"]))
    model.for_training = lambda use_gradient_checkpointing=None: model.train()
    model.for_inference = model.eval
    return model, AutoTokenizer.from_pretrained(PATH)
