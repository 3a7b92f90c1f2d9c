"""``python -m planner`` is the console script."""

from planner.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
