"""Renderers: results in, text out. Nothing here computes, solves or prints."""
