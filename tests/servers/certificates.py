"""A certificate for a server on this machine, signed by itself."""

from __future__ import annotations

import pathlib
import subprocess

from tests.servers.process import find_program

_SUBJECT = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")


def make_certificate(folder: pathlib.Path, name: str = "server") -> tuple[str, str]:
    """PEM files: the certificate, which clients have to trust, and a key together with it."""
    openssl = find_program("openssl", "openssl")
    certificate, key, both = (folder / f"{name}{end}" for end in (".crt.pem", ".key.pem", ".pem"))
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *_SUBJECT]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=60
    )
    both.write_text(key.read_text() + certificate.read_text())
    return str(certificate), str(both)
