"""A token, and the credentials of Robot, that are rotated under the running process."""

import logging
from pathlib import Path

import pytest

from actuators.http.robot import RobotLogin
from reconciler.rotating_secrets import rotating_login, rotating_token
from reconciler.telemetry.logs import masked

OLD, NEW = "a" * 64, "b" * 64


class Rotated:
    """A token file, and what was taken from it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "token"
        self.file.write_text(OLD)
        self.used: list[str] = []
        self.token = rotating_token(self.file, OLD, self.used.append)


@pytest.fixture
def rotated(tmp_path: Path) -> Rotated:
    return Rotated(tmp_path)


@pytest.mark.parametrize("text", [NEW, f"{NEW}\n", f"\t {NEW} \r\n"])
def test_a_new_token_is_used(rotated: Rotated, text: str) -> None:
    """What is around it counts for nothing; it is new once."""
    rotated.file.write_text(text)

    assert [rotated.token.refresh(), rotated.token.refresh()] == [True, False]
    assert rotated.used == [NEW]


def test_the_same_token_is_no_news(rotated: Rotated) -> None:
    rotated.file.write_text(f"{OLD}\n")

    assert not rotated.token.refresh()
    assert rotated.used == []


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="gone"),
        pytest.param(b"", id="empty: somebody is just writing it"),
        pytest.param(b" \n", id="blank"),
        pytest.param(b"two words", id="words"),
        pytest.param("töken".encode(), id="no ASCII"),
        pytest.param(b"\xff\xfe", id="no text"),
    ],
)
def test_what_is_no_token_changes_nothing(
    rotated: Rotated, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The old one stays in use until there is another; that is said once, and without what is in the file."""
    if content is None:
        rotated.file.unlink()
    else:
        rotated.file.write_bytes(content)
    with caplog.at_level(logging.INFO):
        assert [rotated.token.refresh(), rotated.token.refresh()] == [False, False]

    assert rotated.used == []
    (warning,) = caplog.messages
    assert str(rotated.file) in warning
    assert "words" not in warning

    rotated.file.write_text(NEW)
    assert rotated.token.refresh()


def test_a_folder_of_links(rotated: Rotated, tmp_path: Path) -> None:
    """A mounted Secret changes as the kubelet does it: by another target of a link (Kubernetes, AtomicWriter)."""
    for name, text in (("..1", OLD), ("..2", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(text)
    data = tmp_path / "..data"
    data.symlink_to("..1")
    token = rotating_token(data / "token", OLD, rotated.used.append)
    assert not token.refresh()

    data.unlink()
    data.symlink_to("..2")

    assert token.refresh()
    assert rotated.used == [NEW]


def test_the_token_is_never_logged(rotated: Rotated, caplog: pytest.LogCaptureFixture) -> None:
    rotated.file.write_text(NEW)
    with caplog.at_level(logging.DEBUG):
        rotated.token.refresh()

    assert NEW not in caplog.text
    assert len(caplog.messages) == 1


LOGIN = RobotLogin("#ws+old", "old secret")


class RotatedLogin:
    """Files with the credentials of Robot, and what was taken from them."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.files = {name: folder / name for name in names}
        self.write(ROBOT_USER=LOGIN.user, ROBOT_PASSWORD=LOGIN.password)
        self.used: list[RobotLogin] = []
        self.login = rotating_login(self.files, LOGIN, self.used.append)

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            if name in self.files:
                self.files[name].write_text(text)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(("ROBOT_USER", "ROBOT_PASSWORD"), RobotLogin("#ws+new", "new: ü secret"), id="both"),
        pytest.param(("ROBOT_PASSWORD",), RobotLogin(LOGIN.user, "new: ü secret"), id="the password alone"),
        pytest.param(("ROBOT_USER",), RobotLogin("#ws+new", LOGIN.password), id="the user alone"),
    ],
)
def test_a_new_login_is_used(
    tmp_path: Path, names: tuple[str, ...], expected: RobotLogin, caplog: pytest.LogCaptureFixture
) -> None:
    rotated = RotatedLogin(tmp_path, *names)
    assert not rotated.login.refresh()
    rotated.write(ROBOT_USER=" #ws+new\n", ROBOT_PASSWORD="new: ü secret\n")

    with caplog.at_level(logging.DEBUG):
        assert [rotated.login.refresh(), rotated.login.refresh()] == [True, False]

    assert rotated.used == [expected]
    assert [message.partition(" file=")[0] for message in caplog.messages] == ["new Robot credentials are in use"]
    assert expected.password not in caplog.text
    assert "***" in masked(f"sent {expected.secrets[1]}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("ROBOT_USER", None, id="no user"),
        pytest.param("ROBOT_USER", b"", id="an empty user"),
        pytest.param("ROBOT_USER", b"a:b", id="a user with a colon"),
        pytest.param("ROBOT_PASSWORD", None, id="no password"),
        pytest.param("ROBOT_PASSWORD", b" \n", id="a blank password"),
        pytest.param("ROBOT_PASSWORD", b"two\nlines", id="a password in two lines"),
        pytest.param("ROBOT_PASSWORD", b"\xff\xfe", id="no text"),
    ],
)
def test_half_a_login_changes_nothing(
    tmp_path: Path, name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """It would be a wrong one, of which the webservice takes two. It is said once."""
    rotated = RotatedLogin(tmp_path, "ROBOT_USER", "ROBOT_PASSWORD")
    rotated.write(ROBOT_USER="#ws+new", ROBOT_PASSWORD="new")
    rotated.files[name].write_bytes(content or b"")
    if content is None:
        rotated.files[name].unlink()

    with caplog.at_level(logging.INFO):
        assert [rotated.login.refresh(), rotated.login.refresh()] == [False, False]

    assert rotated.used == []
    (warning,) = caplog.messages
    assert str(rotated.files[name]) in warning


class Replacing(type(Path())):  # type: ignore[misc]
    """A file that is replaced, with another one, just after it was read for the first time."""

    other: Path
    is_old = True

    def read_text(self, *how: str) -> str:
        text = str(super().read_text(*how))
        if self.is_old:
            type(self).is_old = False
            self.write_text("#ws+new")
            self.other.write_text("new")
        return text


def test_files_that_are_replaced_while_they_are_read(tmp_path: Path) -> None:
    """The two halves are of one login, or wait for the next time."""
    user, password = Replacing(tmp_path / "user"), tmp_path / "password"
    Replacing.other = password
    user.write_text(LOGIN.user)
    password.write_text(LOGIN.password)
    used: list[RobotLogin] = []
    login = rotating_login({"ROBOT_USER": user, "ROBOT_PASSWORD": password}, LOGIN, used.append)

    assert [login.refresh(), login.refresh()] == [False, True]
    assert used == [RobotLogin("#ws+new", "new")]
