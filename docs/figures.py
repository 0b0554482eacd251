"""The figures of the documentation: `make figures` redraws them into docs/images/.

Every figure is a function of the number of runs that returns a Matplotlib figure; its name is that of the file. All
randomness has fixed seeds. Drawings, such as the map of the packages, are in docs/drawings.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "examples"))
import drawings
import mismatched_log

import fairbai as fb
from fairbai.charts import studies, style
from fairbai.charts.frontier import frontier as draw_frontier
from fairbai.reproduction.past.archive_charts import draw_decided
from fairbai.reproduction.past.archive_data import archive_tests
from fairbai.reproduction.past.archive_replays import replayed
from fairbai.sampling import SamplingRule
from fairbai.simulation.comparison import compare_rules, rules_named

PAGES = [0.12, 0.10, 0.09]  # the three pages of the README
COLORS = [style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.VERMILLION]
LINES = ["-", "--", "-.", (0.0, (1.0, 1.2)), (0.0, (6.0, 1.5, 1.0, 1.5))]


def trajectory(runs: int) -> Figure:
    """One experiment: the shares of the arms against their floors, and the evidence against the threshold."""
    floors = fb.rates.Constant([0.08, 0.08, 0.08, 0.2])
    means = [0.50, 0.38, 0.30, 0.10]
    ident = fb.Identifier(4, delta=0.05, family=fb.Bernoulli(), floors=floors, seed=19)
    rng = np.random.default_rng(19)
    history = []
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, float(rng.random() < means[arm]))
        history.append(ident.status())
    rounds = np.arange(1, len(history) + 1)
    figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.7, columns=2)
    for arm, mean in enumerate(means):
        label = f"arm {arm}, mean {mean}"
        left.plot(rounds, [one.shares[arm] for one in history], color=COLORS[arm], linestyle=LINES[arm], label=label)
    for floor, whose in ((0.08, "arms 0, 1 and 2"), (0.2, "arm 3")):
        left.axhline(floor, color=style.BLACK, linewidth=0.8)
        left.text(rounds[-1], floor - 0.01, f"floor of {whose} ", ha="right", va="top", fontsize=7)
    left.set(xlabel="trial", ylabel="share of the trials", ylim=(0, 0.7), title="Shares of the arms")
    left.legend(loc="upper right", ncols=2)
    part = [100.0 * one.glr / one.threshold for one in history]
    right.plot(rounds, part, color=style.BLUE, label="evidence (GLR)")
    right.axhline(100.0, color=style.VERMILLION, linestyle="--", label="threshold for δ = 0.05")
    right.set(xlabel="trial", ylabel="% of the evidence needed", ylim=(0, 119), title="Evidence until the stop")
    right.legend(loc="center left")
    for panel in (left, right):
        panel.set(xscale="log", xlim=(10, rounds[-1]))
        panel.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def price(runs: int) -> Figure:
    """The price of fairness and its bound over the floor of every arm, and what it means in trials."""
    floors = np.linspace(0.0, 0.3333, 80)
    prices = [fb.price_of_fairness(fb.Instance(PAGES, family=fb.Bernoulli(), floors=floor)) for floor in floors]
    figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.6, columns=2)
    left.plot(floors, [one.upper_bound for one in prices], color=style.GREY, linestyle="--", label="upper bound")
    left.plot(floors, [one.ratio for one in prices], color=style.BLUE, label="price of fairness")
    left.set(xlabel="floor of every page", ylabel="trials with floors / without", title="Price of fairness")
    left.legend()
    weights = [fb.solve(fb.Instance(PAGES, family=fb.Bernoulli(), floors=floor)).weights for floor in floors]
    for arm, mean in enumerate(PAGES):
        right.plot(
            floors,
            np.array(weights)[:, arm],
            color=COLORS[arm],
            linestyle=LINES[arm],
            label=f"page that converts {mean:.0%}",
        )
    right.plot(floors, floors, color=style.BLACK, linewidth=0.8)
    right.text(0.06, 0.045, "the floor", fontsize=7)
    right.set(xlabel="floor of every page", ylabel="optimal share", ylim=(0, 0.6), title="Optimal shares")
    right.legend()
    return figure


def allocations(runs: int) -> Figure:
    """The optimal shares of five arms under four kinds of floors."""
    means = [1.0, 0.8, 0.6, 0.3, 0.0]
    kinds = {
        "no floors": fb.rates.Constant(0.0),
        "0.12 for each": fb.rates.Constant(0.12),
        "InverseGap(0.7)": fb.rates.InverseGap(0.7),
        "Gap(0.7)": fb.rates.Gap(0.7),
    }
    figure, axes = style.panels(style.TWO_COLUMNS, 2.2, columns=4, sharey=True)
    for panel, (title, rates) in zip(axes, kinds.items(), strict=True):
        instance = fb.Instance(means, floors=rates)
        found = fb.solve(instance)
        panel.bar(range(5), found.weights, color=style.SKY, edgecolor=style.BLACK, label="optimal share")
        panel.bar(range(5), instance.floors, color="none", edgecolor=style.VERMILLION, hatch="////", label="floor")
        panel.set(title=f"{title}\n$T^*_p$ = {found.characteristic_time:.0f}", xlabel="mean", xticks=range(5))
        panel.set_xticklabels([f"{mean:g}" for mean in means])
        panel.grid(visible=False, axis="x")
    axes[0].set_ylabel("share of the trials")
    style.legend_below(figure, axes[0], 2)
    return figure


def rules(runs: int) -> Figure:
    """Trials against violation of five rules, for floors that are known and for floors that are learned."""
    means = np.linspace(2.0, 0.0, 6)
    cases = {
        "floors known in advance": fb.rates.blended(fb.Instance(means), 0.8, 0.1),
        "floors learned from the means": fb.rates.InverseGap(0.8),
    }
    compared = {
        "FairTopTwo": fb.sampling.FairTopTwo(),
        "F-TaS": fb.sampling.FairTrackAndStop(),
        "F-TaS tracked": fb.sampling.FairTrackAndStop(tracking="cumulative", start="policy"),
        "Uniform Fair": fb.sampling.UniformFair(),
        "TaS": fb.sampling.TrackAndStop(),
    }
    figure, axes = style.panels(style.TWO_COLUMNS, 2.8, columns=2)
    for panel, (title, rates) in zip(axes, cases.items(), strict=True):
        _trials_and_violation(panel, fb.Instance(means, floors=rates), compared, runs)
        panel.set_title(title)
    style.legend_below(figure, axes[0], 5)
    return figure


def _trials_and_violation(axes: Axes, instance: fb.Instance, compared: dict[str, SamplingRule], runs: int) -> None:
    for name, rule in compared.items():
        done = fb.simulate(instance, deltas=0.1, sampling=rule, runs=runs, seed=1)
        look = style.ALGORITHMS[name]
        marks = {"color": look.color, "marker": look.marker, "markersize": 7, "linestyle": "none", "label": name}
        error = 1.96 * done.stopping_time.std() / np.sqrt(runs)
        axes.errorbar(done.stopping_time.mean(), 100 * done.violation.mean(), xerr=error, **marks)
    bound = fb.lower_bound(instance, 0.1)
    axes.axvline(bound, color=style.GREY, linestyle="--", linewidth=1)
    where = {"rotation": 90, "transform": axes.get_xaxis_transform(), "ha": "right", "va": "center", "fontsize": 7}
    axes.text(bound, 0.5, "lower bound of fair rules ", **where)
    axes.set(xlabel="trials until the stop (δ = 0.1, Mixture)", ylabel="violation at the stop, %")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set(ylim=(-0.03, 60), yticks=[0, 0.1, 1, 10], xlim=(0, None))
    axes.yaxis.set_major_formatter("{x:g}")


def thresholds(runs: int) -> Figure:
    """What two arms of n trials each must show, over n, for every stopping rule; ten Gaussian arms, delta = 0.05."""
    kinds = {
        "Heuristic (not proved)": (fb.stopping.Heuristic(), style.GREY),
        "Mixture": (fb.stopping.Mixture(), style.BLUE),
        "TwoSidedMixture": (fb.stopping.TwoSidedMixture(), style.SKY),
        "PairwiseGaussian": (fb.stopping.PairwiseGaussian(), style.GREEN),
        "KaufmannKoolen": (fb.stopping.KaufmannKoolen(), style.VERMILLION),
    }
    figure, (axes,) = style.panels(4.6, 3.2)
    counts = np.unique(np.geomspace(5, 3000, 40).round().astype(int))
    for line, (name, (rule, color)) in enumerate(kinds.items()):
        axes.plot(counts, [_threshold(rule, int(n)) for n in counts], color=color, linestyle=LINES[line], label=name)
    axes.set(xscale="log", xlabel="trials of each of the two arms", ylabel="evidence needed, nats", ylim=(0, 40))
    style.legend_below(figure, axes, 3)
    return figure


def _threshold(rule: fb.stopping.StoppingRule, count: int) -> float:
    """The threshold where two leading arms of ten have so many trials, and just about enough evidence."""
    gap = 2.0 * np.sqrt(8.0 / count)
    ident = fb.Identifier(10, delta=0.05, family=fb.Gaussian(), stopping=rule, settle=False)
    ident.tell_batch([count] * 10, [count * gap, 0.0, *[-100.0 * count] * 8])
    return ident.status().threshold


def deltas(runs: int) -> Figure:
    """One set of runs answers every delta: trials over delta, beside the lower bound."""
    instance = fb.Instance([1.0, 0.6, 0.2], floors=0.2)
    asked = np.geomspace(0.2, 1e-8, 30)
    done = fb.simulate(instance, deltas=asked, runs=runs, seed=1)
    figure, (axes,) = style.panels(4.6, 2.7)
    low, high = np.quantile(done.stopping_time, [0.1, 0.9], axis=0)
    axes.fill_between(done.deltas, low, high, color=style.SKY, alpha=0.4, label="from the 10th to the 90th percentile")
    axes.plot(done.deltas, done.stopping_time.mean(axis=0), color=style.BLUE, label="trials on average")
    axes.plot(
        done.deltas,
        [fb.lower_bound(instance, one) for one in done.deltas],
        color=style.BLACK,
        linestyle="--",
        label="lower bound",
    )
    axes.set(xscale="log", xlabel="δ", ylabel="trials", ylim=(0, None), xlim=(0.2, 1e-8))
    axes.legend(loc="upper left")
    return figure


def drift(runs: int) -> Figure:
    """All arms rise, and one is better at every moment: a stop for constant means, and the design-based stop."""
    means, rise, trials, seed = np.array([0.11, 0.05, 0.05, 0.05]), 0.8, 2000, 2
    ramp = fb.drifts.Ramp(rise, trials)
    figure, panels = style.panels(style.TWO_COLUMNS, 2.8, columns=2, sharey=True)
    stops = {"Mixture": fb.stopping.Mixture(), "DesignBased": fb.stopping.DesignBased.for_trials(8000, 0.05, 4)}
    for panel, (name, stop) in zip(panels, stops.items(), strict=True):
        ident = fb.Identifier(4, delta=0.05, family="bernoulli", floors=0.1, stopping=stop, settle=False, seed=seed)
        rng = np.random.default_rng(seed)
        times, estimates, bands = [], [], []
        while not ident.decided:
            trial = ident.ask_trial()
            now = means + rise * min(1.0, (trial.number + 1) / trials)
            ident.tell(trial, float(rng.random() < now[int(trial.arm)]))
            if trial.number % 50 == 49 or ident.decided:
                times.append(trial.number + 1)
                known = ident.averages() if name == "DesignBased" else None
                estimates.append(known.estimates if known else ident.status().means)
                bands.append(known.intervals if known else np.full((4, 2), np.nan))
        _averages(panel, np.array(times), np.array(estimates), np.array(bands), ramp.averages(means, times))
        right = ident.recommendation == 0
        verdict = "the best arm" if right else "a worse arm"
        panel.axvline(times[-1], color=style.BLACK, linewidth=0.8)
        panel.set_title(f"{name}: {verdict} named after {times[-1]:,} trials")
    panels[0].set_ylabel("reward per trial so far")
    style.legend_below(figure, panels[0], 4)
    return figure


def _averages(axes: Axes, times: np.ndarray, estimates: np.ndarray, bands: np.ndarray, truth: np.ndarray) -> None:
    """The estimates of the best arm and of its strongest rival, with bands, and the true averages."""
    rival = 1 + int(estimates[-1, 1:].argmax())
    for arm, name, color in ((0, "best arm", style.BLUE), (rival, "a worse arm", style.VERMILLION)):
        axes.plot(times, estimates[:, arm], color=color, label=f"{name}, estimate")
        axes.plot(times, truth[:, arm], color=color, linestyle=":", label=f"{name}, true average")
        axes.fill_between(times, bands[:, arm, 0], bands[:, arm, 1], color=color, alpha=0.15, linewidth=0.0)
    axes.set(xlabel="trial", ylim=(0.0, 1.0), xlim=(0, 1.02 * times[-1]))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def calibration(runs: int) -> Figure:
    """Guesses at a deadline: how often they are right, by the confidence that is stated."""
    cases = {
        "three pages of 12, 10 and 9 %, 2,000 trials": (fb.Instance(PAGES, "bernoulli", floors=0.2), 2000),
        "two Gaussian arms, gap 0.3, 200 trials": (fb.Instance([0.3, 0.0]), 200),
        "two Gaussian arms, gap 0.1, 200 trials": (fb.Instance([0.1, 0.0]), 200),
        "two Gaussian arms, gap 0.01, 1,000 trials": (fb.Instance([0.01, 0.0]), 1000),
    }
    done = {
        name: fb.simulate(instance, deltas=1e-12, runs=5 * runs, seed=1, maximum_rounds=trials)
        for name, (instance, trials) in cases.items()
    }
    return studies.calibration("At a deadline", done)


def cell(runs: int) -> Figure:
    """The paper's wireless cell, scheduled until its best UE is known."""
    import gymnasium

    from fairbai import environments

    place = environments.WirelessCell.paper()
    floors = 0.9 / place.means / (1.0 / place.means).sum()
    ident = fb.Identifier(10, delta=0.05, family=fb.Gaussian(), floors=floors, seed=1)
    status = environments.play(gymnasium.make("fairbai/WirelessCell-v0"), ident, seed=1)
    figure, (left, right) = style.panels(11.0, 6.0, columns=2, width_ratios=[1.5, 1.0])
    environments.draw_cell(place, left, shares=status.shares, floors=status.floors)
    _shares(right, status)
    return figure


