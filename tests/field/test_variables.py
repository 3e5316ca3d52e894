"""Variables that exist nowhere, as people write them into Helm values."""

import yaml

from reconciler.config.environment import unread_variables
from tests.field.conftest import FOLDER


def test_an_invented_variable() -> None:
    """03: the name that nothing reads is an error that offers the one that was meant; the other is read."""
    values = yaml.safe_load((FOLDER / "03-invented-variable.yaml").read_text())

    assert unread_variables({name: entry["value"] for name, entry in values["env"].items()}) == [
        "unknown variable HCLOUD_LOAD_BALANCERS_DEFAULT_LOCATION: did you mean HCLOUD_LOAD_BALANCERS_LOCATION?"
    ]
