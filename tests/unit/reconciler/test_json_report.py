"""What machines read: one shape for plans and reports, valid against the published schema."""

import copy
import io
import json

import pytest
from jsonschema import Draft202012Validator

from reconciler import __version__
from reconciler.config.flags import Output
from reconciler.report.json_report import FORMAT_VERSION, render_json, report_as_json, schema
from reconciler.report.terminal import Writer
from tests.support.rendering import golden, invalid
from tests.support.scenarios import SCENARIOS


def test_the_schema_is_one() -> None:
    """The published schema is itself valid."""
    Draft202012Validator.check_schema(dict(schema()))


@pytest.mark.parametrize("name", SCENARIOS)
def test_golden_reports(name: str) -> None:
    """Each scenario is exactly its golden file; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = render_json(SCENARIOS[name]).replace(f'"tool_version": "{__version__}"', '"tool_version": "0.0.0"')

    assert text == golden(f"{name}.json", text)


@pytest.mark.parametrize("name", SCENARIOS)
def test_valid_against_the_schema(name: str) -> None:
    """Every report is valid against the schema, and has exactly the members that it describes."""
    document = json.loads(render_json(SCENARIOS[name]))

    assert invalid(document, schema()) == []
    assert document.keys() == schema()["properties"].keys()
    for change in document["changes"]:
        assert change.keys() == schema()["properties"]["changes"]["items"]["properties"].keys()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format_version",), "2.0"),
        (("result",), "fine"),
        (("changes", 0, "verdict"), "maybe"),
        (("changes", 0, "class"), "create"),
        (("changes", 0, "outcome"), {"state": "done"}),
        (("summary", "add"), -1),
        (("taken_at",), 5),
        (("changes", 0, "fields", 0, "after"), {"a": "b"}),
        (("changes", 0, "fields", 0, "before"), [["a"]]),
    ],
)
def test_the_schema_refuses_other_documents(path: tuple[str | int, ...], value: object) -> None:
    """The schema is not so wide that everything fits."""
    document = copy.deepcopy(json.loads(render_json(SCENARIOS["joining"])))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    assert len(invalid(document, schema())) == 1


def test_readers_ignore_what_they_do_not_know() -> None:
    """A member of a later minor version does not make a document invalid."""
    document = json.loads(render_json(SCENARIOS["joining"]))
    document["news"] = document["changes"][0]["news"] = "later"

    assert invalid(document, schema()) == []


def test_text_and_json_tell_the_same() -> None:
    """Both forms have the same result and the same changes."""
    for report in SCENARIOS.values():
        stream = io.StringIO()
        Writer(Output.TEXT, stream).write(report)
        document = report_as_json(report)

        assert all(change["key"] in stream.getvalue() for change in document["changes"])
        assert document["result"] == report.result


def test_one_document_a_line_in_a_stream() -> None:
    """The loop writes a document a line; a single run writes one that people can read."""
    stream = io.StringIO()
    writer = Writer(Output.JSON, stream)

    writer.write(SCENARIOS["joining"], stream_of_passes=True)
    writer.write(SCENARIOS["empty"], stream_of_passes=True)

    lines = stream.getvalue().splitlines()
    assert [json.loads(line)["result"] for line in lines] == ["changes", "no_changes"]
    assert all(json.loads(line)["format_version"] == FORMAT_VERSION for line in lines)


def test_foreign_text_is_json() -> None:
    """A document keeps letters of all languages, and escapes what would break its line."""
    stream = io.StringIO()
    Writer(Output.JSON, stream).write(SCENARIOS["error"])

    assert json.loads(stream.getvalue())["errors"] == list(SCENARIOS["error"].errors)


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_that_nobody_asked_for(name: str) -> None:
    """The mark of what is not managed is the core's own business."""
    assert '"unmanaged"' not in render_json(SCENARIOS[name])


def test_sections_of_load_balancers() -> None:
    """What was read for Services is counted like everything else, and only where it was read."""
    settled, gap = (report_as_json(SCENARIOS[name])["sections"] for name in ("balancers_settled", "balancers_unread"))

    assert list(settled) == ["nodes", "servers", "services", "load_balancers", "certificates"]
    assert list(gap) == ["nodes", "servers", "services", "load_balancers"]
    assert gap["load_balancers"]["complete"] is False
    assert (gap["load_balancers"]["count"], gap["load_balancers"]["expected"]) == (1, 51)


def test_a_value_that_is_known_after_apply() -> None:
    """It is a text of its own, on the whole side and in its field."""
    changes = {change["key"]: change for change in report_as_json(SCENARIOS["balancer_created"])["changes"]}
    status = changes["service/default/web/status"]

    assert (status["before"], status["after"]) == ([], "(known after apply)")
    assert status["fields"] == [{"path": "ingress", "before": None, "after": "(known after apply)"}]


def test_a_limit_is_told_where_one_is_known() -> None:
    """A network takes a hundred routes; of everything else nobody knows."""
    sections = report_as_json(SCENARIOS["routes_settled"])["sections"]

    assert {name: section.get("limit") for name, section in sections.items()} == {
        "nodes": None,
        "servers": None,
        "routes": 100,
    }


def test_routes_and_conditions_by_their_values() -> None:
    """A route is known by its gateway, a condition by status and reason; what is not there is null."""
    changes = {change["key"]: change for change in report_as_json(SCENARIOS["routes_drifted"])["changes"]}
    sides = {key: (change["before"], change["after"]) for key, change in changes.items()}

    assert sides["route/4/10.244.2.0/24"] == (None, "10.0.0.3")
    assert sides["route/4/10.244.3.0/24"] == ("10.0.0.5", "10.0.0.4")
    assert sides["route/4/10.244.9.0/24"] == ("10.0.0.99", None)
    assert sides["node/web-2/network"] == (None, {"status": "False", "reason": "RouteCreated"})


@pytest.mark.parametrize(
    ("key", "part", "value"),
    [
        ("route/4/10.244.3.0/24", "key", "route/private/10.244.3.0/24"),
        ("route/4/10.244.3.0/24", "key", "route/4/fd00::/64"),
        ("route/4/10.244.3.0/24", "kind", "route.adopt"),
        ("route/4/10.244.3.0/24", "before", 5),
        ("route/4/10.244.3.0/24", "after", "10.0.0"),
        ("node/web-2/network", "key", "node/web-2"),
        ("node/web-2/network", "before", "False"),
        ("node/web-2/network", "after", {"status": "False"}),
        ("node/web-2/network", "after", {"status": "Maybe", "reason": "RouteCreated"}),
        ("node/web-2/network", "after", {"status": "False", "reason": "CalicoIsUp"}),
    ],
)
def test_the_schema_knows_routes(key: str, part: str, value: object) -> None:
    """Keys, kinds and values of routes and conditions are those that there are."""
    document = copy.deepcopy(json.loads(render_json(SCENARIOS["routes_drifted"])))
    change = next(change for change in document["changes"] if change["key"] == key)
    change[part] = value

    assert len(invalid(document, schema())) == 1
