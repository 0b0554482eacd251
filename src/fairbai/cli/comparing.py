"""What ``fairbai compare --rules`` prints and draws."""

import argparse
import math

from fairbai.cli.printing import print_json
from fairbai.cli.questions import asked_of, question
from fairbai.cli.studies import COMPARED
from fairbai.planning import plan
from fairbai.planning.plan import PROVED
from fairbai.simulation.comparison import compare_rules, rules_named

HORIZON = 4.0  # expected trials


def print_comparison(options: argparse.Namespace) -> None:
    """Run rules on one instance and print them side by side."""
    if options.figures is not None:
        from fairbai.charts.frontier import save_frontier  # before the work, because it needs the extra `report`
    form, rules = question(options), rules_named(options.rules)
    given = (form["means"], form.get("family"), form.get("floors"), form.get("delta", 0.05), form.get("arms"))
    planned = plan(*given, **asked_of(form)).with_stop(PROVED)  # the other proved stop takes only rules that draw
    estimate = planned.expected / planned.outlook.scale  # without simulation: the same whatever is compiled
    horizon = math.ceil(HORIZON * estimate) if options.horizon is None else options.horizon
    found = compare_rules(
        planned.instance,
        rules,
        horizon,
        planned.delta,
        planned.stopping,
        COMPARED if options.runs is None else options.runs,
        options.seed or 0,
        progress=not options.quiet,
    )
    if options.json:
        print_json({"horizon": horizon, "rules": found.to_dicts(), "refused": found.refused})
    else:
        print(found)
    if options.figures is not None:
        save_frontier(found, options.figures)
        if not options.json:
            print(f"\nfigures are in {options.figures}")
