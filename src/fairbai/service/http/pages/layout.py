"""The pages, each assembled from one layout, one frame with the navigation, and its own content."""

from pathlib import Path
from string import Template

HTML = Path(__file__).with_name("html")
TITLES = {
    "experiments.html": "Experiments",
    "experiment.html": "Experiment",
    "audit.html": "Audit",
    "plan.html": "Plan",
    "docs.html": "Help",
    "sign-in.html": "Sign in",
    "not-found.html": "Page not found",
}
UNFRAMED = "sign-in.html"  # without a session there is nowhere to go
SECTIONS = {
    "experiments": ("experiments.html", "experiment.html", "audit.html"),
    "plan": ("plan.html",),
    "docs": ("docs.html",),
}


def assemble(name: str) -> str:
    """The HTML of a page. Its script is the module of the same name."""
    body = _read(name)
    if name != UNFRAMED:
        marks = {section: ' aria-current="page"' if name in pages else "" for section, pages in SECTIONS.items()}
        body = Template(_read("frame.html")).substitute(marks, main=body)
    script = name.replace(".html", ".js")
    return Template(_read("layout.html")).substitute(title=TITLES[name], script=script, body=body)


def _read(name: str) -> str:
    return (HTML / name).read_text(encoding="utf-8")
