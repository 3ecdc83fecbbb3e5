"""Resolves requirements as pip would on another machine, from an index's metadata: nothing is downloaded or installed,
and nothing may be left to compile."""

import subprocess
import sys

import pytest


def compile_command(requirements, version: str, *options: str) -> list[str]:
    """The command that resolves a requirements file for Linux (glibc 2.31) and a version of Python."""
    uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header"]
    platform = ["--python-version", version, "--python-platform", "x86_64-manylinux_2_31", "--only-binary", ":all:"]
    return [*uv, *platform, *options, str(requirements)]


def skip_without_index(tmp_path) -> None:
    """Skip the test where no package index answers."""
    (tmp_path / "one.txt").write_text("packaging==26.4\n")
    try:
        command = compile_command(tmp_path / "one.txt", "3.12")
        probe = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("no package index within a minute")
    if probe.returncode:
        pytest.skip(f"no package index can be reached: {probe.stderr[-300:]}")


def resolved(said: str) -> dict[str, str]:
    """Version by package in what the command printed."""
    return dict(line.split("==") for line in said.split("\n") if "==" in line and line[0].isalpha())
