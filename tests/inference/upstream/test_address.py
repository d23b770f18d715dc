"""Where a model server may be, and over what the prompts may travel."""

from __future__ import annotations

import pytest
from homing_core.errors import UsageError
from homing_inference.upstream.server import UpstreamServer, is_home


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://192.168.1.9:8000/v1/", "http://192.168.1.9:8000"),
        ("http://[fd00::9]:8000", "http://[fd00::9]:8000"),
        ("http://vllm:8000", "http://vllm:8000"),
        ("http://box.local:1234/lm/v1", "http://box.local:1234/lm"),
        ("https://models.example.com", "https://models.example.com"),
        (" https://models.example.com/v1 ", "https://models.example.com"),
        ("HTTPS://Models.Example.com/api/v1", "https://models.example.com/api"),
    ],
)
def test_with_v1_or_without_it_is_the_same_server(written: str, root: str) -> None:
    assert UpstreamServer(written).root == root


@pytest.mark.parametrize(
    "written",
    [
        "", "localhost:8000", "ftp://localhost", "http://", "http://a b", "http://[::1", "http:///v1",
        "http://localhost:99999", "http://localhost:x", "http://me:pw@localhost", "file:///etc",
        "http://localhost/v1?key=1", "http://localhost/#x", "http://localhost/a b",
        "http://loc\nalhost", "http://localhost/\r\nX: y", "http://localhost\\@example.com",
    ],
)  # fmt: skip
def test_what_is_no_address_is_said_so(written: str) -> None:
    with pytest.raises(UsageError, match="model server") as caught:
        _ = UpstreamServer(written).root
    assert caught.value.hint


@pytest.mark.attack
@pytest.mark.parametrize(
    "host",
    [
        "models.example.com", "8.8.8.8", "[2001:4860:4860::8888]", "134744072", "0x08080808",
        "[::ffff:8.8.8.8]", "localhost.example.com", "8.8.2056", "x.local.example.com",
    ],
)  # fmt: skip
def test_prompts_do_not_travel_unencrypted_out_of_the_home(host: str) -> None:
    with pytest.raises(UsageError, match=r"prompts would travel unencrypted"):
        _ = UpstreamServer(f"http://{host}:8000").root
    assert UpstreamServer(f"http://{host}:8000", allow_insecure=True).root
    assert UpstreamServer(f"https://{host}:8000").root


@pytest.mark.parametrize("host", ["100.64.0.7", "10.1.2.3", "fe80::1", "::1", "nas.home.arpa"])
def test_the_own_network_and_tunnels_are_home(host: str) -> None:
    assert is_home(host)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "\x00"])
def test_a_key_that_could_forge_a_header_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = UpstreamServer("http://localhost", api_key=key).root
    assert key not in str(caught.value)


def test_the_key_is_not_shown_with_the_settings(secret: str) -> None:
    assert secret not in repr(UpstreamServer("http://localhost", api_key=secret))
