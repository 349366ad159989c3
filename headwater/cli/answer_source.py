"""Choose where a command gets its answers: from a data folder or from a running Headwater."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from headwater.cli.data_folder import DataFolder
from headwater.cli.error_output import warn
from headwater.cli.server_client import ServerClient, configured_server
from headwater.common.errors import WrongSetting
from headwater.questions.declaring import Question


class AnswerSource(Protocol):
    """A source of answers: a data folder or a running Headwater."""

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return the answer as JSON values. asked: query parameters; path: path parameters."""


@contextmanager
def open_answer_source(server: str | None, key: str | None, data: Path | None) -> Iterator[AnswerSource]:
    """Open the source named on the command line, else the server in `HEADWATER_URL`, else the data folder."""
    url = selected_server(server, data)
    if url:
        with closing(ServerClient(url, key, warn)) as answers:
            yield answers
    else:
        yield DataFolder(data)


def selected_server(server: str | None, data: Path | None) -> str | None:
    """Return the URL of the server to ask, None to use the data folder."""
    if server and data:
        raise WrongSetting("--server and --data exclude each other. Use one of them.")
    return None if data else configured_server(server)


def print_answer(source: AnswerSource, question: Question, found: Any, printed: Callable[[Any], None]) -> None:
    """Print an answer; raises WrongSetting if a server of another version sends an answer of another form."""
    try:
        printed(found)
    except (LookupError, TypeError, AttributeError) as error:
        if not isinstance(source, ServerClient):
            raise
        raise source.unexpected_answer(question, error) from error
