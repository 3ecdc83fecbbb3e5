# SPDX-License-Identifier: Apache-2.0
r"""Sudoku: 4x4, 6x6, 9x9 and 16x16 puzzles, answered as a whole grid or cell by cell.

Standard library only; copy this one file into any project.

>>> row = make_rows(1, seed=7)[0]
>>> print(row["prompt"][0]["content"])
Fill in this 4x4 Sudoku so that every row, column and 2x2 box holds 1 to 4. Answer with the whole grid.
<BLANKLINE>
3 1 2 4
4 2 3 1
_ 3 4 2
2 4 _ 3
>>> score("Sure: 3124 4231 1342 2443", row).reason
'wrong cell: row 4 holds 4 twice'
>>> score("| 3 | 1 | 2 | 4 |\n| 4 | 2 | 3 | 1 |\n| 1 | 3 | 4 | 2 |\n| 2 | 4 | 1 | 3 |", row).reward
1.0
"""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

BOX = {4: (2, 2), 6: (2, 3), 9: (3, 3), 16: (4, 4)}  # size: rows and columns of a box
SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("easy", "medium", "hard")
# Blanks, and whether singles suffice (True), do not (False) or either (None).
# A single is a cell with one candidate left, or a digit with one place left in its row, column or box.
LEVELS = {
    4: {"easy": (1, 4, True), "medium": (5, 8, True), "hard": (9, 11, None)},
    6: {"easy": (4, 10, True), "medium": (11, 18, True), "hard": (19, 24, None)},
    9: {"easy": (20, 35, True), "medium": (36, 46, True), "hard": (46, 53, False)},
    16: {"easy": (40, 80, True), "medium": (81, 120, True), "hard": (121, 140, None)},
}
CAPABILITIES = {  # kind of failure: what the policy cannot do yet
    "no answer": "gives an answer at all", "format": "writes the answer in the asked form",
    "several answers": "commits to one answer", "incomplete": "finishes the whole task",
    "wrong given": "copies what the task states", "wrong cell": "works out the missing values",
    "tool fault": "calls tools with valid arguments",
}  # fmt: skip


class Verdict(NamedTuple):
    """What the grader says: `reason` starts with the kind of failure, then a colon, then the first fault."""

    reward: float | None
    reason: str
    metrics: dict[str, float]
    kind: str = ""  # of failure, a key of `CAPABILITIES`; empty for a right answer


# --- the board -------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    of: tuple[tuple[int, int, int], ...]  # cell -> its row, column and box, as indices into `units`
    units: tuple[tuple[int, ...], ...]  # rows, then columns, then boxes: the cells of each
    diagonal: tuple[int, ...]  # boxes that share no row and no column
    planes: bytes  # the first cells of all units, then the second cells of all units, ...
    full: list[int]  # for each table of `_BITS` that is needed: a byte for each unit, with the bits of all values


