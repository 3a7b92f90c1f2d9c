"""Any text is either a scenario or a list of diagnostics, in bounded time."""

import time
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import InputError, render_diagnostics
from planner.scenario import Scenario, loads
from tests.scenario.bad_scenarios import BASE, EDITED, INLINE_MODEL, edited

TREES = [yaml.safe_load(BASE), yaml.safe_load(INLINE_MODEL + BASE.split("\n", 3)[3].replace("vllm-0.31", "roofline"))]
WORDS = st.sampled_from(["", "no", "1e3", "12 TB", "roofline", "h200-sxm", "mla", "hill", "measured", "power", "95%"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    WORDS,
    st.text(max_size=8),
    st.integers(-1, 3),
    st.floats(0, 1),
)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=4) | WORDS, v, max_size=3),
    max_leaves=6,
)
LIMIT_S = 5.0


def paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(p for key, child in children for p in paths(child, (*path, key)))]


PATHS = [paths(tree)[1:] for tree in TREES]


def mutate(tree: Any, path: tuple[Any, ...], change: str, value: Any) -> Any:
    if not isinstance(tree, dict | list) or (isinstance(tree, dict) and path[0] not in tree):
        return tree
    if isinstance(tree, list) and not (isinstance(path[0], int) and path[0] < len(tree)):
        return tree
    tree = tree.copy()
    if len(path) > 1:
        tree[path[0]] = mutate(tree[path[0]], path[1:], change, value)
    elif change == "remove":
        del tree[path[0]]
    elif change == "rename" and isinstance(tree, dict):
        tree[f"{path[0]}x"] = tree.pop(path[0])
    elif change == "wrap":
        tree[path[0]] = [tree[path[0]]]
    else:
        tree[path[0]] = value
    return tree


def check(text: str) -> None:
    start = time.perf_counter()
    outcome = load_or_refuse(text)
    assert time.perf_counter() - start < LIMIT_S
    if isinstance(outcome, InputError):
        assert outcome.diagnostics
        assert all(c.isprintable() or c == "\n" for c in render_diagnostics(outcome.diagnostics))


def load_or_refuse(text: str) -> Scenario | InputError:
    try:
        return loads(text, "fuzz.yaml")
    except InputError as error:
        return error


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_scenarios_changed_by_key_type_value_and_structure(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(TREES) - 1))
    tree = TREES[which]
    for _ in range(data.draw(st.integers(1, 3))):
        change = data.draw(st.sampled_from(["remove", "rename", "wrap", "set", "set"]))
        tree = mutate(tree, data.draw(st.sampled_from(PATHS[which])), change, data.draw(VALUES))
    check(yaml.safe_dump(tree, allow_unicode=True))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, len(BASE)), st.integers(0, 20), st.text(max_size=5) | st.sampled_from(list(":{}[]&*!|>-#%@`\"'\t"))
)
def test_scenarios_changed_as_text(at: int, removed: int, inserted: str) -> None:
    check(BASE[:at] + inserted + BASE[at + removed :])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(EDITED)), min_size=2, max_size=4, unique=True))
def test_several_mistakes_at_once(which: list[str]) -> None:
    text = BASE
    for name in which:
        for old, new in EDITED[name]:
            text = text.replace(old, new, 1)
    check(text)
    assert edited(EDITED[which[0]]) != BASE
