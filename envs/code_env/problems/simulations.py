# SPDX-License-Identifier: Apache-2.0
"""Building blocks that simulate something: accounts, queues, moves on a grid."""

from collections.abc import Callable

# fmt: off


def simulations(add: Callable[..., None]) -> None:
    def simulate(name, takes, gives, code, says, values=()):
        add(name, takes, gives, 2, code, says, "", values)

    simulate("account", "ints", "int",
        "total = 0\nfor x in {x}:\n    if total + x >= 0:\n        total += x\n{y} = total",
        "take them in turn as deposits and (if negative) withdrawals on an account that starts at 0, skipping each "
        "withdrawal that would take the balance below 0, and take the final balance"
        "|book them one by one on an account of 0, refusing whatever would make the balance negative, and take what is "
        "on it in the end")
    simulate("tank", "ints", "ints",
        "level, levels = 0, []\nfor x in {x}:\n    level = min({k}, max(0, level + x))\n    levels.append(level)\n"
        "{y} = levels",
        "pour them in turn into (if negative, out of) a tank that is empty at first and holds from 0 to {k}, the rest "
        "being lost, and list the level after each|let a level start at 0, change by each number in turn but stay "
        "between 0 and {k}, and list it after each change", (5, 8, 10))
    simulate("stack", "ints", "ints",
        "stack = []\nfor x in {x}:\n    if x > 0:\n        stack.append(x)\n    elif stack:\n        stack.pop()\n"
        "{y} = stack",
        "go through them with an empty stack: push a number above 0, for any other pop the top if there is one; take "
        "the stack from bottom to top|play them on a stack, where a positive number goes on top and any other number "
        "removes the top one if there is one, and list what is left from the bottom up")
    simulate("circle", "ints", "ints",
        "circle, order, at = list({x}), [], 0\nfor left in range(len({x}), 0, -1):\n    at = (at + {k} - 1) % left\n"
        "    order.append(circle.pop(at))\n{y} = order",
        "stand them in a circle and count off from the first: the one counted {k} leaves, and counting starts "
        "again at 1 with "
        "the one after it, until none is left; list them in the order of leaving|count 1 to {k} again and again around "
        "a circle of them, starting at the first; whoever is counted {k} leaves at once; list them as they leave",
        (2, 3))
    simulate("merge", "ints", "ints",
        "kept = []\nfor x in {x}:\n    if kept and kept[-1] == x:\n        kept[-1] = 2 * x\n    else:\n"
        "        kept.append(x)\n{y} = kept",
        "go from left to right and keep each number, but when it equals the last one kept, double that one instead"
        "|slide them together from the left: a number that equals the last kept one merges with it into their sum, any "
        "other is kept behind it")
    simulate("lift", "ints", "int", "{y} = sum(abs(b - a) for a, b in zip([0] + {x}, {x}))",
        "let a lift start at floor 0 and stop at these floors in turn, and take the number of floors it travels"
        "|add up the distances of a walk on the number line that starts at 0 and visits the numbers in order")
    simulate("bubble", "ints", "ints",
        "row = list({x})\nfor i in range(len(row) - 1):\n    if row[i] > row[i + 1]:\n"
        "        row[i], row[i + 1] = row[i + 1], row[i]\n{y} = row",
        "go once from left to right and swap each two neighbours of which the left one is greater"
        "|make one pass of bubble sort, left to right")
    simulate("best_stretch", "ints", "int",
        "best = here = 0\nfor x in {x}:\n    here = max(0, here + x)\n    best = max(best, here)\n{y} = best",
        "take the largest sum that numbers standing next to each other have (0 if none is above 0)"
        "|find the stretch of neighbours with the greatest sum and take that sum, at least 0")
    simulate("profit", "ints", "int",
        "best, low = 0, None\nfor x in {x}:\n    low = x if low is None else min(low, x)\n"
        "    best = max(best, x - low)\n"
        "{y} = best",
        "take them as prices over time and take the largest gain from buying once and selling later (0 without a gain)"
        "|find the greatest rise from a number to a later one, 0 if there is none")
    simulate("streak", "ints", "int",
        "best = here = 0\nfor x in {x}:\n    here = here + 1 if x > 0 else 0\n    best = max(best, here)\n{y} = best",
        "take the length of the longest streak of numbers above 0|count the most positive numbers in a row")
    simulate("walk", "moves", "ints",
        "x = y = 0\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n    y += (c == 'U') - (c == 'D')\n{y} = [x, y]",
        "start at [0, 0] and take the final position as [x, y], x growing to the right and y upwards"
        "|follow the moves from [0, 0] (R adds 1 to x, U adds 1 to y) and take the end as a list [x, y]")
    simulate("distances", "moves", "ints",
        "x = y = 0\nfar = []\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n    y += (c == 'U') - (c == 'D')\n"
        "    far.append(abs(x) + abs(y))\n{y} = far",
        "list after each move how many steps the start is away (steps across plus steps up or down)"
        "|after every move note the distance to the start, horizontal plus vertical")
    simulate("visited", "moves", "int",
        "x = y = 0\nseen = {(0, 0)}\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n"
        "    y += (c == 'U') - (c == 'D')\n"
        "    seen.add((x, y))\n{y} = len(seen)",
        "count the different squares that are visited, the start included"
        "|take the number of distinct grid squares touched, counting the start")
    simulate("fenced", "moves", "ints",
        "x = y = 0\nfor c in {x}:\n    x = min({k}, max(0, x + (c == 'R') - (c == 'L')))\n"
        "    y = min({k}, max(0, y + (c == 'U') - (c == 'D')))\n{y} = [x, y]",
        "start at [0, 0] on a board whose x and y go from 0 to {k}, ignore moves that would leave it, and take "
        "the final "
        "position as [x, y] (R adds 1 to x, U adds 1 to y)|walk from [0, 0], x to the right and y upwards, staying put "
        "whenever a move would take x or y below 0 or above {k}, and take the end as [x, y]", (2, 3))
    for name, code, says in (
        ("swap_sides", "{x}.translate(str.maketrans('LR', 'RL'))", "swap left and right in all moves"
         "|mirror the moves: L becomes R and R becomes L"),
        ("retrace", "{x}[::-1].translate(str.maketrans('LRUD', 'RLDU'))",
         "make the moves of the way back: the opposite moves in reverse order|turn the way around, last move first and "
         "each one in the opposite direction"),
        ("skip_moves",
         "{x}[::2]", "leave out every second move, the first one staying|use only moves 1, 3, 5 and so on"),
        ("twice", "{x} * 2", "make all the moves twice, one round after the other|repeat the whole sequence once"),
    ):
        add(name, "moves", "moves", 1, code, says)
