"""The package: its examples, and a copy in another project."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envs import code_env
from envs.code_env import problems


@pytest.mark.parametrize("module", [code_env, problems])
def test_examples_in_the_documentation_are_true(module):
    import doctest

    assert doctest.testmod(module).failed == 0


# --- copied into another project -------------------------------------------------------------------------


def test_the_files_work_alone_in_a_folder(tmp_path):

    envs = Path(code_env.__file__).parents[1]
    shutil.copytree(envs / "code_env", tmp_path / "code_env")
    shutil.copytree(envs / "code_sandbox", tmp_path / "code_sandbox")
    code = "import code_env as c; r = c.make_rows(1)[0]; print(c.score(c.answer(r), r).reward)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "1.0", done.stderr
