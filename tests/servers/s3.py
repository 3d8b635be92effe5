"""An S3-compatible server: moto's, in a process of its own, because clients may hold the interpreter's lock."""

from __future__ import annotations

import os
import sys
from typing import Any
from unittest import mock

import pytest

from tests.servers.process import ServerProcess, is_ci

BUCKET = "lake"


class S3Server:
    """`environment` is what clients go by: pyarrow, deltalake and boto3 alike."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("moto", reason="pip install 'moto[server]'")
        self._server = ServerProcess("s3", "root")
        self.port = self._server.port
        self._patched = mock.patch.dict(os.environ, self.environment)
        self._patched.start()
        self._server.start(
            sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port),
            ready=lambda: self._client().create_bucket(Bucket=BUCKET),
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def _client(self) -> Any:
        import boto3

        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1")

    def keys(self, prefix: str) -> list[str]:
        found = self._client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return sorted(item["Key"] for item in found.get("Contents", ()))

    def read(self, key: str) -> bytes:
        body: bytes = self._client().get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return body

    def stop(self) -> None:
        self._patched.stop()
        self._server.stop()
