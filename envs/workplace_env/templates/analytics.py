# SPDX-License-Identifier: Apache-2.0
"""Requests about the visits of the website."""

from datetime import date

from .desk import Skip, listed, template

_METRICS = {  # how it is called in a request, and in the tools
    "total visits": "total_visits",
    "average session duration": "session_duration_seconds",
    "engaged users": "user_engaged",
    "direct visits": "visits_direct",
    "visits from referrals": "visits_referral",
    "visits from search engines": "visits_search_engine",
    "visits from social media": "visits_social_media",
}
_COUNTED = {
    "total visits": "analytics_total_visits_count",
    "engaged users": "analytics_engaged_users_count",
    "average session duration": "analytics_get_average_session_duration",
}
_SOURCES = {
    "direct": "visits_direct",
    "referral": "visits_referral",
    "search engine": "visits_search_engine",
    "social media": "visits_social_media",
}
_PLOTS = ("bar", "line", "scatter", "histogram")


def plot_range(desk, span: tuple[str, str], value: str, plot: str) -> None:
    """Make a plot."""
    desk.do("analytics_create_plot", time_min=span[0], time_max=span[1], value_to_plot=value, plot_type=plot)


@template(
    "analytics",
    "easy",
    "Make a {plot} plot of {metric} from {first} to {last}.",
    "Please draw {metric} between {first} and {last} as a {plot} plot.",
    "I need a {plot} chart of {metric} for the time from {first} until {last}.",
)
def analytics_plot(desk):
    span, metric, plot = desk.span(), desk.one(*_METRICS), desk.one(*_PLOTS)
    plot_range(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metric": metric, "plot": plot}, "The plot is ready."


@template(
    "analytics",
    "easy",
    "Make a {plot} plot of {metric} for the last {n} days, up to yesterday.",
    "Plot {metric} over the past {n} days until yesterday, as a {plot} plot.",
    "Show me {metric} of the {n} days before today in a {plot} chart.",
)
def analytics_plot_recent(desk):
    n, metric, plot = desk.rng.randrange(3, 40), desk.one(*_METRICS), desk.one(*_PLOTS)
    plot_range(desk, (desk.days_ago(n), desk.days_ago(1)), _METRICS[metric], plot)
    return {"n": n, "metric": metric, "plot": plot}, "The plot is ready."


@template(
    "analytics",
    "easy",
    "Make {plot} plots of {metric} and of {other} from {first} to {last}.",
    "Two {plot} charts, please: {metric}, and {other}, both between {first} and {last}.",
    "Draw {metric} as well as {other} from {first} until {last}, each in a {plot} plot of its own.",
)
def analytics_plot_two(desk):
    span, plot = desk.span(), desk.one(*_PLOTS)
    metric, other = desk.rng.sample(list(_METRICS), 2)
    plot_range(desk, span, _METRICS[metric], plot)
    plot_range(desk, span, _METRICS[other], plot)
    return _spoken(desk, span) | {"metric": metric, "other": other, "plot": plot}, "Both plots are ready."


@template(
    "analytics",
    "easy",
    "Plot the distribution of total visits, average session duration and engaged users from {first} to {last} as"
    " histograms.",
    "I need three histograms for {first} to {last}: total visits, average session duration, engaged users.",
    "Histograms of engaged users, of total visits and of average session duration between {first} and {last}, please.",
    held_out=True,
)
def analytics_three_histograms(desk):
    span = desk.span()
    for value in ("total_visits", "session_duration_seconds", "user_engaged"):
        plot_range(desk, span, value, "histogram")
    return _spoken(desk, span), "The three histograms are ready."


@template(
    "analytics",
    "medium",
    "Plot {metric} from {first} to {last} in all four plot types.",
    "Give me a bar, a line, a scatter plot and a histogram of {metric} between {first} and {last}.",
    "I can't decide how to show {metric} from {first} until {last}. Make one plot of each of the four types.",
)
def analytics_all_types(desk):
    span, metric = desk.span(), desk.one(*_METRICS)
    for plot in _PLOTS:
        plot_range(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metric": metric}, "The four plots are ready."


@template(
    "analytics",
    "medium",
    "Make one {plot} plot each of {metrics} from {first} to {last}.",
    "I need {plot} charts of {metrics}, all between {first} and {last}, one for each.",
    "For the time from {first} until {last}, draw a {plot} plot of each of these: {metrics}.",
)
def analytics_several(desk):
    span, plot = desk.span(), desk.one(*_PLOTS)
    metrics = desk.rng.sample(list(_METRICS), desk.rng.randrange(3, 6))
    for metric in metrics:
        plot_range(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metrics": listed(metrics), "plot": plot}, f"The {len(metrics)} plots are ready."


@template(
    "analytics",
    "medium",
    "If {metric} on {day} was more than {limit}, make a line plot of it from that day to yesterday.",
    "Was {metric} above {limit} on {day}? If so, plot it as a line from then until yesterday.",
    "Check {metric} on {day}. Only if it exceeds {limit}, draw a line plot of it from that day up to yesterday.",
)
def analytics_if_above(desk):
    metric, day = desk.one(*_COUNTED), desk.days_ago(desk.rng.randrange(3, 50))
    count = desk.look(_COUNTED[metric], time_min=day, time_max=day).get(day)
    if count is None:
        raise Skip
    limit = max(0, round(count) + desk.rng.randrange(-4, 4))
    desk.about = day
    values = {"metric": metric, "day": desk.said(day), "limit": limit}
    if count <= limit:
        return values, f"It was not more than {limit}, so there is no plot."
    plot_range(desk, (day, desk.days_ago(1)), _METRICS[metric], "line")
    return values, "It was, and the plot is ready."


@template(
    "analytics",
    "medium",
    "If {metric} was higher on {last} than on {first}, make a {plot} plot of it between the two days.",
    "Did {metric} grow from {first} to {last}? If so, plot it over that time as a {plot} plot.",
    "Compare {metric} on {first} and on {last}. If the later day has more, draw a {plot} chart from the first to the"
    " second.",
)
def analytics_if_grew(desk):
    metric, plot, span = desk.one(*_COUNTED), desk.one(*_PLOTS), desk.span(5, 15)
    days = desk.look(_COUNTED[metric], time_min=span[0], time_max=span[1])
    if span[0] not in days or span[1] not in days:
        raise Skip
    desk.about = span[1]
    values = _spoken(desk, span) | {"metric": metric, "plot": plot}
    if days[span[1]] <= days[span[0]]:
        return values, "It did not grow, so there is no plot."
    plot_range(desk, span, _METRICS[metric], plot)
    return values, "It grew, and the plot is ready."


@template(
    "analytics",
    "medium",
    "If visitor {visitor} was engaged, make a bar plot of engaged users for the day of their visit.",
    "Look up visitor {visitor}. If they were engaged, plot engaged users of that one day as bars.",
    "Was visitor {visitor} an engaged user? Then draw a bar chart of engaged users, just for the day they came.",
)
def analytics_visitor(desk):
    visitor = desk.rng.choice(desk.tables.visits.rows)[1]
    visit = desk.look("analytics_get_visitor_information_by_id", visitor_id=visitor)[0]
    desk.about = visitor
    if not visit["user_engaged"]:
        return {"visitor": visitor}, "That visitor was not engaged, so there is no plot."
    plot_range(desk, (visit["date_of_visit"], visit["date_of_visit"]), "user_engaged", "bar")
    return {"visitor": visitor}, "The plot is ready."


@template(
    "analytics",
    "hard",
    "If we got more visits from {source} than from {other} between {first} and {last}, make bar plots of both over"
    " that time.",
    "Compare visits from {source} and from {other}, {first} to {last}. If {source} brought more, plot both as bars.",
    "Did {source} bring more visits than {other} from {first} until {last}? If yes, draw one bar chart for each of the"
    " two.",
)
def analytics_compare_sources(desk):
    span = desk.span(5, 25)
    source, other = desk.rng.sample(list(_SOURCES), 2)
    totals = [_total(desk, one, span) for one in (source, other)]
    desk.about = span[0][:7]
    values = _spoken(desk, span) | {"source": source, "other": other}
    if totals[0] <= totals[1]:
        return values, f"{source.capitalize()} did not bring more visits, so there are no plots."
    plot_range(desk, span, _SOURCES[source], "bar")
    plot_range(desk, span, _SOURCES[other], "bar")
    return values, "It did, and both plots are ready."


@template(
    "analytics",
    "hard",
    "Which traffic source brought the most visits between {first} and {last}? Make a line plot of it for that time.",
    "Find the strongest traffic source from {first} to {last} and plot its visits as a line.",
    "Draw a line chart of the visits from whichever source had the most of them, {first} until {last}.",
)
def analytics_best_source(desk):
    span = desk.span(5, 25)
    totals = {source: _total(desk, source, span) for source in _SOURCES}
    best = max(totals, key=totals.get)
    if sorted(totals.values())[-2] == totals[best]:
        raise Skip
    plot_range(desk, span, _SOURCES[best], "line")
    return _spoken(desk, span), f"It was {best}; the plot is ready."


@template(
    "analytics",
    "hard",
    "Which day between {first} and {last} had the most {metric}? Make a bar plot of total visits for that day only.",
    "Find the best day for {metric} from {first} to {last}, and plot the total visits of that single day as bars.",
    "Take the day with the highest {metric} between {first} and {last} and draw a bar chart of its total visits.",
    held_out=True,
)
def analytics_best_day(desk):
    span, metric = desk.span(4, 15), desk.one("total visits", "engaged users")
    days = desk.look(_COUNTED[metric], time_min=span[0], time_max=span[1])
    best = max(days, key=days.get)
    if list(days.values()).count(days[best]) > 1:
        raise Skip
    plot_range(desk, (best, best), "total_visits", "bar")
    return _spoken(desk, span) | {"metric": metric}, f"It was {best}; the plot is ready."


@template(
    "analytics",
    "medium",
    "If there was a day between {first} and {last} with fewer than {limit} visits in all, make a scatter plot of total"
    " visits over that time.",
    "Did total visits ever drop below {limit} from {first} to {last}? If so, plot them for that time as a scatter"
    " plot.",
    "Check the total visits of each day from {first} until {last}. If any is under {limit}, I need a scatter chart of"
    " them.",
    held_out=True,
)
def analytics_if_low(desk):
    span, limit = desk.span(5, 20), desk.rng.randrange(5, 12)
    days = desk.look("analytics_total_visits_count", time_min=span[0], time_max=span[1])
    if (date.fromisoformat(span[1]) - date.fromisoformat(span[0])).days + 1 != len(days):
        raise Skip  # a day without visits is not listed
    desk.about = span[1][:7]
    values = _spoken(desk, span) | {"limit": limit}
    if min(days.values()) >= limit:
        return values, "That never happened, so there is no plot."
    plot_range(desk, span, "total_visits", "scatter")
    return values, "It did, and the plot is ready."


def _total(desk, source: str, span: tuple[str, str]) -> int:
    days = desk.look("analytics_traffic_source_count", time_min=span[0], time_max=span[1], traffic_source=source)
    return sum(days.values())


def _spoken(desk, span: tuple[str, str]) -> dict:
    return {"first": desk.said(span[0]), "last": desk.said(span[1])}
