"""The house keeps its order: imports point down and stay cheap, folders and files stay small, licences are named."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import envs
from helpers.here import ROOT

HEAVY = ("torch", "transformers", "trl", "unsloth", "datasets", "pandas", "matplotlib", "ipywidgets")
LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
LEVELS = (  # of helpers, lowest first: a module imports from its own folder and from lower levels
    ("here",), ("episodes",), ("tiny_policy",), ("rollout",), ("tasks",), ("measure",), ("train", "show", "serve"),
    ("run",),
)  # fmt: skip
SCRIPT = "helpers.tiny_policy.build"  # run by hand, and kept beside the model that it makes; the model is a leaf
MOST_FILES = 11  # beside __init__.py
MOST_LINES = 500
SHARED = 239  # lines of the block that sudoku_env.py, which is copied alone, has inside
LONGER = {"envs/sudoku_env.py": 960 + SHARED, "envs/": 720}


def files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [path for path in found if not path.is_relative_to(ROOT / "tests" / "data")]  # programs that tests run
    return [path for path in found if not any(part.startswith((".", "__pycache__")) for part in path.parts[1:])]


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in files("envs", "helpers")}


@cache
def imports(name: str) -> dict[str, bool]:
    """What a module imports, anywhere in it; True where it does so as soon as it is imported itself."""
    path, found = MODULES[name], {}
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            seen = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            seen = [whole if (whole := f"{base}.{alias.name}") in MODULES else base for alias in node.names]
        else:
            continue
        for one in seen:
            found[one] = found.get(one, False) or id(node) not in late
    return found


def room(name: str) -> str:
    """The folder of helpers that a module is in, or the module itself if it is in none."""
    return "run" if name == SCRIPT else name.split(".")[1]


HELPERS = [name for name in MODULES if name.startswith("helpers.")]


@pytest.mark.parametrize("name", HELPERS)
def test_imports_of_helpers_point_down(name):
    level = {one: i for i, rooms in enumerate(LEVELS) for one in rooms}
    assert room(name) in level, f"{room(name)} has no level; put it into LEVELS"
    for other in imports(name):
        assert other.split(".")[0] not in ("notebooks", "tests"), f"{name} looks up to {other}"
        if other.startswith("helpers."):
            down = level[room(other)] < level[room(name)] or room(other) == room(name)
            assert down, f"{name} looks up to {other}"


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("envs")])
def test_environments_import_nothing_of_helpers(name):
    assert not {one.split(".")[0] for one in imports(name)} & {"helpers", "notebooks", "tests"}


def circle(graph: dict[str, list[str]]) -> list[str]:
    """Modules that import each other in a ring, or none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        found = next(filter(None, (walk(other, [*path, name]) for other in graph[name])), [])
        done.add(name)
        return found

    return next(filter(None, (walk(name, []) for name in graph)), [])


def test_no_modules_import_each_other():
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"] and not circle(
        {"a": ["b", "c"], "b": ["c"], "c": []}
    )
    graph = {name: [other for other in imports(name) if other in MODULES and other != name] for name in MODULES}
    for name, path in MODULES.items():
        if path.name == "__init__.py":  # a package gathers its own modules, which may ask it for their names
            graph[name] = [other for other in graph[name] if not other.startswith(f"{name}.")]
    assert not circle(graph)


def folders() -> list[Path]:
    return sorted({path.parent for path in files("helpers", "envs", "tests")})


@pytest.mark.parametrize("folder", folders(), ids=label)
def test_a_folder_is_small(folder):
    found = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(found) <= MOST_FILES, f"{len(found)} files: put those on one question into a folder of their own"


@pytest.mark.parametrize("path", files("helpers", "tests", "envs"), ids=label)
def test_a_file_is_short(path):
    text = path.read_text(encoding="utf-8")
    if not re.search(r"^# Generated\b", text, re.M):
        lines = text.count("\n")
        most = next((n for start, n in LONGER.items() if label(path).startswith(start)), MOST_LINES)
        assert lines <= most, f"{lines} lines: split it, one job each"


@pytest.mark.parametrize("folder", [path for path in folders() if path.is_relative_to(ROOT / "helpers")], ids=label)
def test_a_folder_says_in_one_line_which_question_it_answers(folder):
    file = folder / "__init__.py"
    assert file.is_file(), "give the folder an __init__.py with a docstring"
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert doc and "\n" not in doc, f"the docstring of {label(file)} is no single line: {doc!r}"


@pytest.mark.parametrize("path", files("envs", "helpers"), ids=label)
def test_a_file_names_its_licence(path):
    assert path.read_text(encoding="utf-8").startswith(LICENCE)


def test_the_licence_is_there_as_a_whole():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0" in text and "END OF TERMS AND CONDITIONS" in text
    assert "Copyright the RLVR Workbook authors" in text and "[yyyy]" not in text


# --- what an import costs, and names ----------------------------------------------------------------------


def test_imports_stay_cheap():
    code = (
        f"import importlib, sys\nfor name in {list(MODULES)!r}:\n    importlib.import_module(name)\n"
        f"    for heavy in {HEAVY!r}:\n"
        "        assert heavy not in sys.modules, f'import {name} loads {heavy}; import it inside the function'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_no_module_shadows_the_standard_library(name):
    last = name.split(".")[-1]
    assert last not in sys.stdlib_module_names
    assert last not in {*HEAVY, "evaluate", "utils", "common", "misc", "base", "tools", "models", "sandbox"}


def test_environment_files_end_in_env():
    for name in envs.NAMES:
        assert Path(envs.load(name).__file__).parent.name in ("envs", f"{name}_env")
    for path in (ROOT / "envs").glob("*.py"):
        if "def make_rows(" in path.read_text(encoding="utf-8"):
            assert path.stem.endswith("_env"), path.name
