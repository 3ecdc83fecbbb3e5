# SPDX-License-Identifier: Apache-2.0
"""The embedded policy: a small model that ships with the repository, so that every notebook runs on a laptop.

`PATH` is a model folder that `FastLanguageModel.from_pretrained` and `AutoModelForCausalLM.from_pretrained` load.
`build.py` made it; README.md in this folder is its card.
"""

from pathlib import Path

PATH = Path(__file__).parent
