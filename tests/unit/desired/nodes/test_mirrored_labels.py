"""Servers' labels repeated on their Nodes: ``--mirror-labels``, off by default."""

from collections.abc import Callable, Mapping

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.nodes.labels import NodeLabels, initial_labels, kept_labels
from tests.builders import SERVER_LABELS, a_server

OFF, MIRROR = Settings(), Settings(mirror_labels="srv.example.com")


@pytest.mark.parametrize("compute", [initial_labels, kept_labels])
@pytest.mark.parametrize(
    ("server", "current", "settings", "expected"),
    [
        pytest.param({"team": "red"}, {}, OFF, NodeLabels(SERVER_LABELS), id="off"),
        pytest.param(
            {"team": "red"}, {"srv.example.com/team": "blue"}, OFF, NodeLabels(SERVER_LABELS), id="off-touches-nothing"
        ),
        pytest.param({}, {}, MIRROR, NodeLabels(SERVER_LABELS), id="nothing-to-mirror"),
        pytest.param(
            {"team": "red", "empty": ""},
            {},
            MIRROR,
            NodeLabels(SERVER_LABELS | {"srv.example.com/team": "red", "srv.example.com/empty": ""}),
            id="each-under-the-prefix",
        ),
        pytest.param(
            {"team": "red"},
            {"srv.example.com/team": "blue"},
            MIRROR,
            NodeLabels(SERVER_LABELS | {"srv.example.com/team": "red"}),
            id="the-server-decides",
        ),
        pytest.param(
            {}, {"srv.example.com/team": "red"}, MIRROR, NodeLabels(SERVER_LABELS), id="one-that-the-server-lost-goes"
        ),
        pytest.param(
            {"example.com/team": "red"},
            {},
            MIRROR,
            NodeLabels(SERVER_LABELS | {"srv.example.com/example.com_team": "red"}),
            id="a-slash-becomes-an-underscore",
        ),
        pytest.param(
            {"b/c": "1", "b_c": "2", "team": "red"},
            {"srv.example.com/b_c": "0"},
            MIRROR,
            NodeLabels(
                SERVER_LABELS | {"srv.example.com/team": "red"},
                (),
                ("the server's labels b/c, b_c would all become srv.example.com/b_c; none is mirrored",),
            ),
            id="two-that-become-the-same",
        ),
        pytest.param(
            {f"{'p' * 60}/name": "1"},
            {},
            MIRROR,
            NodeLabels(
                SERVER_LABELS,
                (),
                (f"the server's label {'p' * 60}/name cannot be a Node's: key or value is too long or malformed",),
            ),
            id="key-too-long-for-a-name",
        ),
        pytest.param(
            {"z": "a b", "a": "x" * 64},
            {},
            MIRROR,
            NodeLabels(
                SERVER_LABELS,
                (),
                (
                    "the server's label a cannot be a Node's: key or value is too long or malformed",
                    "the server's label z cannot be a Node's: key or value is too long or malformed",
                ),
            ),
            id="values-that-no-label-may-have",
        ),
    ],
)
def test_mirrored_labels(
    compute: Callable[[Server, Mapping[str, str], Settings], NodeLabels],
    server: Mapping[str, str],
    current: Mapping[str, str],
    settings: Settings,
    expected: NodeLabels,
) -> None:
    """The server's labels are repeated under the prefix, at joining and ever after; what cannot be is told."""
    assert compute(a_server(labels=server), current, settings) == expected


@pytest.mark.parametrize("compute", [initial_labels, kept_labels])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(MIRROR, SERVER_LABELS | {"srv.example.com/team": "red"}, id="mirrored"),
        pytest.param(OFF, SERVER_LABELS, id="off"),
    ],
)
def test_labels_that_did_not_arrive(
    compute: Callable[[Server, Mapping[str, str], Settings], NodeLabels],
    settings: Settings,
    expected: Mapping[str, str],
) -> None:
    """What was mirrored stays as it is while Hetzner's answer lacks the server's labels; all else is as ever."""
    current = {"srv.example.com/team": "red", "team": "blue"}
    assert compute(a_server(missing=frozenset({"labels"})), current, settings) == NodeLabels(expected)


@pytest.mark.parametrize("compute", [initial_labels, kept_labels])
def test_other_fields_that_did_not_arrive(
    compute: Callable[[Server, Mapping[str, str], Settings], NodeLabels],
) -> None:
    """A server that has lost its labels has none to mirror, whatever else its answer lacks."""
    server = a_server(missing=frozenset({"private_net"}))
    assert compute(server, {"srv.example.com/team": "red"}, MIRROR) == NodeLabels(SERVER_LABELS)
