"""The body of a request, counted while it inflates: a gzip body comes chunked, without a length."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache

from headwater.receiver import Refusal

_GZIP = 16 + zlib.MAX_WBITS
_STEP = 1 << 20


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a media type or content encoding that is not read here (415).

    A page has to say that it sends JSON: a browser asks first whether a page of others may do that.
    """
    is_page = "origin" in headers or "sec-fetch-site" in headers
    _check_types(headers.get("content-type", ""), headers.get("content-encoding", ""), is_page=is_page)


async def read_body(headers: Mapping[str, str], body: bytes | AsyncIterator[bytes], max_bytes: int) -> bytes:
    """Read and inflate a body of at most `max_bytes` inflated bytes.

    Raises Refusal: 413 as soon as it is known to be larger, 400 for a broken gzip stream.
    """
    if (len(body) if isinstance(body, bytes) else _stated_length(headers)) > max_bytes:
        raise _too_large(max_bytes)
    if headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip"):
        return await _inflate(_once(body) if isinstance(body, bytes) else body, max_bytes)
    if isinstance(body, bytes):
        return body
    parts, size = [], 0
    async for chunk in body:
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(max_bytes)
        parts.append(chunk)
    return b"".join(parts)


@lru_cache(maxsize=64)
def _check_types(content_type: str, encoding: str, *, is_page: bool) -> None:
    media, *parameters = content_type.lower().split(";")
    media = media.strip()
    if (media or is_page) and media != "application/json" and not media.endswith("+json"):
        raise Refusal(415, "media_type", f"Content-Type {media!r} is not read.", "Send application/json.")
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name.strip() == "charset" and charset.strip(' "') not in ("utf-8", "utf8", "us-ascii"):
            raise Refusal(415, "media_type", f"Charset {charset.strip()!r} is not read.", "Send UTF-8.")
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Refusal(415, "encoding", f"Content-Encoding {encoding!r} is not read.", "Send plain or gzip.")


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _stated_length(headers: Mapping[str, str]) -> int:
    """Return Content-Length, 0 where it says nothing usable: the body is counted as it comes anyway."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


async def _inflate(chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    inflater = zlib.decompressobj(_GZIP)
    parts, room, compressed = [], max_bytes, 0
    async for chunk in chunks:
        left = chunk
        compressed += len(chunk)
        if compressed > max_bytes:  # empty members inflate to nothing, without end
            raise _too_large(max_bytes)
        while left:
            if inflater.eof:
                inflater = zlib.decompressobj(_GZIP)  # gzip files may be joined end to end
            part, left = _step(inflater, left)
            room -= len(part)
            if room < 0:
                raise _too_large(max_bytes)
            if part:
                parts.append(part)
            if left:
                await asyncio.sleep(0)  # a bomb takes its turns like everybody else
    if not inflater.eof:
        raise _broken("it ends too early")
    return b"".join(parts)


def _step(inflater: "zlib._Decompress", chunk: bytes) -> tuple[bytes, bytes]:
    """Inflate at most one step, so that a bomb never fills the memory; return it and what is left to do."""
    try:
        part = inflater.decompress(chunk, _STEP)
    except zlib.error as error:
        raise _broken(str(error)) from error
    return part, inflater.unconsumed_tail or inflater.unused_data


def _broken(why: str) -> Refusal:
    return Refusal(400, "bad_gzip", f"The gzip stream is broken: {why}.", "Send a whole gzip stream or none.")


def _too_large(max_bytes: int) -> Refusal:
    return Refusal(
        413,
        "too_large",
        f"The body is larger than {max_bytes} bytes inflated.",
        "Send fewer events at once, leave out facets such as spark.logicalPlan, or raise `max_body_bytes`.",
    )
