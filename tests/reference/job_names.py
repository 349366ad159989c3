"""The canonical names of jobs (docs/reference/lineage.md: jobs), as far as tests need them.

The implementation is independent of Headwater's.
"""

import re

_RUN = re.compile(r"jr_[0-9a-f]{64}|application_\d{13}_\d{4,}|(\w+=)?20\d\d([-_]?)[01]\d\2[0-3]\d(T[\d:.]+Z?)?")


def canonical_job(name: str) -> str:
    """Return the name of a job without the parts that belong to one run.

    A part between two dots is kept if nothing else would remain of it.
    """
    return ".".join(_without_run(part) for part in name.split("."))


def _without_run(part: str) -> str:
    for begin, end in ((0, len(part)), *_spans(part)):
        if begin and part[begin - 1] in "-_ " and _RUN.fullmatch(part[begin:end]):
            left = part[:begin].rstrip("-_ ") + part[end:]
            return _without_run(left) if left.strip("-_ ") else part
    return part


def _spans(part: str) -> list[tuple[int, int]]:
    """Return all spans between separators, longest first."""
    edges = [at for at, sign in enumerate(part) if sign in "-_ "]
    begins, ends = [at + 1 for at in edges], [*edges, len(part)]
    found = [(begin, end) for begin in begins for end in ends if begin < end]
    return sorted(found, key=lambda span: (span[0] - span[1], span))
