"""SSH keys: creating and deleting them, and finding those that a request names.

Source: Hetzner Cloud API, SSH keys. Known differences: nothing logs in to a simulated server, so a key is not used; any
type of key is accepted that says in its first bytes what it is.
"""

import base64
import binascii
import hashlib

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.completing import check_labels_shape, check_type, complete
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field
from hcloud_sandbox.hetzner.naming import wanted_name
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object

_NO_KEY = "no public key as in ~/.ssh/id_ed25519.pub: TYPE BASE64 [COMMENT]"


class SshKeys:
    """The writing half of ``/ssh_keys``."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def create(self, request: Request) -> Response:
        """``POST /ssh_keys``: one that the project does not have yet."""
        body = Body.of(request)
        public_key = body.text("public_key").strip()
        try:
            fingerprint = fingerprint_of(public_key)
        except ValueError as error:
            raise invalid_field("public_key", str(error)) from None
        key = {
            **_template(self._project.store.next_id("ssh_keys"), self._project.now()),
            "name": wanted_name(self._project, "ssh_keys", body),
            "fingerprint": fingerprint,
            "public_key": public_key,
            "labels": body.labels() or {},
        }
        if any(other["fingerprint"] == fingerprint for other in self._project.store.truth().all("ssh_keys")):
            details = {"fields": [{"name": "public_key"}]}
            raise ApiError("uniqueness_error", "SSH key with the same fingerprint already exists", details)
        self._project.store.put("ssh_keys", key)
        return Response(201, {"ssh_key": key})

    def delete(self, _request: Request, key_id: int) -> Response:
        """``DELETE /ssh_keys/{id}``: servers keep what they were given."""
        self._project.require("ssh_keys", key_id)
        self._project.store.remove("ssh_keys", key_id)
        return Response(204)


def wanted_ssh_keys(project: Project, body: Body) -> list[Object]:
    """The keys in ``ssh_keys``, by id or by name. Raises ``not_found``."""
    listed = project.store.truth().all("ssh_keys")
    found = []
    for wanted in body.ids_or_names("ssh_keys"):
        key = next((key for key in listed if wanted in (str(key["id"]), key["name"])), None)
        if key is None:
            raise ApiError("not_found", f"SSH key '{wanted}' not found")
        found.append(key)
    return found


def fingerprint_of(public_key: str) -> str:
    """The fingerprint as the API writes it, the MD5 digest in pairs. Raises ValueError for what is no public key."""
    kind, _, rest = public_key.partition(" ")
    try:
        blob = base64.b64decode(rest.split(" ")[0], validate=True)
    except binascii.Error:
        raise ValueError(_NO_KEY) from None
    length = int.from_bytes(blob[:4], "big")
    if len(blob) <= 4 + length or blob[4 : 4 + length] != kind.encode():
        raise ValueError(_NO_KEY)
    return hashlib.md5(blob, usedforsecurity=False).digest().hex(":")


def complete_ssh_key(given: Object, created: str, where: str) -> Object:
    """A key of a world file; the public key it must have."""
    key = complete(given, _template(given["id"], created), where)
    check_labels_shape(key["labels"], f"{where} labels")
    check_type(key["public_key"], str, "a text", f"{where} public_key")
    try:
        return {**key, "fingerprint": fingerprint_of(key["public_key"])}
    except ValueError as error:
        raise ValueError(f"{where} public_key: {error}") from None


def _template(key_id: int, created: str) -> Object:
    name = f"ssh-key-{key_id}"
    return {"id": key_id, "name": name, "fingerprint": None, "public_key": None, "labels": {}, "created": created}
