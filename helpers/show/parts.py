# SPDX-License-Identifier: Apache-2.0
"""What the widgets are made of: something to show with and without a front end, a filter, pages with a slider."""

from collections.abc import Callable
from types import ModuleType

from helpers.here import watched
from helpers.show import views

# How a cell's output names a widget (packages/schema/messages.md of ipywidgets); ipywidgets 7, which Colab has, does
# not make it itself.
_VIEW = "application/vnd.jupyter.widget-view+json"
ANY = "any"
WIDE = {"description_width": "initial"}  # labels as wide as their words
NAMED = {"description_width": "13em"}  # labels one below the other
FIELD = {"width": "44em"}


class Shown:
    """Something to show as the last line of a cell.

    Args:
        title: What it is, in plain text.
        static: Makes the HTML for where there is no front end.
        live: Makes the widget, given the ipywidgets module.
    """

    def __init__(self, title: str, static: Callable[[], str], live: Callable):
        self.title, self.static, self.live = title, static, live

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle: dict = {"text/plain": self.title, "text/html": self.static()}
        if widgets := front_end():
            bundle[_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.live(widgets).model_id}
        return bundle


def front_end() -> ModuleType | None:
    """The ipywidgets module where somebody may be looking on, else None."""
    if not watched():
        return None
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets


def at_least_one(episodes: list[dict]) -> list[dict]:
    """The episodes as a new list.

    Raises:
        ValueError: there are none.
    """
    if not episodes:
        raise ValueError("no episodes to show: give what rollout returned, or store.read(path)")
    return list(episodes)


def choice(w, label: str, values: list):
    """A choice among the values that occur, each with how often it does."""
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    options = [(f"{ANY} ({len(values)})", ANY), *((f"{value} ({n})", value) for value, n in ordered)]
    return w.Dropdown(options=options, description=label, style=WIDE)


def beside(w, children: list):
    return w.HBox(children, layout=w.Layout(flex_flow="row wrap"))


class Pages:
    """A slider, a number field and buttons over things that are drawn one at a time.

    The slider is for the mouse and the eye. ipywidgets ties its label to no element of it and has no trait that reaches
    the handle, so without JavaScript a screen reader finds a slider with a value and no name. The number field and the
    buttons do the same by keyboard, and have names.
    """

    def __init__(self, w, what: str, draw: Callable[[int], str]):
        self.draw, self.n, self.drawn = draw, 0, {}
        self.slider = w.IntSlider(min=1, max=1, value=1, description=what, style=WIDE, readout=False)
        self.number = w.BoundedIntText(min=1, max=1, value=1, description=f"{what} number", style=WIDE)
        self.number.layout.width = "12em"
        self.count, self.view = w.HTML(), w.HTML()
        self.back = w.Button(description="Previous", tooltip=f"previous {what.lower()}", layout={"width": "auto"})
        self.on = w.Button(description="Next", tooltip=f"next {what.lower()}", layout={"width": "auto"})
        w.link((self.slider, "value"), (self.number, "value"))
        self.back.on_click(lambda _: self._go(-1))
        self.on.on_click(lambda _: self._go(1))
        self.slider.observe(lambda _: self.show(), "value")
        self.box = w.VBox([beside(w, [self.slider, self.number, self.count, self.back, self.on]), self.view])

    def _go(self, by: int) -> None:
        self.slider.value = min(max(self.slider.value + by, 1), self.slider.max)

    def restart(self, n: int, if_none: str) -> None:
        """Show the first of `n` things."""
        self.n, self.drawn, self.if_none = n, {}, if_none
        for box in (self.slider, self.number):
            box.max = max(n, 1)
            box.disabled = n < 2
        self.slider.value = 1
        self.show()

    def show(self) -> None:
        """Draw the thing that the slider stands at; each is drawn once."""
        i = self.slider.value - 1
        if self.n and i not in self.drawn:
            self.drawn[i] = self.draw(i)
        self.count.value = f"of {self.n}" if self.n else ""
        self.view.value = self.drawn[i] if self.n else views.draw.note("Nothing to show", self.if_none)
        self.back.disabled, self.on.disabled = i <= 0, i + 1 >= self.n
