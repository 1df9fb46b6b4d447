"""A test authority, and what it vouches for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: The name in the certificates of servers. It is no machine's: tests give the address beside.
HOST = "db.example"


class Authority:
    """A key of its own, made anew; its certificate is `FOLDER/ca.crt`."""

    def __init__(self, folder: Path, name: str = "an authority of tests") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._builder(self._name, self._key, days=1)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._write("ca.crt", own)

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.crt"

    def vouch(self, host: str = HOST, *, days: int = 1) -> Path:
        """A server's certificate and key, as server.crt and server.key in the folder that comes back."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        theirs = self._builder(subject, key, days=days)
        theirs = theirs.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        self._write("server.crt", theirs)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self.folder / "server.key").write_bytes(private)
        return self.folder

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=10))
            .not_valid_after(now + timedelta(days=days))
        )

    def _write(self, name: str, builder: x509.CertificateBuilder) -> None:
        signed = builder.sign(self._key, hashes.SHA256())
        (self.folder / name).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
