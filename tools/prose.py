"""Find sentences that are not standard technical English: `python -m tools.prose [--list] [--limit PERCENT] [PATH...]`.

Reads Markdown, docstrings, comments and messages of Python (string literals of five words or more), and texts of the
page. A sentence that matches one of `MARKERS` is marked. A marker is a symptom: rewrite the sentence for its reader
instead of replacing the word. Well-edited projects have 0.2 to 0.6 % of marked sentences.

Exits with 1 if a kind of text has more marked sentences than the limit.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MARKERS = {
    name: re.compile(pattern)
    for name, pattern in {
        "'is no X': write 'is not a valid X'": (
            r"(?<!here )\b(?:is|are|was|were) no (?!longer|more|way|need|such|one\b|different|doubt|guarantee|limit"
            r"|default|reason|point|harm)[a-z]+"
        ),
        "'who' as the subject of a clause": r"(?:^|[.;:] )Who(?:ever)? (?!is\b|are\b)[a-z]+s? ",
        "'what' as the subject of a clause": (
            r"(?:^|[.;:] )What (?!is\b|are\b|does\b|do\b|if\b|about\b|to\b|it (?:does|is)\b|you\b|happens\b|went\b"
            r"|changed\b)(?:[a-z]+ )?(?:is|are|has|was|were|comes|goes|stands|lies|cannot|nobody|[a-z]+s)\b"
        ),
        "'anew': write 'again'": r"\banew\b",
        "'beside': write 'next to', 'besides', 'in addition to'": r"\bbeside\b",
        "'lies', 'stands': write 'is', 'is stored', 'applies'": (
            r"\b(?:lies|stands|stood|stand there|lie there)\b(?! out| in for| for)"
        ),
        "'nobody', 'somebody': name the actor": r"\b(?:nobody|somebody)\b",
        "'held against': write 'compared with'": r"\bheld against\b",
        "'says', 'told': write 'reports', 'contains', 'returns', 'states'": r"\b(?:says|said|told|tells)\b",
        "'the other one', 'of its own': write 'a different', 'its own'": (
            r"\bother one\b|\b(?:of|on) (?:its|their|one's|ours|our) own\b"
        ),
        "'let go', 'lets X by'": r"\blets? (?:go|\w+ by)\b",
        "'of which', 'of whom': write two sentences": r"\bof (?:which|whom)\b",
        "'of before', 'of others'": r"\bof (?:before|others|ours|theirs)\b",
        "'takes back', 'goes without'": r"\btakes? (?:it |them |that )?back\b|\bgoes? without\b|\bgone through\b",
        "'nothing is': say what is missing": r"\bnothing (?:is|has|was|of|that|goes|stands|comes)\b",
        "'as it stands', 'as they were'": r"\bas (?:it|they|he|we) (?:stands?|was|were|came|comes)\b",
        "'shall'": r"\bshall\b",
    }.items()
}

Sentences = dict[str, list[str]]
"""Sentences by kind of text."""

DEFAULT_PATHS = tuple(
    map(
        Path,
        (
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "docs",
            "headwater",
            "functions",
            "notebooks",
            "web/src",
        ),
    )
)
"""Texts that users and maintainers read."""

_IGNORED_FOLDERS = {".git", ".venv", ".cache", "node_modules", "target", "dist", "build", "assets", "__pycache__"}
_GENERATED = {"schema.d.ts"}
_SQL = re.compile(r"\b(SELECT|CREATE|INSERT|UPDATE|DELETE)\b")
_DIRECTIVE = re.compile(r"# ?(noqa|type:|fmt:|ruff:|!)")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences of at least five words; lists and table cells are separate sentences."""
    text = re.sub(r"\s+", " ", re.sub(r"\n\s*\n|\n\s*[-*|#>] ?", ". ", text))
    parts = (part.strip(" |*-") for part in re.split(r"(?<=[.!?]) +| \| ", text))
    return [part for part in parts if len(re.findall(r"[A-Za-z][a-z']+", part)) >= 5]


def read_markdown(text: str) -> Sentences:
    """Return the sentences outside code."""
    text = re.sub(r"```.*?```|~~~.*?~~~", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", _without_code(text))
    return {"docs": split_sentences(re.sub(r"<[^>]+>", " ", text))}


def read_python(text: str) -> Sentences:
    """Return the sentences of docstrings, comments and messages. SQL is not a message."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings = {
        id(node.body[0].value): node.body[0].value.value
        for node in nodes
        if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant) and isinstance(node.body[0].value.value, str)
    }  # fmt: skip
    found: Sentences = {"docstrings": [], "messages": [], "comments": []}
    for docstring in docstrings.values():
        found["docstrings"] += split_sentences(_without_code(docstring))
    parts = set(docstrings)
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            found["messages"] += split_sentences(
                "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            )
            parts |= {id(part) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            found["messages"] += [] if _SQL.search(node.value) else split_sentences(node.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            found["comments"] += split_sentences(token.string.lstrip("# "))
    return found


def read_typescript(text: str) -> Sentences:
    """Return the sentences of string literals, JSX text and comments."""
    text = re.sub(r"^import .*$", "", text, flags=re.MULTILINE)
    literals = re.findall(r"\"([^\"\n]{12,})\"|'([^'\n]{12,})'|`([^`]{12,})`|>([^<>{}\n]{12,})<", text)
    comments = re.findall(r"//\s*(.*)$|/\*\*?(.*?)\*/", text, flags=re.MULTILINE | re.DOTALL)
    return {
        "page": [each for groups in literals for literal in groups for each in split_sentences(literal)],
        "comments": [
            each
            for groups in comments
            for comment in groups
            for each in split_sentences(re.sub(r"^\s*\*", "", comment, flags=re.MULTILINE))
        ],
    }


_READERS: dict[str, Callable[[str], Sentences]] = {
    ".md": read_markdown,
    ".py": read_python,
    ".ts": read_typescript,
    ".tsx": read_typescript,
}


def _without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "CODE", text)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            is_text = file.suffix in _READERS and ".test." not in file.name and file.name not in _GENERATED
            if is_text and not _IGNORED_FOLDERS & set(file.parts):
                yield file


def main() -> int:
    """Print the share of marked sentences for each kind of text; with `--list`, every marked sentence."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", default=DEFAULT_PATHS, type=Path, metavar="PATH", help="files or folders")
    parser.add_argument("--list", action="store_true", help="print each marked sentence with its file and marker")
    parser.add_argument("--limit", type=float, metavar="PERCENT", help="exit with 1 if a kind of text exceeds it")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    marked: dict[str, list[str]] = defaultdict(list)
    for file in _files(options.paths):
        for kind, sentences in _READERS[file.suffix](file.read_text("utf-8")).items():
            total[kind] += len(sentences)
            for sentence in sentences:
                marker = next((name for name, pattern in MARKERS.items() if pattern.search(sentence)), None)
                if marker:
                    marked[kind].append(f"{file}: {sentence}\n    {marker}")
    shares = {kind: 100 * len(marked[kind]) / count for kind, count in total.items()}
    above = {kind for kind, share in shares.items() if options.limit is not None and share > options.limit}
    for kind in sorted(shares):
        if options.list or kind in above:
            print(*marked[kind], sep="\n")
    for kind, share in sorted(shares.items()):
        goal = "" if options.limit is None else f", limit {options.limit:g} %"
        print(f"{kind:10} {share:.1f} % ({len(marked[kind])} of {total[kind]} sentences{goal})")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
