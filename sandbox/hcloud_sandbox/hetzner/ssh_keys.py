"""SSH keys, and finding those that a request names.

Source: Hetzner Cloud API, SSH keys. Known differences: nothing logs in to a simulated server, so a key is not used; any
type of key is accepted that says in its first bytes what it is.
"""

import base64
import binascii
import hashlib

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, not_unique
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.shapes import a_text

_NO_KEY = "no public key as in ~/.ssh/id_ed25519.pub: TYPE BASE64 [COMMENT]"


class SshKeys(Resource):
    """Keys; servers keep what they were given when a key is deleted."""

    kind = "ssh_keys"
    filters = ("fingerprint",)
    has_actions = False

    def template(self, object_id: int, created: str) -> Object:
        """A key that a world file has to give."""
        blank = {"id": object_id, "name": f"ssh-key-{object_id}", "fingerprint": None, "public_key": None}
        return {**blank, "labels": {}, "created": created}

    def complete(self, given: Object, where: str) -> Object:
        """The key with its fingerprint."""
        key = super().complete(given, where)
        public_key = a_text(key["public_key"], f"{where} public_key")
        try:
            return {**key, "fingerprint": fingerprint_of(public_key)}
        except ValueError as error:
            raise ValueError(f"{where} public_key: {error}") from None

    @route("POST /ssh_keys")
    def create(self, body: Body) -> Response:
        """One that the project does not have yet."""
        public_key = body.text("public_key").strip()
        try:
            fingerprint = fingerprint_of(public_key)
        except ValueError as error:
            raise invalid_field("public_key", str(error)) from None
        name = self.checked_name(body)
        if any(other["fingerprint"] == fingerprint for other in self.store.truth().all("ssh_keys")):
            raise not_unique("public_key", "SSH key with the same fingerprint already exists")
        key = self.new(name=name, fingerprint=fingerprint, public_key=public_key, labels=body.labels())
        return self.answer(key, 201)


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
