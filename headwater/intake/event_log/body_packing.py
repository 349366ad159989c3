"""The format of event bodies in the SQLite log: a CRC-32 checksum, then an LZ4 block that begins with its length."""

from zlib import crc32

from lz4.block import compress, decompress

_CHECK_BYTES = 4


def compress_body(body: bytes) -> bytes:
    """Compress a body. OpenLineage events of 2 KB shrink to a third, of 15 KB to a sixth."""
    block: bytes = compress(body)
    return crc32(block).to_bytes(_CHECK_BYTES) + block


def decompress_body(packed: bytes) -> bytes:
    """Verify the checksum of a compressed body and return the body. Raises ValueError if the checksum differs."""
    block = packed[_CHECK_BYTES:]
    if crc32(block).to_bytes(_CHECK_BYTES) != packed[:_CHECK_BYTES]:
        raise ValueError("its checksum differs")
    body: bytes = decompress(block)
    return body
