# SPDX-License-Identifier: Apache-2.0
"""Which model can everything be tried with, on a laptop and without a network?"""

from pathlib import Path

# A folder that `FastLanguageModel.from_pretrained` and `AutoModelForCausalLM.from_pretrained` load. `build.py` made it;
# README.md beside it is its card.
PATH = Path(__file__).parent
