"""Names and labels by which a load balancer is known."""

import pytest

from desired.load_balancers.ownership import asked_name, default_name, labels_of
from desired.model.load_balancer import Owner, owner_of
from desired.names import LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.section import Present, Unknown
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_claim, a_service, annotated
from tests.builders import CLUSTER_UID


@pytest.mark.parametrize(
    ("uid", "name"),
    [
        pytest.param("1f2e3d4c-5b6a-7980-aabb-ccddeeff0011", "a1f2e3d4c5b6a7980aabbccddeeff001", id="last digit lost"),
        pytest.param("1f2e3d4c-5b6a-7980-aabb-ccddeeff001f", "a1f2e3d4c5b6a7980aabbccddeeff001", id="whatever it is"),
        pytest.param("abc", "aabc", id="short"),
        pytest.param("--", "a", id="dashes alone"),
    ],
)
def test_default_name(uid: str, name: str) -> None:
    """What HCCM has named load balancers is what we look for."""
    assert default_name(uid) == name


def test_the_annotation_names_it() -> None:
    """Verbatim, and the UID only without one, or with one that cannot be read."""
    names = {text: asked_name(a_service(claim=a_claim(annotations=annotated(name=text)))) for text in ("Shop_1", " x")}

    assert asked_name(a_service()) == DEFAULT_NAME
    assert names == {"Shop_1": "Shop_1", " x": DEFAULT_NAME}


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        pytest.param({}, Owner(None, None), id="nobody"),
        pytest.param({"team": "web"}, Owner(None, None), id="labels of others"),
        pytest.param({LABEL_SERVICE_UID: "s"}, Owner(None, "s"), id="of HCCM"),
        pytest.param({LABEL_SERVICE_UID: "s", LABEL_CLUSTER_UID: "c"}, Owner("c", "s"), id="ours"),
        pytest.param({LABEL_SERVICE_UID: ""}, Owner(None, ""), id="an empty label is one"),
    ],
)
def test_owner_of(labels: dict[str, str], owner: Owner) -> None:
    """Whom the labels name, and nothing that they do not say."""
    assert owner_of(labels) == owner


def test_when_it_was_released_is_no_difference() -> None:
    """The time is carried along and never compared: a hold would be another one in each pass."""
    owner = owner_of({LABEL_CLUSTER_UID: "c", LABEL_RELEASED: "20260701T120000Z"})

    assert owner.released == "20260701T120000Z"
    assert owner == Owner("c", None)


def test_labels_of() -> None:
    """Service and cluster; while the cluster is unknown no label pretends to know it."""
    service = a_service()

    assert labels_of(service, Present(CLUSTER_UID)) == {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
    assert labels_of(service, Unknown("403")) == {LABEL_SERVICE_UID: SERVICE_UID}
