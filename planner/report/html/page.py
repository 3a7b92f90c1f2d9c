"""One self-contained file: style, scripts and data inline, and a policy that forbids everything else.

The policy names each script and style by its hash, so that nothing that a user wrote can run even if it were not
escaped, and lets the page open no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from planner.report.html.parts import Chart, script_json, text

NO_SCRIPT = "The charts need JavaScript; their numbers are in the table under each."
PLOTLY = "plotly-basic.min.js"
EMPTY_STYLE = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # Plotly fills an empty sheet by rules


@cache
def asset(name: str) -> str:
    """A file of the package."""
    return (files("planner.report.html") / "assets" / name).read_text(encoding="utf-8")


@cache
def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def page(title: str, eyebrow: str, sections: Sequence[tuple[str, str, str]], charts: Sequence[Chart], foot: str) -> str:
    """The document; a section is ``(anchor, name in the navigation, body)``."""
    style, script, plotly = asset("style.css"), asset("charts.js"), asset(PLOTLY) if charts else ""
    data = script_json(
        [{"id": c.id, "traces": c.traces, "layout": c.layout, "height": c.height, "rows": c.rows} for c in charts]
    )
    links = "".join(f'<a href="#{anchor}">{text(name)}</a>' for anchor, name, _ in sections if name)
    body = "".join(f'<section id="{anchor}">\n{part}</section>\n' for anchor, _, part in sections)
    scripts = ""
    if charts:
        scripts = (
            f'<script type="application/json" id="chart-data">{data}</script>\n'
            f"<script>{plotly}</script>\n<script>{script}</script>\n"
        )
    return (
        f"<!doctype html>\n<html lang=en>\n{_head(title, style, _policy(style, script, plotly))}"
        f'<body>\n<a class=skip href="#answer">Skip to the answer</a>\n<header><p>{text(eyebrow, 200)}</p>'
        f'<nav aria-label="Sections">{links}</nav></header>\n<noscript><p class=note>{NO_SCRIPT}</p></noscript>\n'
        f"<main>\n{body}</main>\n<footer>{text(foot, 400)}</footer>\n{scripts}</body>\n</html>\n"
    )


def _head(title: str, style: str, policy: str) -> str:
    return (
        f'<head>\n<meta charset=utf-8>\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name=viewport content="width=device-width,initial-scale=1">\n'
        '<meta name=color-scheme content="light dark">\n<meta name=referrer content=no-referrer>\n'
        f"<title>{text(title, 200)}</title>\n<style>{style}</style>\n</head>\n"
    )


def _policy(style: str, script: str, plotly: str) -> str:
    allowed = " ".join(f"'{_hash(code)}'" for code in (plotly, script)) if plotly else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src-elem '{_hash(style)}' '{EMPTY_STYLE}'; "
        "style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
