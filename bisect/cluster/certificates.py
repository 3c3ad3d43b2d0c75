"""The files by which the hosts of a cluster know each other: an authority of its own, and a pair for each host.

Whoever has a pair may run programs on every host, as with a key for SSH.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpubisect.base.errors import UserError, shortened
from cpubisect.base.home import Home

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY = "authority"
"""The folder of what signs: it is needed for new hosts only, and belongs on none."""

DAYS = 3650
_HOST = re.compile(r"[A-Za-z0-9][\w.:-]{0,252}")
_CERTIFICATE, _KEY, _AUTHORITY_CERTIFICATE = "host.pem", "host.key", "authority.pem"


@dataclass(frozen=True)
class Pair:
    """The files of one host: the authority's certificate, its own, and its key."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, directory: Path | None, home: Home) -> "Pair":
        """Those in a directory, by default `certificates` in the home directory; raises UserError if one is not
        there."""
        place = directory or home.root / "certificates"
        pair = cls(place / _AUTHORITY_CERTIFICATE, place / _CERTIFICATE, place / _KEY)
        for file in (pair.authority, pair.certificate, pair.key):
            if not _is_there(file):
                raise UserError(
                    f"there is no certificate {shortened(str(file))}",
                    "make certificates with `bisect cluster certificates DIR HOST…`, and copy DIR/HOST there",
                )
        _check(pair)
        return pair


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # its name is too long, or its folder may not be looked into
        return False


def _check(pair: Pair) -> None:
    """Raises UserError for files that TLS cannot use: it would only say so when the first connection fails."""
    import ssl

    try:
        context = ssl.create_default_context(cafile=str(pair.authority))
        context.load_cert_chain(str(pair.certificate), str(pair.key))
    except (ssl.SSLError, OSError) as error:
        why = error.strerror or getattr(error, "reason", "") or str(error)
        raise UserError(
            f"the certificates in {pair.key.parent} cannot be used ({why})", "copy the folder of this host again"
        ) from error


def make(directory: Path, hosts: Sequence[str]) -> list[Path]:
    """Write a folder for each host, with all it needs, and the authority's; those that are there stay. The folders that
    were made; raises UserError for a name that is none, or if the authority's key is gone."""
    for host in hosts:
        if not _HOST.fullmatch(host) or host == AUTHORITY:
            raise UserError(f"{host!r} is not the name of a host", "give names as the hosts are reached by, or db7")
    try:
        certificate, key = _authority(directory / AUTHORITY)
        return [_pair(directory / host, host, certificate, key) for host in hosts if not (directory / host).exists()]
    except OSError as error:
        raise UserError(
            f"cannot write to {error.filename} ({error.strerror})", "name a directory that can be written"
        ) from error


def _authority(place: Path) -> "tuple[x509.Certificate, ec.EllipticCurvePrivateKey]":
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if place.exists():
        try:
            certificate = x509.load_pem_x509_certificate((place / _AUTHORITY_CERTIFICATE).read_bytes())
            key = serialization.load_pem_private_key((place / "authority.key").read_bytes(), None)
        except (OSError, ValueError) as error:
            raise UserError(
                f"what signs cannot be read from {place} ({error})", "name another directory, for new certificates"
            ) from error
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return certificate, key
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed("cpubisect cluster", key.public_key(), None, key)
    _write(place, {_AUTHORITY_CERTIFICATE: _pem(certificate), "authority.key": _private(key)})
    return certificate, key


def _pair(place: Path, host: str, authority: "x509.Certificate", signs: "ec.EllipticCurvePrivateKey") -> Path:
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(host, key.public_key(), authority, signs)
    files = {_AUTHORITY_CERTIFICATE: _pem(authority), _CERTIFICATE: _pem(certificate), _KEY: _private(key)}
    _write(place, files)
    return place


def _signed(
    name: str,
    public: "ec.EllipticCurvePublicKey",
    authority: "x509.Certificate | None",
    signs: "ec.EllipticCurvePrivateKey",
) -> "x509.Certificate":
    """A certificate for a public key: the authority's own if there is none yet."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.subject if authority else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        # A host whose clock is behind must not find it too new.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    )
    if authority:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(signs, hashes.SHA256())


def _pem(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: "ec.EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


def _write(place: Path, files: dict[str, bytes]) -> None:
    """All for the owner's eyes only."""
    place.mkdir(parents=True, mode=0o700)
    for name, content in files.items():
        file = place / name
        file.touch(mode=0o600)
        file.write_bytes(content)
