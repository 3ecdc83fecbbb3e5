"""What SFT learns from earns 1 from its own verifier: on TRL's trainer and on the one that Unsloth makes on CUDA."""

import json
import os
import subprocess
import sys

import pytest

from envs import NAMES
from helpers.here import ROOT

SCRIPT = """
import json, sys
if sys.argv[1] == "cuda":
    import cuda_trainers
    model, tokenizer = cuda_trainers.tiny()
else:
    from unsloth import FastLanguageModel
    from helpers.rollout import model_path
    model, tokenizer = FastLanguageModel.from_pretrained(model_path("tiny"), max_seq_length=1536, load_in_4bit=False)
    model = FastLanguageModel.get_peft_model(model, r=4, target_modules=["q_proj"])
import inspect
from datasets import Dataset
from trl import SFTConfig, SFTTrainer
from envs import NAMES, load
from helpers.episodes import training_rows
from helpers.train import guards

facts = {"made by": inspect.getsourcefile(SFTTrainer)}
for name in NAMES:
    env = load(name)
    rows = env.make_rows(12)
    shown = training_rows.demonstrations(env, rows)
    args = SFTConfig(output_dir=sys.argv[2], max_steps=1, assistant_only_loss="tools" in shown[0], use_cpu=True,
                     bf16=False, fp16=False, report_to="none", max_length=4096)
    for how, table in (("ours", training_rows.to_dataset), ("Arrow's", Dataset.from_list)):
        trainer = SFTTrainer(model=model, processing_class=tokenizer, train_dataset=table(shown), args=args)
        try:
            guards.check_demonstrations(trainer, env, shown, rows)
            facts[f"{name} {how}"] = ""
        except RuntimeError as refused:
            facts[f"{name} {how}"] = str(refused)
print("FACTS" + json.dumps(facts))
"""


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def facts(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    places = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "train")])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, request.param, str(out)], cwd=out, env=os.environ | {"PYTHONPATH": places},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {"kind": request.param} | json.loads(done.stdout.rpartition("FACTS")[2])


def test_the_trainer_is_the_one_meant(facts):
    assert ("UnslothSFTTrainer" in facts["made by"]) == (facts["kind"] == "cuda")


@pytest.mark.parametrize("name", NAMES)
def test_demonstrations_earn_1_as_they_are_learned(facts, name):
    assert facts[f"{name} ours"] == ""


def test_a_table_that_mixes_arguments_up_is_refused_before_training(facts):
    said = facts["workplace Arrow's"]
    assert "earns 0.0 (tool fault" in said and "null" in said and "expected 1" in said
