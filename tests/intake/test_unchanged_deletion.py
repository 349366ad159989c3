"""An ingested file is deleted only if it is unchanged. New content from a concurrent writer is kept and
ingested next.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater.common.failpoints import VARIABLE
from headwater.intake.files.sources.local_files import LocalFiles
from tests.support.data.file_intake import Taking, all_but_certain, events

pytestmark = pytest.mark.slow

NAME = "lineage.ndjson"
LOOKED, RENAMED = "deletion.looked", "deletion.renamed"
_DELETE = """
import sys
from pathlib import Path
from headwater.intake.files.sources.local_files import LocalFiles
source = LocalFiles(Path(sys.argv[1]))
print(*[source.delete(found) for found in list(source.files(0))])
"""


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Taking]:
    made = Taking(tmp_path)
    yield made
    made.close()


def grow(taking: Taking, sent: list[bytes]) -> None:
    taking.write(NAME, *sent, append=True)


def replace(taking: Taking, sent: list[bytes]) -> None:
    taking.write("other.ndjson", *sent).replace(taking.folder / NAME)


def rotate(taking: Taking, sent: list[bytes]) -> None:
    (taking.folder / NAME).rename(taking.folder / f"{NAME}.1")
    taking.write(NAME, *sent)


@pytest.mark.parametrize(
    ("where", "happens"),
    [(LOOKED, grow), (LOOKED, replace), (LOOKED, rotate), (RENAMED, grow), (RENAMED, replace)],
)
def test_what_comes_while_a_file_is_deleted_is_taken(
    taking: Taking, where: str, happens: Callable[[Taking, list[bytes]], None]
) -> None:
    before, after = events(3), events(2)
    taking.write(NAME, *before)
    taking.take()
    with_halt(taking, where, lambda: happens(taking, after))
    assert (taking.folder / NAME).exists()

    taking.take()
    assert sorted(taking.bodies()) == sorted(before + after)
    taking.take(deletion=all_but_certain())
    assert not [*taking.folder.iterdir()], "the files must be deleted once they have been unchanged for long enough"


def test_a_writer_that_comes_amid_it_finds_his_name_free_and_both_files_are_kept(taking: Taking) -> None:
    before, late, after = events(3), events(1), events(2)
    taking.write(NAME, *before)
    taking.take()
    with (taking.folder / NAME).open("ab") as writer:

        def happens() -> None:
            writer.write(late[0] + b"\n")
            writer.flush()
            taking.write(NAME, *after)

        with_halt(taking, RENAMED, happens)
    taking.take()
    assert sorted(taking.bodies()) == sorted(before + late + after)


def test_a_file_that_somebody_has_open_to_write_stays_under_its_name(taking: Taking) -> None:
    path = taking.write(NAME, *events(3))
    taking.take()
    with path.open("ab"):
        assert taking.take(deletion=all_but_certain()).deleted == 0
        assert [*taking.folder.iterdir()] == [path]
    with path.open("rb"):
        assert taking.take(deletion=all_but_certain()).deleted == 1


def test_a_file_whose_deletion_was_killed_is_known_and_goes_at_the_next_look(taking: Taking) -> None:
    sent = events(3)
    taking.write(NAME, *sent)
    taking.take()
    delete(taking, f"{RENAMED}:1").communicate()
    assert [each.suffix for each in taking.folder.iterdir()] == [".deleting"]

    taken = taking.take(deletion=all_but_certain())
    assert (taken.events, taken.deleted) == (0, 1)
    assert taking.bodies() == sent
    assert not [*taking.folder.iterdir()]


def test_a_file_that_went_meanwhile_was_not_deleted_here(taking: Taking) -> None:
    path = taking.write(NAME, *events(1))
    (found,) = LocalFiles(taking.folder).files(0)
    path.unlink()
    assert LocalFiles(taking.folder).delete(found) is False


def delete(taking: Taking, failpoint: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _DELETE, str(taking.folder)],
        env={**os.environ, VARIABLE: failpoint},
        stdout=subprocess.PIPE,
        text=True,
    )


def with_halt(taking: Taking, where: str, happens: Callable[[], None]) -> None:
    """Run an action while a deleting process is halted before it deletes the file."""
    process = delete(taking, f"{where}:halt")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    happens()
    process.send_signal(signal.SIGCONT)
    process.communicate()
    assert process.returncode == 0
