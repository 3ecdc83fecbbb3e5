"""Pictures: what they show lies where it can lie, and says what it is."""

import json

import pytest

from helpers.show import plots


def history(means, spread, **more):
    return [{"step": n, "reward": m, "reward_std": spread} | more for n, m in enumerate(means, 1)]


def band_of(rows):
    """The highest and lowest point of the band around the reward, its label, and the limits of the axis."""
    axes = plots.training(rows, "a title")[0]
    plots.close(axes)
    (band,) = axes.collections
    heights = [y for path in band.get_paths() for _, y in path.vertices]
    assert band.get_label() in [text.get_text() for text in axes.get_legend().get_texts()]
    return min(heights), max(heights), band.get_label(), axes.get_ylim()


@pytest.mark.parametrize("mean", [0.0, 0.05, 0.5, 0.95, 1.0])
def test_the_band_of_a_reward_stays_where_the_reward_can_be(mean):
    low, high, label, (bottom, top) = band_of(history([mean] * 20, (mean * (1 - mean)) ** 0.5))
    assert 0 <= low <= mean <= high <= 1 and bottom == 0 and top >= high
    assert label == "one standard deviation, within 0 to 1"


def test_the_band_is_one_standard_deviation_where_there_is_room_for_it():
    low, high, _, _ = band_of(history([0.5] * 20, 0.2))
    assert low == pytest.approx(0.3) and high == pytest.approx(0.7)


def test_a_reward_on_another_scale_keeps_its_band():
    low, high, label, (bottom, top) = band_of(history([-2.0, 0.0, 4.0] * 7, 0.5, held_out=5.0))
    assert label == "one standard deviation, within -2 to 4" and -2 <= low < high <= 4
    assert bottom == -2 and top > 5


def test_a_history_without_spread_is_drawn_without_a_band():
    rows = json.loads(json.dumps([{"step": n, "reward": 0.5} for n in range(1, 9)]))
    axes = plots.training(rows, "a title")[0]
    plots.close(axes)
    assert not axes.collections and axes.lines
