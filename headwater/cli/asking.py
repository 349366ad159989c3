"""Whom a command asks: a data folder, or a running Headwater."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from headwater.cli.data_folder import DataFolder
from headwater.cli.failing import warn
from headwater.cli.server_answers import ServerAnswers, asked_server
from headwater.errors import WrongSetting
from headwater.questions.declaring import Question


class AnswerSource(Protocol):
    """What answers questions: a data folder, or a running Headwater."""

    def ask(self, question: Question, asked: Mapping[str, str], **path: str) -> Any:
        """Return an answer as JSON has it."""


@contextmanager
def asking(server: str | None, key: str | None, data: Path | None) -> Iterator[AnswerSource]:
    """Give what is asked: what the command line names, else the server of `HEADWATER_URL`, else the data folder."""
    url = address_asked(server, data)
    if url:
        with closing(ServerAnswers(url, key, warn)) as answers:
            yield answers
    else:
        yield DataFolder(data)


def address_asked(server: str | None, data: Path | None) -> str | None:
    """Return the address of the server that is asked, None where it is a data folder."""
    if server and data:
        raise WrongSetting("--server and --data name two things to ask. Name one of them.")
    return None if data else asked_server(server)


def print_answer(source: AnswerSource, question: Question, found: Any, printed: Callable[[Any], None]) -> None:
    """Print an answer; raises WrongSetting where a server of another version answers in a form that is not ours."""
    try:
        printed(found)
    except (LookupError, TypeError, AttributeError) as error:
        if not isinstance(source, ServerAnswers):
            raise
        raise source.misfit(question, error) from error
