"""How sure the times are: what they rest on is said on the first screen and beside every comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.evaluate import evaluate
from planner.physics import corrected
from planner.physics.system import System
from planner.plan import Evaluation
from planner.report.certainty import basis, mark, sentence
from planner.report.reread import StoredSet, stored_set
from planner.report.services import chosen, groups, headings
from planner.report.side_by_side import overview
from planner.report.study_compare import to_data, to_table
from planner.scenario import Scenario, load
from planner.scenario import replace as changed
from planner.scenario.catalog.corrections import corrections
from planner.study.compare import Comparison, Outcome, Side
from tests.report import sample
from tests.report_html import made

UNMEASURED = "far from anything measured: m has no measurement on vllm that plans use: the timing table as packaged"
OWN = ("in 27 measurements of this very model on vllm 0.12.0, TPOT was 2.06 and TTFT 1.50 times these: taken for "
       "another build and left out of the error of these times; measure yours before buying")  # fmt: skip
NOTHING = Outcome("", 0.0, (), (), (), (), True)
BAND = "TPOT 55 ms −15 % … +20 %: what 80 % of comparable measurements were; half lay above +1 % and +14 %"


@pytest.fixture(scope="module")
def chat() -> Scenario:
    return changed(load(made.SCENARIOS / "chat.yaml"), {"engine.correction": "default"})


def plan(*notes: str, known: bool = True) -> Evaluation:
    error = {"tpot_error": (-0.15, 0.2), "ttft_error": (-0.52, 1.15)} if known else {}
    return replace(sample.disaggregated(), notes=notes, **error)


def of(scenario: Scenario, found: Evaluation) -> StoredSet:
    (first, *_) = sample.plan_set().plans
    return StoredSet(sample.plan_set(plans=(replace(first, evaluation=found),)), scenario, "")


def test_what_was_not_measured_is_said_on_the_first_screen(chat: Scenario) -> None:
    stored = of(chat, plan(BAND, UNMEASURED, OWN))
    said = sentence(stored, stored.plan_set.plans[0].evaluation)
    assert "This model was not measured on this engine" in said
    assert "27 measurements of this very model on vllm 0.12.0 had TPOT 2.06 and TTFT 1.50 times these" in said
    assert "half lay above +1 % and +14 %" in said
    assert "asks for a plan that keeps the limits there too, where there is one" in said
    page = made.page_of_set(stored.plan_set, stored).replace("\u00a0", " ")
    first = page[page.index('<section id="answer">') : page.index('<section id="costs">')]
    assert "<span>not measured on this engine: see below</span>" in first
    assert "27 measurements of this very model" in first


def test_a_measured_model_is_not_marked(chat: Scenario) -> None:
    near = plan(BAND, "corrected by 10 measurements of vllm 0.16.0 (m): prefill x 1.19")
    assert mark(near) == ""
    assert "not measured" not in sentence(of(chat, near), near)
    far = plan("corrected by 10 measurements", "far from anything measured (tp8, measured tp4): an extrapolation")
    assert mark(far) == "beyond what was measured: see below"


def test_the_upper_end_of_what_was_not_measured_is_marked_too(chat: Scenario) -> None:
    upper = changed(chat, {"slo.confidence": 0.9})
    found = plan(UNMEASURED, OWN, known=False)
    said = sentence(of(upper, found), found)
    assert said.startswith("planned at the upper end of 90 % confidence")
    assert "27 measurements of this very model" in said
    own = changed(load(made.SCENARIOS / "paper.yaml"), {"slo.confidence": 0.9})
    assert "numbers of your own" in sentence(of(own, plan(known=False)), plan(known=False))
    assert basis(own, plan(known=False)) == "own times"


def test_what_times_rest_on_in_a_few_words(chat: Scenario) -> None:
    assert basis(chat, plan("corrected by 9 measurements of vllm")) == "corrected, model measured"
    assert basis(chat, plan(UNMEASURED, OWN)) == "front end only, model not measured"
    none = changed(chat, {"engine.correction": "none"})
    assert basis(none, plan(known=False)) == "not corrected: error not known"
    assert basis(changed(chat, {"slo.confidence": 0.9}), plan(known=False)) == "upper end at 90 %"
    assert basis(changed(none, {"slo.confidence": 0.9}), plan(known=False)) == "upper end at 90 %, not corrected"
    assert basis(load(made.SCENARIOS / "paper.yaml"), plan(known=False)) == "own times"
    assert basis(None, plan()) == ""


def test_comparisons_say_what_times_rest_on(chat: Scenario) -> None:
    none = changed(chat, {"engine.correction": "none"})
    files = [of(chat, plan(UNMEASURED)), of(none, plan(known=False))]
    shown = overview(files)
    column = shown.titles.index("times")
    assert [row[column] for row in shown.rows] == [
        "front end only, model not measured",
        "not corrected: error not known",
    ]
    assert shown.rows[0][shown.titles.index("TPOT")] == "41 ms (−15 … +20 %), limit 60 ms"
    assert all(len(row) == len(shown.titles) for row in shown.rows)
    sides = tuple(
        Side(name, name, s.scenario, s.plan_set.plans[0].evaluation)
        for name, s in zip(("a", "b"), files, strict=True)
        if s.scenario
    )
    found = Comparison(sides, (), (replace(NOTHING, file="b"),))
    assert [row["times"] for row in to_data(found)["services"]] == [row[column] for row in shown.rows]
    assert "not corrected: error not known" in " ".join(to_table(found).split())


def test_times_at_the_upper_end_have_no_error_beside_them(chat: Scenario) -> None:
    decision = stored_set(made.plan_data("chat")).plan_set.plans[0].evaluation.decision
    expected = evaluate(System(chat), decision)
    assert expected.tpot_error is not None
    upper = evaluate(System(changed(chat, {"slo.confidence": 0.9})), decision)
    assert upper.tpot_error is None
    assert upper.ttft_error is None
    assert upper.tpot_s > expected.tpot_s
    assert not any("error above" in note for note in (*expected.notes, *upper.notes))


def test_a_correction_names_what_each_sequence_costs() -> None:
    per_sequence = [c for c in corrections() if c.planning and c.decode_us_per_sequence >= 0.05 and c.models]
    assert per_sequence
    for found in per_sequence:
        assert corrected._per_sequence(found) == f" and {found.decode_us_per_sequence:.1f} us a sequence"
        assert corrected._per_sequence(replace(found, decode_us_per_sequence=0.0)) == ""


def test_variants_of_a_service_are_chosen_from_before_services_are_summed(chat: Scenario) -> None:
    grown = changed(chat, {"workload.requests_per_second": 80.0})
    files = [made.costing(made.named(of(s, plan()), name), usd)
             for s, name, usd in ((chat, "a1", 30.0), (chat, "a2", 10.0), (chat, "a3", 20.0), (grown, "b1", 5.0),
                                  (grown, "b2", 7.0))]  # fmt: skip
    assert [len(group) for group in groups(files)] == [3, 2]
    assert [s.plan_set.scenario_name for s in chosen(files)] == ["a2", "b1"]
    head, lead = headings(files)
    assert head == "2 services for $10,950 a month, the cheapest variant of each"
    assert "Counted: a2, b1." in lead
    assert overview(files).rows[-1][:2] == ("cheapest of each, together", "$10,950")


def test_verdicts_stand_beside_services(chat: Scenario) -> None:
    shown = overview([of(chat, plan()), of(changed(chat, {"workload.requests_per_second": 80.0}), plan())])
    column = shown.titles.index("tiers and disaggregation")
    assert [row[column] for row in shown.rows[:2]] == ["offset", "offset"]
    assert len(shown.rows[-1]) == len(shown.titles)
