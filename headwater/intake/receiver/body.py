"""Reads request bodies, and limits their size.

The limit applies while a body is inflated, because gzip bodies are often chunked and have no Content-Length.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache

from headwater.intake.receiver import Refusal

_GZIP = 16 + zlib.MAX_WBITS
_STEP = 1 << 20


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise Refusal (415) for an unsupported media type or content encoding.

    Requests from web pages must declare JSON. For JSON, the browser sends a preflight request first, which protects
    against cross-site requests.
    """
    is_page = "origin" in headers or "sec-fetch-site" in headers
    _check_media_type(headers.get("content-type", ""), headers.get("content-encoding", ""), is_page=is_page)


async def read_body(headers: Mapping[str, str], body: bytes | AsyncIterator[bytes], max_bytes: int) -> bytes:
    """Read and inflate a body of at most `max_bytes` inflated bytes.

    Raises Refusal with status 413 as soon as the body is known to be larger, and with status 400 for an invalid gzip
    stream.
    """
    if (len(body) if isinstance(body, bytes) else _content_length(headers)) > max_bytes:
        raise _too_large_refusal(max_bytes)
    if headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip"):
        return await _inflate_chunks(_single_chunk(body) if isinstance(body, bytes) else body, max_bytes)
    if isinstance(body, bytes):
        return body
    parts, size = [], 0
    async for chunk in body:
        size += len(chunk)
        if size > max_bytes:
            raise _too_large_refusal(max_bytes)
        parts.append(chunk)
    return b"".join(parts)


@lru_cache(maxsize=64)
def _check_media_type(content_type: str, encoding: str, *, is_page: bool) -> None:
    media, *parameters = content_type.lower().split(";")
    media = media.strip()
    if (media or is_page) and media != "application/json" and not media.endswith("+json"):
        raise Refusal(415, "media_type", f"Content-Type {media!r} is not supported.", "Send application/json.")
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name.strip() == "charset" and charset.strip(' "') not in ("utf-8", "utf8", "us-ascii"):
            raise Refusal(415, "media_type", f"Charset {charset.strip()!r} is not supported.", "Send UTF-8.")
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Refusal(
            415, "encoding", f"Content-Encoding {encoding!r} is not supported.", "Send the body plain or as gzip."
        )


async def _single_chunk(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _content_length(headers: Mapping[str, str]) -> int:
    """Return Content-Length, or 0 if it is missing or invalid: `read_body` counts the bytes in any case."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


async def _inflate_chunks(chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    inflater = zlib.decompressobj(_GZIP)
    parts, room, compressed = [], max_bytes, 0
    async for chunk in chunks:
        left = chunk
        compressed += len(chunk)
        if compressed > max_bytes:  # an endless stream of empty gzip members inflates to nothing
            raise _too_large_refusal(max_bytes)
        while left:
            if inflater.eof:
                inflater = zlib.decompressobj(_GZIP)  # a gzip stream may have several members
            part, left = _inflate_step(inflater, left)
            room -= len(part)
            if room < 0:
                raise _too_large_refusal(max_bytes)
            if part:
                parts.append(part)
            if left:
                await asyncio.sleep(0)  # a decompression bomb must not block other requests
    if not inflater.eof:
        raise _broken_body_refusal("it ends too early")
    return b"".join(parts)


def _inflate_step(inflater: "zlib._Decompress", chunk: bytes) -> tuple[bytes, bytes]:
    """Inflate at most `_STEP` bytes, so that a decompression bomb cannot fill the memory.

    Returns (inflated bytes, remaining compressed bytes).
    """
    try:
        part = inflater.decompress(chunk, _STEP)
    except zlib.error as error:
        raise _broken_body_refusal(str(error)) from error
    return part, inflater.unconsumed_tail or inflater.unused_data


def _broken_body_refusal(reason: str) -> Refusal:
    return Refusal(
        400, "bad_gzip", f"The gzip stream is invalid: {reason}.", "Send a complete gzip stream, or no gzip."
    )


def _too_large_refusal(max_bytes: int) -> Refusal:
    return Refusal(
        413,
        "too_large",
        f"The body is larger than {max_bytes} bytes inflated.",
        "Send fewer events per request, omit facets such as spark.logicalPlan, or raise `max_body_bytes`.",
    )
