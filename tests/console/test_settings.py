"""How the console is reached: names with and without the usual port, cookies, TLS, and what is refused at the start."""

import pytest

from console.api.certificates import self_signed
from discreet.console.listener import open_listener
from discreet.console.settings import Settings
from discreet.errors import UsageError

LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}


@pytest.mark.parametrize(
    ("origin", "hosts", "origins"),
    [
        ("https://a.example", {"a.example", "a.example:443"}, {"https://a.example", "https://a.example:443"}),
        ("https://A.example:443", {"a.example", "a.example:443"}, {"https://a.example", "https://a.example:443"}),
        ("https://a.example:80", {"a.example:80"}, {"https://a.example:80"}),
        ("https://a.example:8443", {"a.example:8443"}, {"https://a.example:8443"}),
    ],
)
def test_browsers_leave_out_the_usual_port_and_programs_may_not(origin, hosts, origins):
    made = Settings(origin=origin)
    assert (set(made.hosts), set(made.origins)) == (hosts, origins)


@pytest.mark.parametrize("name", sorted(LOOPBACK))
@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_this_machine_has_three_names_at_the_usual_port_too(name, scheme, port):
    wanted = LOOPBACK | {f"{each}:{port}" for each in LOOPBACK}
    for origin in (f"{scheme}://{name}", f"{scheme}://{name}:{port}"):
        made = Settings(origin=origin)
        assert set(made.hosts) == wanted
        assert set(made.origins) == {f"{scheme}://{host}" for host in wanted}


def test_another_port_of_this_machine_is_another_place():
    assert set(Settings(origin="http://localhost:8000").hosts) == {f"{each}:8000" for each in LOOPBACK}
    assert "127.0.0.7:8000" in Settings(origin="http://127.0.0.7:8000").hosts


@pytest.mark.parametrize(
    "origin",
    ["a.example", "ftp://a.example", "https://a.example/", "https://a.example/x", "https://u@a.example", "https://",
     "https://a.example:0", "https://a.example:65536", "https://a.example:0443", "https://a.example:", "https://a b"],
)  # fmt: skip
def test_what_is_no_address_is_refused(origin):
    with pytest.raises(UsageError, match="not a URL that a browser"):
        Settings(origin=origin)


@pytest.mark.parametrize("behind_proxy", [True, False])
@pytest.mark.parametrize("origin", ["http://a.example", "http://192.0.2.1:8000", "http://localhost.example"])
def test_plain_http_is_for_this_machine_alone(origin, behind_proxy):
    """Behind a proxy too: browsers would send passwords to it for all to read, and cookies would not be secure."""
    with pytest.raises(UsageError, match="unencrypted") as told:
        Settings(origin=origin, behind_proxy=behind_proxy)
    assert "--origin https://" in told.value.hint


def test_two_consoles_of_one_machine_have_two_cookies():
    first, second = (Settings(origin=f"http://127.0.0.1:{port}").cookie for port in (8000, 8001))
    assert (first, second) == ("discreet-8000", "discreet-8001")
    assert Settings(origin="https://localhost:8443").cookie == "__Host-discreet-8443"
    assert Settings(origin="https://a.example:8443").cookie == "__Host-discreet"


def test_tls_that_cannot_be_had_is_told_before_anything_is_served(tmp_path):
    certificate, key = self_signed(tmp_path)
    (tmp_path / "other").mkdir()
    other = self_signed(tmp_path / "other")[1]
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    locked = tmp_path / "locked.pem"
    locked.write_bytes(_locked(key.read_bytes()))
    for cert, its in (
        (nonsense, key),
        (certificate, nonsense),
        (certificate, other),
        (key, key),
        (certificate, locked),
    ):
        with pytest.raises(UsageError, match="TLS does not work") as told:
            open_listener("127.0.0.1", 0, certificate=cert, key=its, behind_proxy=False)
        assert "nonsense" not in str(told.value)
    open_listener("127.0.0.1", 0, certificate=certificate, key=key, behind_proxy=False).listening.close()


def _locked(pem):
    from cryptography.hazmat.primitives import serialization as s

    made = s.load_pem_private_key(pem, None)
    return made.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.BestAvailableEncryption(b"secret"))
