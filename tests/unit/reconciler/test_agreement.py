"""Agreements: what one permits of a change, where it counts, and what differs from it."""

from dataclasses import replace

import pytest

from desired.model.load_balancer import KNOWN_AFTER_APPLY, HttpOptions
from desired.model.service import Ingress
from desired.plan.change import Change
from reconciler.passes.agreement import Agreement
from tests.balancers import an_http_listener
from tests.builders import a_change, an_identity

CHANGE = a_change()
STATUS = a_change("service/default/web/status", "service.status", before=(), after=KNOWN_AFTER_APPLY)
PUBLISHED = (Ingress(ip="203.0.113.1"),)
PLAIN = an_http_listener(443)
SECURE = a_change(
    "load_balancer/default/web/listener/443",
    "lb.listener",
    before=None,
    after=an_http_listener(443, http=HttpOptions(certificates=(7,))),
)
SECURE_TO_COME = replace(SECURE, after=an_http_listener(443, http=HttpOptions(certificates=KNOWN_AFTER_APPLY)))
NAMED_TO_COME = a_change(
    "load_balancer/default/web/rdns/ipv4", "lb.rdns", before=KNOWN_AFTER_APPLY, after="a.example.com"
)


@pytest.mark.parametrize(
    ("agreed", "now", "expected"),
    [
        pytest.param(CHANGE, CHANGE, True, id="the same"),
        pytest.param(CHANGE, replace(CHANGE, reason="another", consequences=("x",)), True, id="other words"),
        pytest.param(CHANGE, a_change("node/web-2"), False, id="another object"),
        pytest.param(CHANGE, a_change(kind="node.labels"), False, id="another kind"),
        pytest.param(CHANGE, replace(CHANGE, after=an_identity("hcloud://2")), False, id="another value"),
        pytest.param(CHANGE, replace(CHANGE, before=an_identity("hcloud://2")), False, id="another present"),
        pytest.param(STATUS, replace(STATUS, after=PUBLISHED), True, id="known by now"),
        pytest.param(STATUS, replace(STATUS, before=PUBLISHED), False, id="of another present"),
        pytest.param(replace(STATUS, after=PUBLISHED), STATUS, False, id="not known any more"),
        pytest.param(SECURE_TO_COME, SECURE, True, id="a certificate issued by now"),
        pytest.param(SECURE_TO_COME, replace(SECURE, after=PLAIN), False, id="another protocol"),
        pytest.param(SECURE, SECURE_TO_COME, False, id="a certificate not there any more"),
        pytest.param(NAMED_TO_COME, replace(NAMED_TO_COME, before=None), True, id="Hetzner's name known by now"),
        pytest.param(NAMED_TO_COME, replace(NAMED_TO_COME, after="b.example.com"), False, id="another name"),
    ],
)
def test_what_is_permitted(agreed: Change, now: Change, expected: bool) -> None:
    assert Agreement.to([agreed]).permits(now) is expected