def _shares(axes: Axes, status: fb.Status) -> None:
    arms = range(len(status.arms))
    axes.bar(arms, 100 * status.shares, color=style.SKY, edgecolor=style.BLACK, label="share of the slots")
    axes.bar(arms, 100 * status.floors, color="none", edgecolor=style.VERMILLION, hatch="////", label="floor")
    axes.set(
        xlabel="UE",
        ylabel="%",
        xticks=arms,
        title=f"{status.assigned.sum():,} slots; UE {status.recommendation} is the best",
    )
    axes.grid(visible=False, axis="x")
    axes.legend()


def frontier(runs: int) -> Figure:
    """Regret against trials of the rules that know of floors, and of fair top-two as it earns more."""
    kinds = ("fair_track_and_stop", "fair_thompson", "fair_ucb", "strict_quota", "virtual_queues")
    rules = {f"fair_top_two, earning {part:g}": fb.sampling.FairTopTwo(earning=part) for part in (0, 0.5, 0.75, 0.9, 1)}
    rules |= rules_named(kinds)
    instances = {
        "Bernoulli 0.9, 0.8, 0.6, 0.5, floors 0.02": fb.Instance([0.9, 0.8, 0.6, 0.5], "bernoulli", 0.02),
        "Gaussian 1, 0.6, 0.5, 0.3, 0, floors 0.1": fb.Instance([1.0, 0.6, 0.5, 0.3, 0.0], floors=0.1),
    }
    count = max(2, runs // 2)
    compared = {title: compare_rules(one, rules, 3000, runs=count, seed=1) for title, one in instances.items()}
    return draw_frontier(compared)


def log(runs: int) -> Figure:
    """What the log of examples/mismatched_log.py says."""
    columns = zip(*mismatched_log.rows(30_000, 0.45, 0.03, 7), strict=True)
    data = dict(zip(("time", "variant", "probability", "bought"), map(list, columns), strict=True))
    return fb.analyze(data, "variant", "bought", time="time").figure()


def archive(runs: int) -> Figure:
    """Real tests that are decided within their own traffic; 2,000 runs are all tests, and take a quarter of an hour."""
    every = archive_tests()
    return draw_decided(replayed(every[:: max(1, len(every) // runs)], 4))


FIGURES: dict[str, Callable[[int], Figure]] = {
    "trajectory": trajectory,
    "price": price,
    "allocations": allocations,
    "rules": rules,
    "thresholds": thresholds,
    "deltas": deltas,
    "calibration": calibration,
    "cell": cell,
    "drift": drift,
    "log": log,
    "archive": archive,
    "frontier": frontier,
    "tie": drawings.tie,
    "packages": drawings.packages,
    "experiment": drawings.experiment,
}


def main(arguments: list[str] | None = None) -> None:
    """Draw the figures that are named, or all."""
    parser = argparse.ArgumentParser(description="Draw the figures of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)} (default: all)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "images", help="the folder")
    parser.add_argument("--runs", type=int, default=2000, help="simulated runs of a figure that has some")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or FIGURES:
        with style.applied():
            FIGURES[name](options.runs).savefig(options.output / f"{name}.png", dpi=140, metadata={"Software": None})


if __name__ == "__main__":
    main()
