"""An S3 server for tests: moto in a separate process, which keeps buckets in memory."""

import subprocess
import sys
import time
from socket import socket
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen
from uuid import uuid4

from botocore.session import Session

REGION = "eu-west-1"
_START_S = 60.0


class S3Server:
    """An S3 server. Its address is known before `start`, which starts it."""

    def __init__(self) -> None:
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def options(self, secret: object) -> dict[str, Any]:
        """Return the storage options of targets. The server accepts any key."""
        keys = {"aws_access_key_id": "someone", "aws_secret_access_key": secret}
        return {"aws_region": REGION, "aws_endpoint_url": self.url, **keys}

    def start(self) -> Self:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + _START_S
        while True:
            try:
                with urlopen(f"{self.url}/moto-api/data.json", timeout=5):
                    return self
            except OSError:
                assert self._process.poll() is None, "moto has exited: is it installed?"
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def client(self) -> Any:
        keys = {"aws_access_key_id": "someone", "aws_secret_access_key": "x"}
        return Session().create_client("s3", region_name=REGION, endpoint_url=self.url, **keys)

    def bucket(self) -> str:
        """Create a bucket and return its name."""
        name = f"b-{uuid4().hex}"
        self.client().create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return name

    def files(self, bucket: str) -> dict[str, bytes]:
        """Return the content of all files in a bucket, by name."""
        client = self.client()
        names = [each["Key"] for each in client.list_objects_v2(Bucket=bucket).get("Contents", [])]
        return {name: client.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
