"""Files of Spark's event logs as lines, a bounded part of each: a plan of 100 MB is one line."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

_CHUNK = 256 << 10
_SMALL = 4 << 10
"""Of a stream that gives nothing of the piece in which it ends too early."""
_LONGEST = 1 << 20
"""Bytes of a line that are kept."""

_LZ4_HEADER = 21
"""`LZ4Block`, a byte of method and level, lengths compressed and plain, checksum: LZ4BlockOutputStream of lz4-java."""


def line_heads(path: Path) -> Iterator[bytes]:
    """Yield the beginning of each line; what is torn ends the file. Constant memory.

    Raises OSError where the file does not open.
    """
    unpacked = _OPENED.get(_codec(path))
    with path.open("rb") as file:
        yield from heads_of_lines(_readable(unpacked(file) if unpacked else pieces(file.read)), _LONGEST)


def heads_of_lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield the first bytes of each line of a text in pieces."""
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
    """Tell whether its codec is known, by its name; snappy's and LZF's streams of Java are not."""
    return _codec(path) not in ("snappy", "lzf")


def _codec(path: Path) -> str:
    name = path.name.removesuffix(".inprogress").removesuffix(".compact")
    return name.rpartition(".")[2]


def pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield what a file holds, piece by piece."""
    while chunk := read(_CHUNK):
        yield chunk


def _readable(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """End where a compressed stream does so in the middle of a block: its writer is at work, or was killed."""
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
