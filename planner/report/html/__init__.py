"""The report for a budget meeting: one HTML file that needs no network, no server and no solver."""

from __future__ import annotations

from planner.report.html.report import report_html

__all__ = ["report_html"]
