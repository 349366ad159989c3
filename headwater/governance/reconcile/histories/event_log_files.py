"""Reads Spark event logs line by line, only the beginning of each line, because a plan of 100 MB is one line."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

_CHUNK = 256 << 10
_SMALL = 4 << 10
"""Read size for a decompressor that discards a chunk if the stream ends within it."""
_LONGEST = 1 << 20
"""Maximum bytes of a line."""

_LZ4_HEADER = 21
"""`LZ4Block`, a byte of method and level, compressed and plain length, checksum: LZ4BlockOutputStream of lz4-java."""


def line_heads(path: Path) -> Iterator[bytes]:
    """Yield the beginning of each line in constant memory. A truncated block ends the file.

    Raises OSError if the file cannot be opened.
    """
    unpacked = _OPENED.get(_codec(path))
    with path.open("rb") as file:
        yield from heads_of_lines(_readable(unpacked(file) if unpacked else pieces(file.read)), _LONGEST)


def heads_of_lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield the first bytes of each line of a text in chunks."""
    head = b""
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield (head + part)[:longest]
            head = b""
        head = (head + rest)[:longest] if len(head) < longest else head
    if head:
        yield head


def can_read(path: Path) -> bool:
    """Return whether the codec in the file name is supported. Java's snappy and LZF streams are not."""
    return _codec(path) not in ("snappy", "lzf")


def _codec(path: Path) -> str:
    name = path.name.removesuffix(".inprogress").removesuffix(".compact")
    return name.rpartition(".")[2]


def pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of a file in chunks."""
    while chunk := read(_CHUNK):
        yield chunk


def _readable(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Stop at a truncated compressed block: its writer is still active, or was killed."""
    try:
        yield from chunks
    except (EOFError, OSError, ValueError, RuntimeError, zlib.error):
        return


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    unpacking = zlib.decompressobj(wbits=31)
    for chunk in pieces(file.read):
        yield unpacking.decompress(chunk)
        while unpacking.unused_data:  # another member
            rest, unpacking = unpacking.unused_data, zlib.decompressobj(wbits=31)
            yield unpacking.decompress(rest)


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - 26 MB, for this codec alone

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as plain:
        yield from iter(partial(plain.read, _SMALL), b"")


def _lz4(file: IO[bytes]) -> Iterator[bytes]:
    from lz4 import block  # noqa: PLC0415 - for this codec alone

    while len(header := file.read(_LZ4_HEADER)) == _LZ4_HEADER and header.startswith(b"LZ4Block"):
        packed, plain = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        data = file.read(packed)
        if len(data) < packed or plain > 1 << 26:
            return
        if plain:
            yield data if header[8] & 0xF0 == 0x10 else block.decompress(data, uncompressed_size=plain)


_OPENED: dict[str, Callable[[Any], Iterator[bytes]]] = {"gz": _gzip, "zstd": _zstd, "zst": _zstd, "lz4": _lz4}