@cache
def _shape(size: int) -> _Shape:
    height, width = BOX[size]
    across = size // width
    of = tuple((r, size + c, 2 * size + r // height * across + c // width) for r in range(size) for c in range(size))
    units = tuple(tuple(i for i, mine in enumerate(of) if u in mine) for u in range(3 * size))
    diagonal = tuple(2 * size + k * across + k for k in range(min(across, size // height)))
    full = [_number(bytes([sum(_VALUES[:size].translate(bits))]) * 3 * size) for bits in _BITS[: 1 if size < 10 else 2]]
    return _Shape(of, units, diagonal, bytes(i for plane in zip(*units) for i in plane), full)


def _used(cells: Sequence[int], size: int) -> list[int] | None:
    """Bit masks of the values in each unit, or None if one of them holds a value twice."""
    used = [0] * (3 * size)
    for i, value in enumerate(cells):
        if value:
            for u in _shape(size).of[i]:
                if used[u] >> value & 1:
                    return None
                used[u] |= 1 << value
    return used


def _singles(cells: list[int], used: list[int], size: int) -> tuple[int, int] | None:
    """Fill in all singles, in place. Returns the blank cell with the fewest candidates and their mask:
    (-1, 0) when the board is full, None when a cell or a value has no place left."""
    of, full = _shape(size).of, (2 << size) - 2
    masks = [0] * size * size  # the candidates of the blank cells
    blank = [i for i, value in enumerate(cells) if not value]
    while blank:
        left = []
        for i in blank:
            r, c, b = of[i]
            mask = full & ~(used[r] | used[c] | used[b])
            if mask & (mask - 1):
                left.append(i)
                masks[i] = mask
            elif mask:
                _put(mask, i, cells, used, size)
                masks[i] = 0
            else:
                return None
        if len(left) == len(blank):  # no cell has only one candidate: look for a value with only one place
            if (place := _place(masks, used, size)) is None:
                return None
            i, bit = place
            if not bit:
                fewest = min(blank, key=lambda i: masks[i].bit_count())
                return fewest, masks[fewest]
            _put(bit, i, cells, used, size)
            masks[i] = 0
            left.remove(i)
        blank = left
    return -1, 0


def _put(bit: int, i: int, cells: list[int], used: list[int], size: int) -> None:
    """Write the value of a bit into a blank cell."""
    cells[i] = bit.bit_length() - 1
    r, c, b = _shape(size).of[i]
    used[r] |= bit
    used[c] |= bit
    used[b] |= bit


def _place(masks: list[int], used: list[int], size: int) -> tuple[int, int] | None:
    """A cell, and the bit of a value that has its only place in a unit there; (-1, 0) where there is no such value,
    None where a value has no place at all."""
    full = (2 << size) - 2
    for u, unit in enumerate(_shape(size).units):
        once = twice = 0
        for i in unit:
            twice |= once & masks[i]
            once |= masks[i]
        if once | used[u] != full:
            return None
        if only := once & ~twice:
            bit = only & -only
            return next(i for i in unit if masks[i] & bit), bit
    return -1, 0


def _boards(cells: list[int], used: list[int], size: int, nodes: list[int], rng=None) -> Iterator[list[int]]:
    """Full boards by depth-first search, until the number in `nodes` is used up: then it is -1."""
    nodes[0] -= 1
    if nodes[0] < 0 or (choice := _singles(cells, used, size)) is None:
        return
    cell, mask = choice
    if cell < 0:
        yield cells
        return
    values = [v for v in range(1, size + 1) if mask >> v & 1]
    if rng:
        rng.shuffle(values)
    for value in values:
        next_cells, next_used = cells[:], used[:]
        _put(1 << value, cell, next_cells, next_used, size)
        yield from _boards(next_cells, next_used, size, nodes, rng)
        if nodes[0] < 0:
            return


def solve(puzzle: str, size: int | None = None, at_most: int = 1, max_steps: int = 20_000) -> list[str] | None:
    """Solutions of a puzzle, as text.

    Args:
        puzzle: One row a line; `_ . 0 * x ?` or an empty table cell is a blank.
        size: 4, 6, 9 or 16; None takes it from the puzzle.
        at_most: How many solutions to look for; 2 tells whether the first is the only one.
        max_steps: Search nodes to spend, each at most about a millisecond for a 16x16.

    Returns:
        The solutions found, an empty list if there is none, None if the steps ran out first (unknown).

    Raises:
        ValueError: the text is not a puzzle.
    """
    cells, size = _read_puzzle(puzzle, size)
    used, nodes = _used(cells, size), [max_steps]
    if used is None:
        return []
    found = list(islice(_boards(list(cells), used, size, nodes), at_most))
    return None if nodes[0] < 0 else [_text(cells, size) for cells in found]


def _text(cells: Sequence[int], size: int) -> str:
    """The board as text: a row a line, values separated by spaces, `_` for a blank."""
    if size > 9:
        return "\n".join(" ".join(str(value or "_") for value in row) for row in _rows(cells, size))
    text = bytearray(b" ") * (2 * size * size - 1)
    text[::2] = bytes(cells).translate(_TO_SIGN)
    text[2 * size - 1 :: 2 * size] = b"\n" * (size - 1)
    return text.decode()


_TO_SIGN = b"_123456789".ljust(256, b"?")  # byte table


def _rows(cells, size: int) -> list:
    """What belongs to the cells, in rows."""
    return [cells[i : i + size] for i in range(0, len(cells), size)]


# --- tasks -----------------------------------------------------------------------------------------------


def split_of(solution: str) -> str:
    """The split that a solved grid belongs to: 70 % train, 10 % validation, 20 % test, by a hash of its text."""
    share = int.from_bytes(sha256(solution.encode()).digest()[:4], "big") / 2**32
    return "train" if share < 0.7 else "validation" if share < 0.8 else "test"


def _random_grid(size: int, split: str, rng: random.Random) -> list[int]:
    """A random solved grid of the split. Boxes on the diagonal do not touch, so they start as plain shuffles."""
    shape = _shape(size)
    while True:
        cells = [0] * size**2
        for u in shape.diagonal:
            for i, value in zip(shape.units[u], rng.sample(range(1, size + 1), size)):
                cells[i] = value
        full = next(_boards(cells, _used(cells, size), size, [4 * size * size], rng), None)
        if full and split_of(_text(full, size)) == split:
            return full


def _dig(cells: list[int], size: int, blanks: int, singles: bool | None, rng: random.Random) -> bool:
    """Empty `blanks` cells in place, the solution staying the only one. False if this grid allows no such puzzle."""
    full, used = cells[:], _used(cells, size)
    order = rng.sample(range(size * size), size * size)
    kept = []
    for i in order:  # a cell that a single gives back at once needs no search: whoever fills it in has the board before
        if not blanks and singles is not False:
            break
        if _empty_single(i, cells, used, size):
            blanks -= 1
        else:
            kept.append(i)
    stuck = False  # whether singles no longer suffice
    for i in kept:
        if blanks <= 0 and (stuck or singles is not False):
            break
        cells[i] = 0
        if nodes := _nodes(cells, size, 1 if singles else 500):
            blanks -= 1
            stuck = nodes > 1
        else:
            cells[i] = full[i]
    for i in order:  # too many: give back those that leave it as hard
        if blanks < 0 and not cells[i]:
            cells[i] = full[i]
            if _nodes(cells, size, 1):
                cells[i] = 0
            else:
                blanks += 1
    return not blanks and (stuck or singles is not False)


def _empty_single(i: int, cells: list[int], used: list[int], size: int) -> bool:
    """Empty a cell, in place, if its value is then a single."""
    of, units = _shape(size)[:2]
    bit, (row, column, box) = 1 << cells[i], of[i]
    only_candidate = (used[row] | used[column] | used[box]).bit_count() == size
    cells[i] = 0
    for u in of[i]:
        used[u] ^= bit
    if only_candidate:
        return True
    for u in of[i]:
        for j in units[u]:
            if not cells[j] and j != i:
                r, c, b = of[j]
                if not bit & (used[r] | used[c] | used[b]):
                    break  # the value has another place in this unit
        else:
            return True
    _put(bit, i, cells, used, size)
    return False


def _nodes(cells: list[int], size: int, at_most: int) -> int:
    """Search nodes to find the only solution, 1 where singles suffice; 0 if there are more solutions or nodes."""
    nodes = [at_most]
    found = list(islice(_boards(cells[:], _used(cells, size), size, nodes), 2))
    return at_most - nodes[0] if nodes[0] >= 0 and len(found) == 1 else 0


def make_rows(
    n: int, seed: int = 0, split: str = "train", *, size: int = 4, difficulty: str = "easy",
    blanks: int | tuple[int, int] | None = None, singles: bool | None = None, interactive: bool = False,
) -> list[dict]:  # fmt: skip
    """Make `n` different puzzles, each with one solution.

    Args:
        n: How many.
        seed: Same arguments, same rows, on every platform.
        split: "train", "validation" or "test"; they share no solution grid.
        size: 4, 6, 9 or 16.
        difficulty: "easy", "medium" or "hard": blanks and singles as in `LEVELS`.
        blanks: Empty cells, a number or (fewest, most); None takes the level's.
        singles: Whether single candidates and single places solve it: True, False; None takes the level's.
        interactive: Ask for the cells one by one through `place`, not for the whole grid.

    Raises:
        ValueError: an argument is out of range, or there are not `n` such puzzles.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    if type(size) is not int or size not in BOX:
        raise ValueError(f"size must be 4, 6, 9 or 16, got {size!r}")
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"difficulty must be one of {', '.join(DIFFICULTIES)}, got {difficulty!r}")
    if singles not in (None, True, False):
        raise ValueError(f"singles must be True, False or None, got {singles!r}")
    fewest, most, level_singles = LEVELS[size][difficulty]
    if blanks is not None:
        span = [blanks, blanks] if isinstance(blanks, int) else list(blanks) if isinstance(blanks, list | tuple) else []
        if len(span) != 2 or any(type(v) is not int for v in span) or not 1 <= span[0] <= span[1] < size * size:
            raise ValueError(
                f"blanks must be a number from 1 to {size * size - 1} or a pair (fewest, most) of them, got {blanks!r}"
            )
        (fewest, most), level_singles = span, None
    singles = level_singles if singles is None else singles
    rng = random.Random(f"sudoku {seed} {split} {size} {fewest} {most} {singles}")
    kind, more = (f"sudoku-{size}-place", {"interactive": True}) if interactive else (f"sudoku-{size}", {})
    rows, seen, misses = [], set(), 0
    while len(rows) < n:
        cells = _random_grid(size, split, rng)
        solution = _text(cells, size)
        if _dig(cells, size, rng.randint(fewest, most), singles, rng) and (puzzle := _text(cells, size)) not in seen:
            seen.add(puzzle)
            prompt = [{"role": "user", "content": _prompt(puzzle, size, interactive)}]
            rows.append(_row(puzzle, size, prompt, kind, **more))
            assert score(solution, rows[-1]).reward == 1.0  # and so it is remembered for the answers to come
            misses = 0
        elif (misses := misses + 1) > 300:
            raise ValueError(
                f"found only {len(rows)} of {n} {size}x{size} puzzles with {fewest} to {most} blanks and "
                f"singles={singles}; ask for fewer puzzles or other blanks"
            )
    return rows


def _row(puzzle: str, size: int, prompt: list[dict], kind: str, **more) -> dict:
    """A row; `kind` is how its id begins."""
    digest = sha256(puzzle.encode()).hexdigest()[:12]
    task = json.dumps({"puzzle": puzzle, "size": size} | more)
    return {"prompt": prompt, "environment": "sudoku", "task_id": f"{kind}-{digest}", "task": task}


def _prompt(puzzle: str, size: int, interactive: bool) -> str:
    height, width = BOX[size]
    how = "Fill the blanks one by one with the place tool." if interactive else "Answer with the whole grid."
    return (
        f"Fill in this {size}x{size} Sudoku so that every row, column and {height}x{width} box holds 1 to {size}. "
        f"{how}\n\n{puzzle}"
    )


def rows_from_nemo_gym(records: Iterable[dict]) -> list[dict]:
    """Rows from NeMo Gym's rows of reasoning-gym's `mini_sudoku` and `sudoku`: same prompt, our verdict.

    Args:
        records: The rows, with the grid under `metadata`, `puzzle`: lists of numbers, 0 for a blank.

    Raises:
        ValueError: one is no such row; the message names it.
    """
    rows = []
    for number, record in enumerate(records, 1):
        try:
            grid = record["metadata"]["puzzle"]
            if not all(type(value) is int for line in grid for value in line):
                raise ValueError("the puzzle must be lists of numbers")
            givens, size = _read_puzzle("\n".join(" ".join(str(v or "_") for v in line) for line in grid), len(grid))
            messages = record["responses_create_params"]["input"]
            prompt = [{"role": message["role"], "content": message["content"]} for message in messages]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"record {number}: not a Sudoku row ({type(error).__name__}: {error})") from error
        rows.append(_row(_text(givens, size), size, prompt, "nemo-gym"))
    return rows


# --- the environment -------------------------------------------------------------------------------------


class SudokuEnv:
    """One puzzle. The whole grid through `submit`, or cell by cell through `place`; reward 1 if it is solved."""

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Start the puzzle in `task`; without one, a small built-in puzzle."""
        self._task = task or _SMALL
        self._givens, self._size, interactive, _ = _task(self._task)
        self._cells = self._givens
        self._fault = ""  # why the full grid is wrong
        self._done = False
        self._calls = 0
        self._limit = 4 * self._givens.count(0) + 8  # calls; ends endless repeats
        self.metrics: dict[str, float] = {}
        if prompt:
            return None
        return _prompt(_text(self._givens, self._size), self._size, interactive)

    def place(self, row: int, column: int, value: int) -> str:
        """Write a value into a cell of the board.

        Args:
            row: Row of the cell, counted from 1 at the top.
            column: Column of the cell, counted from 1 at the left.
            value: The value to write, or 0 to empty the cell again.

        Returns:
            The board after the move.
        """
        size = self._size
        self._count()
        for name, number, low in (("row", row, 1), ("column", column, 1), ("value", value, 0)):
            if type(number) is not int or not low <= number <= size:
                raise ValueError(f"{name} must be a whole number from {low} to {size}, got {number!r:.40}")
        i = (row - 1) * size + column - 1
        if self._givens[i]:
            raise ValueError(f"row {row}, column {column} is a given {self._givens[i]}; choose a blank cell")
        of, units = _shape(size)[:2]
        for u, kind in zip(of[i], ("row", "column", "box")):
            if value and value in [self._cells[j] for j in units[u] if j != i]:
                raise ValueError(f"{value} is already in that {kind}; choose another value")
        self._cells = self._cells[:i] + bytes([value]) + self._cells[i + 1 :]
        if 0 not in self._cells:
            self._done, self._fault = True, _fault(self._cells, self._task)
        return _text(self._cells, size) + "\nSolved." * self._done

    def submit(self, grid: str) -> str:
        """Hand in the whole solved grid. The first complete grid handed in is final.

        Args:
            grid: All rows, one a line, the values separated by spaces.

        Returns:
            Whether the grid solves the puzzle, or its first fault.
        """
        self._count()
        if type(grid) is not str:
            raise ValueError(f"grid must be text with one row a line, got {grid!r:.40}")
        cells, fault = _read_answer(grid, self._size)
        if cells is None:
            raise ValueError(fault)
        self._done = True
        self._cells, self._fault = cells, _fault(cells, self._task)
        return self._fault or "Solved."

    def get_reward(self) -> float | None:
        """1.0 if the board is full, keeps the givens and breaks no rule, else 0.0."""
        free = self._givens.count(0)
        self.metrics = {"filled": 1 - self._cells.count(0) / free if free else 1.0, "calls": float(self._calls)}
        return float(self._done and not self._fault)

    def _count(self) -> None:
        if self._done:
            raise ValueError("the puzzle is finished; answer without a tool call")
        if self._calls >= self._limit:
            raise ValueError(f"all {self._limit} calls are used up; answer without a tool call")
        self._calls += 1


ENV = SudokuEnv
_SMALL = json.dumps({"puzzle": "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1", "size": 4})


class _Task(NamedTuple):
    givens: bytes  # a value for each cell, 0 for a blank
    size: int
    interactive: bool  # whether the cells are to be placed one by one
    held: int  # all ones in the bytes of the givens, as a number


@lru_cache(maxsize=4096)  # a task is scored once for each completion in its group
def _task(task: str) -> _Task:
    fields = json.loads(task)
    givens, size = _read_puzzle(fields["puzzle"], fields.get("size"))
    return _Task(givens, size, bool(fields.get("interactive")), _number(givens.translate(_HELD)))


# A full grid is checked as long numbers with a byte for each cell, the first lowest.
_HELD = bytes([0] + [255] * 255)  # byte table: all ones for a value
_VALUES = bytes(range(1, 17))
# Byte tables: a bit of its own for each value, of 1 to 8 in the first, of 9 to 16 in the second.
_BITS = [bytes(1 << v - low if low <= v < low + 8 else 0 for v in range(256)) for low in (1, 9)]


def _number(cells: bytes) -> int:
    return int.from_bytes(cells, "little")


def _first(number: int) -> int:
    """The first byte that is not zero."""
    return ((number & -number).bit_length() - 1) // 8


def _fault(cells: bytes, task: str) -> str:
    """The first fault of a full grid, or an empty string."""
    givens, size, _, held = _task(task)
    strays = cells.translate(None, _VALUES[:size])
    changed = (_number(cells) ^ _number(givens)) & held
    if strays or changed:
        i = min([cells.index(value) for value in strays] + [_first(changed)] * (changed > 0))
        place, value = f"row {i // size + 1}, column {i % size + 1} is", cells[i]
        if value <= size:
            return f"wrong given: {place} {givens[i]} in the puzzle, not {value}"
        return f"wrong cell: {place} {value if value < 100 else 'over 99'}, not between 1 and {size}"
    if wrong := _wrong_units(cells, size):
        u = _first(wrong)
        values = [cells[i] for i in _shape(size).units[u]]
        twice = next(value for value in values if values.count(value) > 1)
        return f"wrong cell: {('row', 'column', 'box')[u // size]} {u % size + 1} holds {twice} twice"
    return ""


def _wrong_units(cells: bytes, size: int) -> int:
    """A number with a byte for each unit, the first lowest: not zero where the unit holds a value twice.

    Each value that has a bit must be there an odd number of times. A 9 needs no bit: with 1 to 8 there, only a 9 can be
    the ninth without making another value even."""
    shape, wrong, plane = _shape(size), 0, 3 * size * 8
    values = shape.planes.translate(cells.ljust(256))
    for bits, full in zip(_BITS, shape.full):
        odd = _number(values.translate(bits))
        for apart in (1, 2, 4, 8):  # the first cells with the second, these two with the next two, fours, eights
            odd ^= odd >> apart * plane
        wrong |= full & ~odd
    return wrong


def _blank(cells: bytes, size: int, blank: str = "blank") -> str:
    """Where the first blank of a grid is, or an empty string."""
    row, column = divmod(cells.find(0), size)
    return f"incomplete: row {row + 1}, column {column + 1} is {blank}" if 0 in cells else ""


# --- grading ---------------------------------------------------------------------------------------------


def answer(row: dict) -> str | list[dict]:
    """A right answer as a model would write it: the grid, or for an interactive row the messages with tool calls."""
    fields = json.loads(row["task"])
    solution = (solve(fields["puzzle"], fields.get("size"), max_steps=1_000_000) or [None])[0]
    if solution is None:
        raise ValueError(f"no solution found for puzzle {fields['puzzle']!r}")
    if not fields.get("interactive"):
        return solution
    env, messages = SudokuEnv(), []
    env.reset(**row)
    size = env._size
    for i, value in enumerate(int(v) for v in solution.split()):
        if not env._givens[i]:
            arguments = {"row": i // size + 1, "column": i % size + 1, "value": value}
            call = {"type": "function", "id": f"call_{i}", "function": {"name": "place", "arguments": arguments}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            board = env.place(**arguments)
            messages.append({"role": "tool", "name": "place", "tool_call_id": f"call_{i}", "content": board})
    return messages + [{"role": "assistant", "content": "Solved."}]


def parse(text: str, row: dict) -> list[tuple[str, dict]]:
    """The tool calls that a text stands for: calls as they are written, else one `submit` of its grid."""
    if (made := calls_in_text(text, ("row", "column", "value"))) and (calls := usable(made)):
        return calls
    size = _task(row["task"]).size
    cells, _ = _read_answer(text, size)
    return [] if cells is None else [("submit", {"grid": _text(cells, size)})]


def score(completion: str | list[dict] | None, row: dict) -> Verdict:
    """Grade a completion: text, or chat messages. Their tool calls are replayed; the text counts if there are none."""
    task, calls = row.get("task"), []
    if not isinstance(completion, str):
        made, completion = calls_and_text(completion)
        calls = usable(made)
    if calls or len(completion) > 2000:
        return _grade(completion, task, calls)
    reward, reason, metrics, kind = _remembered(completion, task)
    return Verdict(reward, reason, metrics.copy(), kind)


def _replay(task: str | None, calls: Sequence[tuple[str, dict]]) -> tuple[SudokuEnv, int, str]:
    """The environment after the calls, how many of them it accepted, and why it refused the first of the others."""
    env, accepted, refusal = SudokuEnv(), 0, ""
    env.reset(prompt=True, task=task)
    for name, arguments in calls:
        try:
            if name not in ("place", "submit"):
                raise ValueError(f"there is no tool {name!r:.40}; the tools are place and submit")
            getattr(env, name)(**arguments)
            accepted += 1
        except (ValueError, TypeError) as error:  # a refused call changes nothing, live as here
            refusal = refusal or str(error)
    return env, accepted, refusal


def _grade(text: str, task: str | None, calls: Sequence[tuple[str, dict]] = ()) -> Verdict:
    calls = calls or parse(text, {"task": task or _SMALL})
    env, accepted, refusal = _replay(task, calls)
    reward = env.get_reward()
    if accepted:
        reason = env._fault or _blank(env._cells, env._size, "still blank") or "solved"
    else:
        reason = refusal if calls else _read_answer(text, env._size)[1]
    kind = "" if reward else reason.partition(":")[0]
    if kind and kind not in CAPABILITIES:  # what `submit` refuses names its own kind
        kind, reason = "tool fault", f"tool fault: {reason}"
    return Verdict(reward, reason, env.metrics, kind)


_remembered = lru_cache(maxsize=4096)(_grade)  # a policy says the same thing again and again in a group


def reward(completions: list, task: list[str], **_) -> list[float | None]:
    """Reward function for TRL: one float for each completion and its `task` column."""
    return [score(completion, {"task": one}).reward for completion, one in zip(completions, task)]


def view(episode: dict) -> list[dict]:
    """The board as the accepted calls of an episode leave it.

    Args:
        episode: With `task` and `messages`, and once graded `reward`.

    Returns:
        A paragraph, and the board as rows of cells.
    """
    made, text = calls_and_text(episode["messages"])
    env, read, _ = _replay(episode["task"], usable(made) or parse(text, episode))
    givens, cells, size = env._givens, env._cells, env._size
    changed = {i for i, value in enumerate(cells) if givens[i] not in (0, value)}
    bad = {i for i, value in enumerate(cells) if value > size}
    for unit in _shape(size).units:
        values = [cells[i] for i in unit]
        bad |= {i for i in unit if cells[i] and values.count(cells[i]) > 1}
    told = [(cells.count(0), "{} blank"), (len(changed), "{} of the given values changed (≠)")]
    told += [(len(bad), "{} cells hold a value twice in a row, column or box (underlined)")]
    line = ", ".join(text.format(n) for n, text in told if n) or "no rule broken"
    line = f"Board: {line}. Bold: given." if read or "reward" not in episode else "No grid could be read: the puzzle."
    board = [_cell(given, value, i in changed, i in bad) for i, (given, value) in enumerate(zip(givens, cells))]
    return [{"text": line}, {"board": _rows(board, size), "box": BOX[size], "label": line}]


def _cell(given: int, value: int, changed: bool, bad: bool) -> dict:
    look = "bad" if changed or bad else "given" if given else "filled" if value else ""
    note = ", repeats a value" * bad + ", given" * bool(given) or ", filled in" * bool(value)
    note = f"{value or 'blank'}{f', the puzzle has {given}' if changed else note}"
    return {"text": f"{value or ''}{'≠' * changed}", "look": look, "note": note}


# --- shared by all environments: reading what a model wrote (a test keeps the copies identical) ---
# Nothing here raises, whatever a model wrote, and the time is linear in the length of the text.

_TAG = re.compile(  # a group that matches: reasoning ends here
    r"<\|?(/)?\|?(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis)\|?>"
    r"|<\|(?:begin_of_thought|(end_of_thought|begin_of_solution))\|>|\[(/)?THINK\]|◁(/)?think▷"
    r"|<\|channel>thought\b|<channel(\|)>",
    re.I,
)
_ENDS = (  # of a turn
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|return|>", "<|call|>", "<|end|>", "<|end_of_text|>", "<|endoftext|>",
    "<|end_of_solution|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
# gpt-oss writes messages in channels: <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final...
_HEADER = re.compile(r"\s*(?:analysis|commentary|final)\b[^<]{0,99}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call)\|>\s*(?:<\|start\|>|\Z)|<\|(?:start|channel)\|>")
_FINAL = re.compile(r"(?:\A|<\|channel\|>)\s*final\b")
_TO = re.compile(r"\bto=functions\.([\w.-]{1,100})")
# ... and this is left where its special tokens are not shown: analysisWe need ...assistantfinalThe answer ...
_BARE = re.compile(r"\s*(?:assistant)?(?:analysis([^\W_]|[\"“(\[{$\\*`#<])?|(commentary to=functions\.))")
_BARE_START = re.compile(r"assistant(?=analysis|commentary|final)")
_BARE_HEADER = re.compile(r"analysis|final|commentary(?: to=[\w.-]{1,100})?\s?(?:json\b)?")


def _channels(text: str) -> list[tuple[str, str]] | None:
    """Messages of gpt-oss as (header, body), with its special tokens or without; None where a text has no such."""
    found = []
    if "|" in text and ("<|channel|>" in text or ("<|message|>" in text and _HEADER.match(text))):
        header, *parts = text.split("<|message|>")
        for part in parts:
            end = _END_OF_MESSAGE.search(part)
            found.append((header, part[: end.start()] if end else part))
            header = part[end.start() :] if end else ""
        return found
    if (bare := _BARE.match(text)) and (bare.lastindex or "assistantfinal" in text):
        for part in filter(None, _BARE_START.split(text.strip())):
            header = _BARE_HEADER.match(part)
            found.append((header[0], part[header.end() :]))
        return found
    return None


def without_reasoning(text: str) -> str:
    """What a model says beside its reasoning, without the marks that end its turn.

    Reasoning is closed; or never closed, then nothing follows it; or opened in the prompt, then only its end is seen.
    Of the channels of gpt-oss the last final one counts. A second end at the very end is a slip and means nothing.
    """
    for _ in range(8):  # several in a row
        shown = text.rstrip()
        if not shown.endswith(">") or not shown.endswith(_ENDS):
            break
        text = next(shown.removesuffix(end) for end in _ENDS if shown.endswith(end))
    if (channels := _channels(text)) is not None:
        text = next((body for header, body in reversed(channels) if _FINAL.search(header)), "")
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    kept, start, inside, nested, stop = [], 0, False, False, len(text.rstrip())
    for tag in _TAG.finditer(text):
        if not tag.lastindex:
            if inside:
                nested = True
            else:
                kept.append(text[start : tag.start()])
                inside = True
        elif inside:
            inside, start = False, tag.end()
        elif tag.end() == stop and start and not nested:
            return "".join([*kept, text[start : tag.start()]])
        else:
            kept, start = [], tag.end()
    return "".join(kept if inside else [*kept, text[start:]])


class Call(NamedTuple):
    """A tool call as the model wrote it; `fault` says in words why it can't be used."""

    name: str
    arguments: dict
    fault: str = ""


_NO_CALL = Call("", {}, "a tool call is not whole JSON with a name and arguments")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,100})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.S)
_NAMED = re.compile(r"\s*([\w.-]{1,100})(?:\[CALL_ID\]\w{1,100})?(?:\[ARGS\]|\s*(?=\{)|\Z)")
_BETWEEN = re.compile(r"[\s;]*")
_BROKEN = object()  # what is no JSON


def calls_and_text(completion: object) -> tuple[list[Call], str]:
    """The calls made in chat messages or Responses items, and the text of the last message of the assistant.

    Args:
        completion: Text, which is returned as it is, or a list of messages; anything else has neither calls nor text.
    """
    if isinstance(completion, str):
        return [], completion
    calls, text = [], ""
    for message in completion if isinstance(completion, (list, tuple)) else ():
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
            continue
        kind = message.get("type")
        if kind == "function_call":
            calls.append(_call(message))
        elif kind is None or not _is_aside(kind):
            content, made = message.get("content"), message.get("tool_calls")
            if isinstance(content, (list, tuple)):
                parts = [part for part in content if isinstance(part, dict) and not _is_aside(part.get("type"))]
                content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
            text = content if isinstance(content, str) else ""
            if isinstance(made, (list, tuple)):
                calls += map(_call, made)
    return calls, text


def _is_aside(kind: object) -> bool:
    """Whether items or parts of this type are reasoning or the results of tools."""
    return isinstance(kind, str) and (kind.startswith(("reason", "think")) or kind.endswith("_output"))


def usable(calls: list[Call]) -> list[tuple[str, dict]]:
    """(name, arguments) of those that are not broken."""
    return [(call.name, call.arguments) for call in calls if not call.fault]


def calls_in_text(text: str, numbers: tuple[str, ...] = ()) -> list[Call]:
    """The calls in a text, reasoning left out, in the formats of Qwen, Hermes, Llama, Mistral and gpt-oss.

    A text that is nothing but one call in JSON, or a list of them, fenced or not, is that call.

    Args:
        text: What the model wrote.
        numbers: Parameters that take a whole number, for the formats that write values without a type.
    """
    if not (  # one sign is found faster than a word
        ('"' in text and '"name"' in text)
        or ("=" in text and "function" in text)
        or ("_" in text and ("tool_call" in text or "TOOL_CALLS" in text or "python_tag" in text))
    ):
        return []
    if "to=functions." in text and (channels := _channels(text)):
        sent = [(to[1], body) for header, body in channels if (to := _TO.search(header))]
        if sent:
            return [_call({"name": name, "arguments": body}) for name, body in sent]
    text = without_reasoning(text)[-200_000:].strip()  # the end counts
    if "<tool_call>" in text:
        bodies = [part.partition("</tool_call>")[0].strip() for part in text.split("<tool_call>")[1:]]
        return [call for body in bodies for call in (_functions(body, numbers) or [_call(body)])]
    if "[TOOL_CALLS]" in text:
        return [call for part in text.split("[TOOL_CALLS]")[1:] for call in _mistral(part)]
    if "<function=" in text:
        return _functions(text, numbers)
    _, tag, text = text.rpartition("<|python_tag|>")
    if text.startswith("```") and text.endswith("```"):
        info, _, body = text[3:-3].partition("\n")
        text = body if info.strip().lower() in ("", "json", "tool_call") else ""
    return _json_calls(text) or [_NO_CALL] * bool(tag)


def _functions(text: str, numbers: tuple[str, ...]) -> list[Call]:
    """<function=name> with JSON, as Llama has it, or with <parameter=name>value</parameter>, as Qwen3-Coder has it."""
    calls = []
    for part in text.split("<function=")[1:]:
        name, _, body = part.partition(">")
        body, closed, _ = body.partition("</function>")
        if not re.fullmatch(r"[\w.-]{1,100}", name := name[:101].strip("\"' ")):
            calls.append(_NO_CALL)
        elif "<parameter=" not in body and body.strip():
            calls.append(_call({"name": name, "arguments": body}))
        else:
            given = {key: value.removeprefix("\n").removesuffix("\n") for key, value in _PARAMETER.findall(body)}
            for key in numbers:
                if (number := given.get(key, "").strip()).isdecimal() and len(number) < 20:
                    given[key] = int(number)
            whole = closed or body.rstrip().endswith("</parameter>")
            calls.append(Call(name, given, "" if whole else "a tool call is not whole; end it with </function>"))
    return calls


def _mistral(part: str) -> list[Call]:
    """What follows [TOOL_CALLS]: calls in JSON, or a name and its arguments."""
    if named := _NAMED.match(part):
        return [_call({"name": named[1], "arguments": part[named.end() :]})]
    return _json_calls(part) or [_NO_CALL]


def _json_calls(text: str) -> list[Call]:
    """The calls in JSON, in one list or with semicolons between them, if the text is nothing else."""
    values, at, text = [], 0, text.strip()
    try:
        while at < len(text):
            value, at = json.JSONDecoder().raw_decode(text, at)
            values.append(value)
            at = _BETWEEN.match(text, at).end()
    except (ValueError, RecursionError):
        return []
    values = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    shaped = [value.get("function", value) if isinstance(value, dict) else None for value in values]
    if not all(isinstance(v, dict) and "name" in v and ("arguments" in v or "parameters" in v) for v in shaped):
        return []
    return [_call(value) for value in shaped]


def _call(call: object) -> Call:
    """A call as a dict or as JSON text."""
    if isinstance(call, str):
        call = _json(call)
    if isinstance(call, dict):
        call = call.get("function", call)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return _NO_CALL
    arguments = call["arguments"] if "arguments" in call else call.get("parameters")
    return Call(call["name"], *arguments_of(arguments))


def arguments_of(value: object) -> tuple[dict, str]:
    """The arguments of a call as a dict, and what is wrong with them; no text at all means no arguments."""
    if value is None:
        value = {}
    elif isinstance(value, str):
        value = _json(value) if value.strip() else {}
    if isinstance(value, dict):
        return value, ""
    if value is _BROKEN:
        return {}, "the arguments are not whole JSON; write one JSON object"
    kind = {str: "text", list: "a list", type(None): "null"}.get(type(value), "no object")
    return {}, f"the arguments are {kind}; write one JSON object, encoded once"


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BROKEN


# --- end of the shared block ---


# --- reading grids ---------------------------------------------------------------------------------------

_LONGEST = 200_000  # characters of a completion that are read, from the end
_DRAWN = "|│┃║"
_BORDER = re.compile(r"[-=+|:*\s─━═│┃║┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╤╧╪╟╢╓╖╙╜╥╨╫┏┓┗┛┣┫┳┻╋┠┨┯┷┿,;\"'`~\\]+")
_LABEL = re.compile(
    r"\s*(?:[-*+]\s+)?[\"']?"
    r"(?:(?:row|line|r)[\s_#]*[0-9]{1,2}[\"']?\s*[:.)=|│-]*|[0-9]{1,2}[\"']?(?:\s*[:.)]|\s+-\s)|[A-P][\"']?\s*[:.)|│])?\s*",
    re.I,
)
_LABEL_ALONE = re.compile(r"[\W_]*(?:(?:row|line|r)[\W_]*[0-9]{0,2}|[0-9]{1,2}[.:)])?[\W_]*", re.I)
_COMMENT = re.compile(r"\(|#|//|<-|←|--|–|—|\s-\s*[A-Za-z]")
_LEAD = re.compile(r"(.*)(?:[:=]|\b(?:is|are|becomes|reads)\b)(.*)", re.S)
_ARROW = re.compile(r"->|=>|→|⇒|➜")
_ACROSS = re.compile(r"\b(?:col|column|box|block|sub-?grid|sub-?square|region|quadrant|nonet)s?\b[^:]{0,20}$", re.I)
_WORD = re.compile(r"[A-Za-z]{2,}")
_LISTING = re.compile(  # words that list grids, rather than correct one
    "or|and|either|alternatively|alternative|option|candidate|possibility|possible|possibly|answers?|guess|solutions?|grids?"
    "|maybe|perhaps|another|other|also|first|second|third|one|two|try|attempt|version|the|this|that|is|it|be|could|might"
    "|here|an|as|well|row|box|text|json|python|sudoku|next|then"
)

_Edits = list[tuple[re.Pattern, str | Callable[[re.Match], str]]]  # patterns, and what replaces them
_HTML: _Edits = [
    (re.compile(r"\s*</t[dh]>\s*(?:<t[dh][^<>]{0,99}>\s*)?"), " | "),
    (re.compile(r"<(del|strike)>[^<>]{0,99}</\1>"), " "),
    (re.compile(r"</?(?:tr|br|p|div|li|row|r|line)\b[^<>]{0,99}>"), "\n"),
    (re.compile(r"</?[a-z][a-z0-9_-]{0,20}\b[^<>]{0,99}>|<\|[a-z_]{1,20}\|>", re.I), " "),
]
_LATEX: _Edits = [
    (re.compile(r"\\(?:begin|end)\{\w{1,20}\*?\}(?:\{[^{}\n]{0,99}\})?|\\hline|\\cline\{[^{}\n]{0,9}\}"), " "),
    (re.compile(r"\\[A-Za-z]{1,12}\s?\{([0-9A-G]{1,2})\}"), r" \1 "),
    (re.compile(r"\\[A-Za-z]{1,12}|\\[,;:!> ]"), " "),
]
_LISTS: _Edits = [
    (re.compile(r",\s*(?=\"[A-Za-z_]\w{0,20}\"\s*:)"), "\n"),  # the next key in JSON
    (re.compile(r"[\[({]\s*([0-9]{1,2}|[A-G])\s*[\])}]"), r" \1 "),  # one cell
    (re.compile(r"(?<![A-Za-z0-9])(?<![A-Za-z0-9] )(?:\[([^\[\]A-Za-z]*)\]|\(([^()A-Za-z]*)\)|\{([^{}A-Za-z]*)\})"),
     lambda group: "\n" + re.sub(r"\s+", " ", group[group.lastindex]) + "\n"),  # a row
    (re.compile(r"[\[\]{}]"), " "),
]  # fmt: skip
_MARKS: _Edits = [  # around the cells of one line
    (re.compile("[\u2600-\u260f\u2612-\u27bf\u2b00-\u2b1a\u2b1d-\u2bff\U0001f000-\U0001faff`]"), " "),  # ticks, emoji
    (re.compile(r"(?<!~)~~[^~\n]{1,40}~~(?!~)"), " "),
    (re.compile(r"(?<![\w*])(\*{1,3}|__)(?=[^\s*_])([^*\n]{0,99}?[^\s*_])\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<=[0-9])[*^'’](?![0-9*^])"), ""),  # a filled cell, as in 1 2* 3
]
_ONE_SIGN = dict.fromkeys(map(ord, "⬜⬛◻◼▢☐"), "_") | dict.fromkeys(
    [*range(0x200B, 0x2010), 0x2060, 0xFE0F, 0x20E3, 0xFEFF, ord("$")]
)


def _edit(text: str, edits: _Edits) -> str:
    for pattern, new in edits:
        text = pattern.sub(new, text)
    return text


def _plain_lines(text: str) -> list[str]:
    """Markup removed and lists opened up, so that a row of the grid is a line."""
    text = unicodedata.normalize("NFKC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = re.sub(r"(?![0-9])\d", lambda digit: str(unicodedata.decimal(digit[0])), text).translate(_ONE_SIGN)
    if "<" in text:
        text = _edit(text, _HTML)
    if "\\" in text:
        text = text.replace("\\\\", "\n")
        text = _edit(text if "\\begin" in text else text.replace("\\n", "\n"), _LATEX)
    text = re.sub("&(?:nbsp|ensp|emsp|thinsp|#160);", " ", text)
    if "[" in text or "(" in text or "{" in text:
        text = _edit(text, _LISTS)
    return text.split("\n")


@cache
def _signs(size: int) -> list[re.Pattern]:
    """A cell; cells and separators; a full row with one separator all along; a full grid in one line."""
    letter = r"|[A-G](?![A-Za-z0-9])" if size > 9 else ""  # 10 to 16
    value = "[1-9][0-9]?" if size > 9 else "[1-9]"
    patterns = (
        rf"[0-9]+{letter}|__?|[_.*x?X□·]" if size > 9 else r"[0-9]|[_.*x?X□·]",
        rf"(?:[0-9_.*x?X□·\s{_DRAWN},;&/\"']{letter})+",
        rf"{value}(?:([^\w\s]|\s?[^\w\s]\s){value})(?:\1{value}){{{size - 2}}}",
        rf"(?<![0-9])(?:[1-9][\s,;|/.-]{{0,3}}){{{size * size}}}(?![0-9])",
    )
    return [re.compile(pattern) for pattern in patterns]


def _cells_of(line: str, size: int) -> list[int] | None:
    """The values of a line that holds cells and separators only (0 for a blank), else None."""
    cell, cells, even, _ = _signs(size)
    if even.fullmatch(line):
        return [int(token) for token in re.findall("[0-9]+", line)]
    if not cells.fullmatch(line):
        return None
    for separator in _DRAWN + "&,;\t":
        if separator in line:
            fields = [field.strip(" \"'\t") for field in line.split(separator)]
            if len(fields) > size and not fields[-1]:
                fields.pop()
            if len(fields) > size and not fields[0]:
                fields.pop(0)
            if len(fields) == size and all(len(field) < 2 or (size > 9 and field.isdigit()) for field in fields):
                return [_value(field) for field in fields]
    tokens = list(line) if len(line) == size > 9 else cell.findall(line)  # each sign a cell
    if len(tokens) == size + 1 and line.endswith("."):  # the end of a sentence
        tokens.pop()
    return [_value(token) for token in tokens]


def _value(token: str) -> int:
    if "A" <= token <= "G":
        return ord(token) - 55
    return min(int(token[:4]), 100) if token.isascii() and token.isdigit() else 0  # a cell is a byte


def _row_of(line: str, size: int) -> tuple[list[int] | None, str]:
    """The cells in a line and the prose before them; (None, line) if it is no row."""
    if len(line) < size:
        return None, line
    raw = _cells_of(line, size)
    if raw and len(raw) == size:
        return raw, ""
    if (lead := _LEAD.fullmatch(line)) and _ACROSS.search(lead[1]):
        return None, line
    bare = _edit(line, _MARKS).strip(" \t\\>•")
    cells = _cells_of(bare, size)
    for found in (cells, raw):  # stars may be blanks or make bold
        if found and len(found) in (size, size * size):
            return found, ""
    last = _ARROW.split(bare)[-1]
    for text in (last.strip(_DRAWN), last):  # without its bars a label is seen, with them an empty last cell
        rest = _COMMENT.split(text[_LABEL.match(text).end() :], maxsplit=1)[0]
        labelled = _cells_of(rest.strip(), size)
        if labelled and len(labelled) == size:
            return labelled, ""
    if cells and len(cells) > 1:
        return cells, ""
    if lead := _LEAD.fullmatch(last):
        after = _row_of(lead[2], size)[0]
        if after and len(after) in (size, size * size):
            return after, lead[1]
    return None, line


@dataclass
class _Block:
    """A run of rows."""

    rows: list[list[int]] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)  # indices of rows that follow an empty line
    ruled: bool = False  # whether a table rule follows the first row
    before: str = ""  # prose


def _blocks(text: str, size: int) -> list[_Block]:
    """The runs of rows in a text; a full grid in one line is a run of its own."""
    blocks: list[_Block] = []
    block, prose, whole, (*_, flat) = _Block(), [], size * size, _signs(size)
    for line in _plain_lines(text):
        if not line.strip():
            block.gaps.append(len(block.rows))
            continue
        if _BORDER.fullmatch(line):
            block.ruled |= len(block.rows) == 1 and "-" in line
            continue
        cells, words = _row_of(line, size) if len(line) < 20_000 else (None, "")
        if cells is None and size < 10 and (found := flat.search(line[:20_000])):
            cells, words = [int(char) for char in found[0] if char.isdigit()], line[: found.start()]
        if cells is None and _LABEL_ALONE.fullmatch(words):
            continue
        if cells is None or len(cells) == whole or (words and not 0 < len(block.rows) < size):
            block = _Block()
            prose.append(words)
        if cells is None:
            continue
        if not block.rows:
            block.before, prose = " ".join(prose), []
            blocks.append(block)
        if len(cells) == whole:
            block.rows = _rows(cells, size)
            block = _Block()
        else:
            block.rows.append(cells)
    return blocks


def _grids(block: _Block, size: int) -> tuple[list[bytes], str]:
    """The grids in a run of rows, and the fault if there are none."""
    rows, gaps = block.rows, block.gaps
    counts = list(range(1, size + 1)), list(range(size))
    labels = [row[0] for row in rows[-size:] if len(row) == size + 1] in counts
    if len(rows) == size + 1 and (block.ruled or labels) and rows[0][-size:] in counts:
        rows = rows[1:]
    if len(rows) == size:
        rows, gaps = [row[1:] for row in rows] if labels else rows, []
    cuts = [0, *gaps, len(rows)]
    parts = [rows[a:b] for a, b in zip(cuts, cuts[1:]) if b - a == size]
    if not parts and len(rows) % size == 0:
        parts = _rows(rows, size)
    if not parts:
        return [], f"format: found {len(rows)} rows together, not {size}"
    for r, row in enumerate(row for part in parts for row in part):
        if len(row) != size:
            return [], f"format: row {r % size + 1} has {len(row)} values, not {size}"
    return [bytes(value for row in part for value in row) for part in parts], ""


@lru_cache(maxsize=1024)  # a policy writes in the same form again and again
def _is_usual(form: bytes, size: int) -> bool:
    """Whether a text, with a 1 for every value in it, is one grid with spaces, commas or bars between the values, and
    perhaps lines around it in which nothing could be taken for a cell."""
    signs = r"[^A-Za-z\n]*(?:[.*x?X]|[A-Pa-p][\"']?\s*[:.)|])|[^\n]*[.*x?X|,;][^A-Za-z\n]*[.*x?X|,;]"
    other = rf"(?!{signs})[^0-9<\[({{\\&\n]*"
    row = rf"1(?:[ \t]*+(?:[|,][ \t]*+)?+1){{{size - 1}}}[ \t|]*+"
    rows = rf"{row}(?:\n(?:[-+|=: \t]*\n)*[ \t|]*+{row}){{{size - 1}}}"
    usual = rf"(?!\s*(?:assistant)?analysis)(?:{other}\n)*[ \t|]*{rows}(?:\n{other})*"
    return bool(re.fullmatch(usual.encode(), form))


_CODES = {str(v): v for v in range(1, 17)} | dict.fromkeys("_.*x?X0□·", 0)
_TO_VALUES = bytes(i - 48 if 48 < i < 58 else 0 for i in range(256))
_ALIKE = bytes(49 if 48 <= i < 58 or i == 95 else i for i in range(256))  # digits and "_" to 1
_NO_CELLS = bytes(set(range(256)) - set(b"0123456789_"))


def _quick(text: str, size: int, blanks: bool = False) -> bytes | None:
    """The cells of a grid in a usual form, where the longer way could only say the same. `blanks` may be in it, as 0.

    Of a 16x16, rows of values and spaces only."""
    cells = None
    if size > 9:
        rows = [line.split() for line in text.strip().split("\n")]
        if [len(row) for row in rows] == [size] * size and all(value in _CODES for row in rows for value in row):
            cells = bytes(_CODES[value] for row in rows for value in row)
    elif text.isascii() and _is_usual((signs := text.encode()).translate(_ALIKE), size):
        cells = signs.translate(_TO_VALUES, _NO_CELLS)
    return None if cells is None or (0 in cells and not blanks) else cells


def _read_answer(text: str, size: int) -> tuple[bytes | None, str]:
    """The grid that a completion offers, or None and why there is none. The last complete grid counts."""
    if len(text) < 2000 and (cells := _quick(text, size)):
        return cells, ""
    if not text.strip():
        return None, "no answer: the completion is empty"
    text = without_reasoning(text)[-_LONGEST:]
    if not text.strip():
        return None, "no answer: nothing follows the reasoning"
    if "<answer>" in text:  # what is outside counts as words only
        parts = [part.partition("</answer>") for part in text.split("<answer>")[1:]]
        text = "\n".join(f"{inside}\n{' '.join(_WORD.findall(outside))}" for inside, _, outside in parts)
    offered, fault = _offers(text, size)
    if not offered:
        return None, fault
    different = {cells for cells, _ in offered}
    corrected = any(not _LISTING.fullmatch(word.lower()) for word in _WORD.findall(offered[-1][1]))
    if len(different) > 3 or (len(offered) > 1 and not corrected):
        return None, f"several answers: {len(different)} different grids offered; give one"
    return offered[-1][0], ""


def _offers(text: str, size: int) -> tuple[list[tuple[bytes, str]], str]:
    """The full grids in a text, each with the prose since the one before, and the fault of what is no full grid."""
    offered: list[tuple[bytes, str]] = []
    fault, prose = f"no answer: no grid of {size} rows found", ""
    for block in _blocks(text, size):
        prose += " " + block.before
        grids, problem = _grids(block, size)
        if problem and len(block.rows) > 1:
            fault = problem
        for cells in grids:
            if blank := _blank(cells, size):
                fault = blank
            elif not offered or cells != offered[-1][0]:
                offered.append((cells, prose))
                prose = ""
    return offered, fault


def _read_puzzle(text: str, size: int | None = None) -> tuple[bytes, int]:
    """Cells (0 for a blank) and size of a puzzle. Raises ValueError if it is none."""
    if not isinstance(text, str):
        raise ValueError(f"a puzzle must be text, got {text!r:.40}")
    for n in [size] if size else BOX:
        if n not in BOX:
            raise ValueError(f"size must be 4, 6, 9 or 16, got {size!r}")
        cells = _quick(text, n, blanks=True)
        if cells is None:
            grids = [grid for block in _blocks(text, n) for grid in _grids(block, n)[0]]
            cells = grids[0] if len(grids) == 1 else None
        if cells is not None and max(cells) <= n:
            return cells, n
    raise ValueError(f"not a puzzle of {size or '4, 6, 9 or 16'} rows: {text!r:.200}")
