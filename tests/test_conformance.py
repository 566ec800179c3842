"""The official suite ratchets up, `docs/keywords.md` says what it shows, and walks over its schemas end valid.

`python -m tests.conformance --update` writes the baseline and the table. With TOKFSM_CI=1, as `make
test` sets it, an absent suite is a failure.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conformance import baseline, keyword_table, suite  # noqa: E402
from conformance.grade import Grader, vocabulary  # noqa: E402
from judge import Judge, NoWitnessError  # noqa: E402
from test_walks import walk  # noqa: E402

import tokfsm  # noqa: E402


README = Path(__file__).resolve().parents[1] / "README.md"
#: How the README says what an exception of the table says.
IN_THE_README = ("`contains` beside `uniqueItems`", "back-references in patterns", "a lookahead inside a lookbehind",
                 "what is not ECMA-262", "`format: regex`")


@pytest.mark.parametrize(("exception", "words"), [*zip(keyword_table.EXCEPTIONS, IN_THE_README, strict=True)],
                         ids=IN_THE_README)
def test_the_exceptions_are_refused_and_the_readme_has_them(exception: tuple[tuple[str, ...], str, object],
                                                            words: str) -> None:
    names, said, schema = exception
    assert words in said
    (row,) = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| refused, by name")]
    assert words in row
    with pytest.raises(tokfsm.UnsupportedSchemaError) as caught:
        tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes([bytes([i]) for i in range(256)]))
    assert caught.value.keyword in names


def folder() -> Path:
    found = suite.folders()
    if not found:
        missing = "no suite: `python -m tests.conformance --fetch` gets it"
        pytest.fail(missing) if os.environ.get("TOKFSM_CI") == "1" else pytest.skip(missing)
    return found[0]


@pytest.fixture(scope="module")
def groups() -> list[suite.Group]:
    return list(suite.groups(folder()))


@pytest.fixture(scope="module")
def grader(groups: list[suite.Group]) -> Grader:
    return Grader(vocabulary(groups), suite.remotes(folder()))


@pytest.fixture(scope="module")
def results(groups: list[suite.Group], grader: Grader) -> baseline.Results:
    return [(group, grader(group)) for group in groups]


def test_the_suite_is_whole(groups: list[suite.Group]) -> None:
    required = [g for g in groups if g.is_required]
    assert len(required) > 1300 and sum(len(g.tests) for g in required) > 4500
    assert {g.draft for g in groups} == set(suite.DRAFTS)


def test_nothing_is_worse_than_the_baseline(results: baseline.Results) -> None:
    assert baseline.PATH.is_file()
    worse = baseline.lowered(baseline.read(), results)
    assert worse == [], f"{len(worse)} groups"


def test_the_table_of_keywords_is_what_the_run_shows(results: baseline.Results) -> None:
    said = baseline.TABLE.read_text(encoding="utf-8")
    assert said == keyword_table.render(baseline.read()), "run python -m tests.conformance --update"
    assert said == keyword_table.render(baseline.merged(baseline.read(), results)), (
        "the run shows more than docs/keywords.md says: run python -m tests.conformance --update")


def test_the_ratchet_bites() -> None:
    group = suite.Group("7", "draft7/not.json", "one #1", '{"not": {}}', ())
    from conformance.grade import Outcome

    right, refused = Outcome("right"), Outcome("refused", "not", "no")
    leak, more = Outcome("wrong", accepts=("a",)), Outcome("wrong", accepts=("a", "b"))
    empty = {"not right": {}, "left out": {}, "honoured": {}, "formats": {}}
    assert baseline.lowered(empty, [(group, right)]) == []
    assert baseline.lowered(empty, [(group, refused)]) and baseline.lowered(empty, [(group, leak)])
    was_refused = baseline.merged(empty, [(group, refused)])
    assert baseline.lowered(was_refused, [(group, refused), (group, right)]) == []
    assert baseline.lowered(was_refused, [(group, leak)])
    was_wrong = baseline.merged(empty, [(group, leak)])
    assert baseline.lowered(was_wrong, [(group, leak), (group, refused)]) == []
    assert baseline.lowered(was_wrong, [(group, more)])
    assert baseline.merged(was_wrong, [(group, right)])["not right"] == {}


def test_gaps_are_those_that_are_declared() -> None:
    file = "draft7/optional/format/idn-hostname.json"
    assert suite.is_left_out(file, '"a.xn--ihqwcrb4cv8a8dqg056pqjye"') and suite.is_left_out(file, f'"{15 * "π"}.com"')
    assert not suite.is_left_out(file, '"hostname"') and not suite.is_left_out(file, f'"{14 * "π"}.com"')
    assert not suite.is_left_out("draft7/optional/format/uri.json", '"xn--a"')
    assert not suite.is_left_out("draft7/format.json", '"xn--a"')


def test_walks_over_the_suite_end_valid(groups: list[suite.Group], grader: Grader) -> None:
    """Texts that the masks lead to, with the smallest budget too, are valid; not only the suite's own."""
    rng, n = random.Random(5), 0
    for group in groups:
        if group.needs_remotes:
            continue
        try:
            automaton = grader.compile(group)
            witness = Judge(group.schema, group.draft, formats=group.asserts_formats)
            walk(rng, automaton, witness, lambda t: grader.tokens[t] or b"", 3)
        except (tokfsm.errors.SchemaError, tokfsm.errors.LimitError, NoWitnessError):
            continue
        except AssertionError as error:
            raise AssertionError(f"{group.file}: {group.key}: {group.schema}") from error
        n += 1
    assert n > 500
