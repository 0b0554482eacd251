"""MkDocs hooks for our pages: formulas as MathML, and pages that live outside docs/.

Formulas are ```math blocks and $`...`$ in a line, as on GitHub. They become MathML when the site is built, which
browsers draw without a script.

README.md and its neighbours, the examples and the benchmark results are not in docs/, and pages link to them as files
of the repository. They become pages below project/, and all links are rewritten.

Docstrings have a section "Example:", which the reference reads as the "Examples:" of Google's style.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "Dockerfile",
    "compose.yaml",
    "benchmarks/RESULTS.md",
    "examples/*",
    "examples/*/*.md",
    "examples/*/*.py",
    "src/fairbai/reproduction/data/NOTICE.md",
)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class InlineFormula(InlineProcessor):
    """A formula in a line: $`E = mc^2`$."""

    def handleMatch(self, match: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802
        """Replace the source by MathML."""
        return self.md.htmlStash.store(_mathml(match[1], "inline")), match.start(0), match.end(0)


class Formulas(Extension):
    """The Python-Markdown extension for inline formulas."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register the pattern."""
        md.inlinePatterns.register(InlineFormula(r"\$`(.+?)`\$", md), "formula", 200)  # before `code`


class ExampleSections(griffe.Extension):
    """Read "Example:" in docstrings as "Examples:"; otherwise their prompts would be taken for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text of a docstring before it is parsed."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)


def _mathml(source: str, display: str) -> str:
    return convert(source.strip(), display=display)


def block_formula(source: str, language: str, css_class: str, options: Any, md: Markdown, **_: Any) -> str:
    """A ```math block: one formula, or several separated by empty lines."""
    parts = [_mathml(part, "block") for part in re.split(r"\n\s*\n", source.strip())]
    return f'<div class="{css_class}">{"".join(parts)}</div>'


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Register the formulas with Markdown."""
    config.markdown_extensions.append(Formulas())
    fence = {"name": "math", "class": "math", "format": block_formula}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    return config


def outside_files() -> list[str]:
    """The files outside docs/ that become pages, as paths from the root of the repository."""
    found = (path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern)))
    return [path.relative_to(ROOT).as_posix() for path in found if path.is_file()]


def page_of(file: str) -> str:
    """The page of a file outside docs/: examples/ab_test.py is project/examples/ab_test.py.md."""
    return f"project/{file}" if file.endswith(".md") else f"project/{file}.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file outside docs/."""
    for file in outside_files():
        level = InclusionLevel.INCLUDED if file.endswith(".md") else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page_of(file), content=_as_markdown(file), inclusion=level))
    return files


def _as_markdown(file: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".md"):
        return text
    if file.endswith(".ipynb"):
        return "\n\n".join(_cell(cell) for cell in json.loads(text)["cells"])
    language = {".py": "python", ".cff": "yaml", ".yaml": "yaml"}.get(Path(file).suffix, "text")
    return f"# {file}\n\n````{language}\n{text}````\n"


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links that cross the border of docs/, in either direction."""
    source = page.file.src_uri
    here = f"docs/{source}"
    for file in outside_files():
        if page_of(file) == source:
            here = file
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda match: _rewritten(match, here, source), part) for part in parts[::2]]
    return "".join(parts)


def _rewritten(match: re.Match[str], here: str, source: str) -> str:
    target, _, anchor = match[2].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return match[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    page = file.removeprefix("docs/") if file.startswith("docs/") else page_of(file)
    relative = os.path.relpath(page, posixpath.dirname(source) or ".").replace(os.sep, "/")
    return f"{match[1]}{relative}{'#' + anchor if anchor else ''}{match[3]}"
