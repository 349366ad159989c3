"""Keys that `headwater keys` creates: stored as hashes, with scopes and expiry, rotated and revoked without
a restart.
"""

import asyncio
import json
import stat
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.auth.access import ANYONE, Caller, Identity, Key
from headwater.auth.authentication import CSRF_HEADER, Authenticator
from headwater.auth.keys import KeyFile, KeyManager, KeyRequest, parse_keys
from headwater.auth.private_file import PrivateFile
from headwater.auth.sessions import SESSION_COOKIE, Sessions
from headwater.common.errors import NotKnown, WrongQuestion, WrongSetting

ADMIN = Caller("boss", frozenset({"admin"}))
ISSUER = "https://issuer.example"


def person(subject: str, name: str = "mary@x", issuer: str = ISSUER) -> Caller:
    who = Identity(issuer=issuer, subject=subject, object_id=f"oid-{subject}", name=name)
    return Caller(name, frozenset({"read", "write"}), frozenset({"dev"}), None, "token", who, is_person=True)


MARY = person("sub-1")


def opened(folder: Path) -> KeyFile:
    return KeyFile(PrivateFile(folder / "keys.json"), PrivateFile(folder / "used.json"), reload_every_s=0.0)


def found(access: Authenticator, secret: str, method: str = "GET", **headers: str) -> Caller | None:
    sent: Mapping[str, str] = {"authorization": f"Bearer {secret}"} if secret else {}
    return asyncio.run(access.find_caller({**sent, **headers}, "", method))


def test_a_key_is_kept_as_its_hash_in_a_file_of_its_owner(tmp_path: Path) -> None:
    made = KeyManager(opened(tmp_path), ()).create_key(ADMIN, KeyRequest("spark", ["write"], ["prod"], ["s3://prod"]))
    text = (tmp_path / "keys.json").read_text()
    assert made["key"] not in text
    assert made["key"].removeprefix("hw_") not in text
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    caller = found(Authenticator((), opened(tmp_path)), made["key"])
    assert caller == Caller("spark", frozenset({"write"}), frozenset({"prod"}), frozenset({"s3://prod"}))


def test_a_running_process_takes_up_what_another_changes(tmp_path: Path) -> None:
    access, desk = Authenticator((), opened(tmp_path)), KeyManager(opened(tmp_path), ())
    assert found(access, "anything") == ANYONE  # without a key file, loopback access is open
    first = desk.create_key(ADMIN, KeyRequest("spark", ["write"]))
    assert found(access, "anything") is None
    assert found(access, "") is None
    second = desk.create_key(ADMIN, KeyRequest("spark", ["write"]))
    assert found(access, first["key"]) == found(access, second["key"]) == Caller("spark", frozenset({"write"}))
    with pytest.raises(WrongQuestion, match="2 valid keys"):
        desk.create_key(ADMIN, KeyRequest("spark", ["write"]))
    desk.revoke_keys(ADMIN, first["id"])
    assert found(access, first["key"]) is None
    assert found(access, second["key"]) is not None
    desk.revoke_keys(ADMIN, "spark")
    assert found(access, second["key"]) is None
    assert found(access, "") is None  # without any key left, requests are still refused
    assert not access.is_open


def test_revoking_what_is_not_there_shuts_nobody_out(tmp_path: Path) -> None:
    with pytest.raises(NotKnown):
        KeyManager(opened(tmp_path), ()).revoke_keys(ANYONE, "no such key")
    assert found(Authenticator((), opened(tmp_path)), "") == ANYONE


def test_an_expired_key_is_refused_and_makes_room(tmp_path: Path) -> None:
    file = opened(tmp_path)
    past = datetime.now(UTC) - timedelta(seconds=1)
    old = [file.add_key(Key(name="n", sha256="0" * 64, expires=past)) for _ in range(3)]
    assert [found(Authenticator((), file), secret) for _, secret in old] == [None] * 3
    assert [key["valid"] for key in KeyManager(file, ()).list_keys(ADMIN)] == [False] * 3
    with pytest.raises(WrongQuestion, match="not a duration"):
        KeyManager(file, ()).create_key(ADMIN, KeyRequest("n", ["read"], lasts="soon"))
    assert KeyManager(file, ()).create_key(ADMIN, KeyRequest("n", ["read"], lasts="never"))["expires"] is None


def test_last_use_is_told_once_and_not_for_each_request(tmp_path: Path) -> None:
    file = opened(tmp_path)
    secret = KeyManager(file, ()).create_key(ADMIN, KeyRequest("n", ["read"]))["key"]
    access = Authenticator((), file)
    assert KeyManager(opened(tmp_path), ()).list_keys(ADMIN)[0]["last_used"] is None
    assert found(access, secret)
    asyncio.run(access.save_key_uses())
    told = (tmp_path / "used.json").stat().st_mtime_ns
    for _ in range(20):
        assert found(access, secret)
        asyncio.run(access.save_key_uses())
    assert (tmp_path / "used.json").stat().st_mtime_ns == told
    assert KeyManager(opened(tmp_path), ()).list_keys(ADMIN)[0]["last_used"].startswith(f"{datetime.now(UTC):%Y-%m-%d}")


def test_a_broken_file_lets_nobody_new_in_and_nobody_out(tmp_path: Path) -> None:
    file = opened(tmp_path)
    secret = KeyManager(file, ()).create_key(ADMIN, KeyRequest("n", ["read"]))["key"]
    access = Authenticator((), file)
    assert found(access, secret)
    (tmp_path / "keys.json").write_text('[{"name": "x", "key": "a-secret-of-somebody"}, 3]')
    assert found(access, secret)
    assert found(access, "a-secret-of-somebody") is None
    assert found(Authenticator((), opened(tmp_path)), "") is None
    with pytest.raises(WrongSetting) as raised:
        KeyManager(opened(tmp_path), ()).list_keys(ADMIN)
    assert "secret" not in str(raised.value)


def test_many_add_keys_at_once_and_none_is_lost(tmp_path: Path) -> None:
    def add(number: int) -> None:
        for turn in range(5):
            KeyManager(opened(tmp_path), ()).create_key(ADMIN, KeyRequest(f"k{number}-{turn}", ["read"]))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parse_keys((tmp_path / "keys.json").read_text())) == 30


def test_people_make_keys_of_no_more_than_their_own_roles(tmp_path: Path) -> None:
    desk = KeyManager(opened(tmp_path), ())
    with pytest.raises(WrongQuestion, match="headwater keys add"):
        desk.create_key(ANYONE, KeyRequest("first", ["admin"]))
    mine = desk.create_key(MARY, KeyRequest("laptop", ["write"]))
    assert (mine["name"][:7], mine["name"][-7:], mine["namespaces"]) == ("mary@x#", ":laptop", ["dev"])
    refused: list[KeyRequest] = [
        KeyRequest("a", ["admin"]), KeyRequest("a", ["write"], ["prod"]),
        KeyRequest("a\nb", ["read"]), KeyRequest("", ["read"]),
    ]  # fmt: skip
    for wanted in refused:
        with pytest.raises(WrongQuestion):
            desk.create_key(MARY, wanted)
    for program in (MARY._replace(is_person=False), Caller("mary@x", MARY.roles)):
        with pytest.raises(WrongQuestion, match="signed-in"):
            desk.create_key(program, KeyRequest("a", ["read"]))
    assert desk.create_key(MARY, KeyRequest("b", ["write"], datasets=["*"]))["datasets"] is None
    other = desk.create_key(ADMIN, KeyRequest("other", ["read"]))
    assert {key["name"].partition(":")[2] for key in desk.list_keys(MARY)} == {"laptop", "b"}
    for which in (other["id"], "other"):
        with pytest.raises(NotKnown):
            desk.revoke_keys(MARY, which)
    assert [key["id"] for key in desk.revoke_keys(MARY, mine["id"])] == [mine["id"]]


def test_a_person_is_known_by_issuer_and_subject_and_not_by_name(tmp_path: Path) -> None:
    desk = KeyManager(opened(tmp_path), ())
    mine = desk.create_key(MARY, KeyRequest("laptop", ["write"]))
    assert (mine["owner"], mine["owner_issuer"], mine["owner_subject"]) == ("mary@x", ISSUER, "sub-1")
    assert mine["owner_object_id"] == "oid-sub-1"
    strangers = [
        person("sub-2"), person("sub-1", issuer="https://other.example"),
        Caller("mary@x", MARY.roles), Caller(MARY.label, MARY.roles), MARY._replace(is_person=False),
        Caller("mary@x", frozenset({"read"}), kind="command"),
    ]  # fmt: skip
    for stranger in strangers:
        assert desk.list_keys(stranger) == []
        for which in (mine["id"], mine["name"]):
            with pytest.raises(NotKnown):
                desk.revoke_keys(stranger, which)
    renamed = person("sub-1", "mary.smith@x")
    assert [key["id"] for key in desk.list_keys(renamed)] == [mine["id"]]
    namesake = [desk.create_key(person("sub-2"), KeyRequest("laptop", ["write"])) for _ in range(2)]
    assert mine["name"] not in {key["name"] for key in namesake}  # these do not count towards her number of keys
    assert desk.create_key(MARY, KeyRequest("laptop", ["write"]))["name"] == mine["name"]
    assert desk.create_key(person("sub-3", "n" * 200), KeyRequest("k" * 99, ["read"]))["name"].endswith("k" * 99)
    assert [key["id"] for key in desk.revoke_keys(renamed, mine["id"])] == [mine["id"]]


def test_a_key_made_under_a_name_works_and_is_unassigned_until_an_administrator_assigns_it(tmp_path: Path) -> None:
    file = opened(tmp_path)
    key, secret = file.add_key(Key(name="mary@x:laptop", sha256="0" * 64, roles=frozenset({"read"}), made_by="mary@x"))
    before = (tmp_path / "keys.json").read_text()
    assert "owner" not in before  # as older versions wrote the file
    desk, access = KeyManager(file, [Key(name="fixed", sha256="1" * 64)], ISSUER + "/"), Authenticator((), file)
    assert found(access, secret) == Caller("mary@x:laptop", frozenset({"read"}))
    assert desk.list_keys(MARY) == []
    assert [shown["owner"] for shown in desk.list_keys(ADMIN)] == ["unassigned"] * 2
    assert [shown["owner_subject"] for shown in desk.assign_owner("mary@x:laptop", "sub-1", name="Mary")] == ["sub-1"]
    assert [(shown["id"], shown["owner"]) for shown in desk.list_keys(MARY)] == [(key.id, "Mary")]
    assert desk.list_keys(person("sub-2")) == []
    assert found(access, secret) == Caller("mary@x:laptop", frozenset({"read"}))
    desk.assign_owner(key.id, "sub-2", "https://other.example")
    assert desk.list_keys(MARY) == []
    assert desk.list_keys(person("sub-2", issuer="https://other.example"))
    for which, subject, error in (("?", "s", NotKnown), ("fixed", "s", WrongQuestion), (key.id, "", WrongQuestion)):
        with pytest.raises(error):
            desk.assign_owner(which, subject)
    with pytest.raises(WrongQuestion, match="oidc_issuer"):
        KeyManager(file, ()).assign_owner(key.id, "sub-1")


def test_keys_people_and_commands_have_labels_of_their_own() -> None:
    roles = frozenset[Any]({"write"})
    names = ("mary@x", MARY.label, "root@host", "command:root@host", "key:command:root@host", "anyone", "nobody")
    keys = {Caller(name, roles).label for name in names}
    assert len(keys) == len(names)
    others = {MARY.label, person("sub-2").label, person("sub-1", issuer="https://o.example").label, ANYONE.label,
              Caller("root@host", roles, kind="command").label, "nobody"}  # fmt: skip
    assert len(others) == 6
    assert not keys & others
    assert Caller("spark-prod", roles).label == "spark-prod"
    assert MARY.label == f"oidc:{ISSUER}#sub-1 oid:oid-sub-1 mary@x"
    forged = person("sub-9 mary@x", "x oidc:y").label
    assert forged.startswith(f"oidc:{ISSUER}#sub-9%20mary@x oid:")


def test_a_key_called_anyone_is_a_key(tmp_path: Path) -> None:
    admin = Key.model_validate({"name": "anyone", "key": "12345678", "roles": ["admin"]})
    caller = found(Authenticator([admin]), "12345678")
    assert caller
    assert caller != ANYONE
    assert KeyManager(opened(tmp_path), ()).create_key(caller, KeyRequest("a", ["read"]))["name"] == "a"


def test_keys_of_settings_are_taken_in_clear_or_as_hash(tmp_path: Path) -> None:
    clear = Key.model_validate({"name": "clear", "key": "in-clear-text"})
    hashed = Key.model_validate({"name": "hashed", "sha256": clear.digest.hex(), "expires": "2020-01-01T00:00:00Z"})
    assert found(Authenticator([clear]), "in-clear-text") == Caller("clear", frozenset({"write"}))
    assert found(Authenticator([hashed]), "in-clear-text") is None
    kept = [key["kept"] for key in KeyManager(opened(tmp_path), [clear, hashed]).list_keys(ADMIN)]
    assert kept == ["settings, in clear", "settings"]
    with pytest.raises(WrongQuestion, match="is in the settings"):
        KeyManager(opened(tmp_path), [clear]).revoke_keys(ADMIN, "clear")
    neither: list[dict[str, Any]] = [{"name": "n"}, {"name": "n", "key": "12345678", "sha256": "0" * 64}]
    for wrong in neither:
        with pytest.raises(ValueError, match="either `key` or `sha256`"):
            Key.model_validate(wrong)


def test_a_session_reads_and_changes_something_with_its_header_only() -> None:
    sessions = Sessions(b"s" * 32)
    access = Authenticator([Key.model_validate({"name": "k", "key": "12345678"})], sessions=sessions)
    until = datetime.now(UTC).timestamp() + 60
    cookie = f"a=b; {SESSION_COOKIE}={sessions.session_cookie(MARY, until)}"
    assert found(access, "", cookie=cookie) == MARY
    assert found(access, "", "POST", cookie=cookie) is None
    assert found(access, "", "POST", cookie=cookie, **{CSRF_HEADER: "1"}) == MARY
    forged = [
        f"{SESSION_COOKIE}={Sessions(b't' * 32).session_cookie(MARY, until)}",
        f"{SESSION_COOKIE}={sessions.session_cookie(MARY, until - 61)}",
        f"{SESSION_COOKIE}={sessions.seal('another', json.dumps(['mary', ['admin'], [], until]).encode())}",
        f"{SESSION_COOKIE}={sessions.session_cookie(MARY, until)[:-1]}",
        # a session without a subject
        f"{SESSION_COOKIE}={sessions.seal(SESSION_COOKIE, json.dumps(['mary', ['admin'], [], until]).encode())}",
        f"{SESSION_COOKIE}=", f"{SESSION_COOKIE}=.", f"{SESSION_COOKIE}=é.é", f"{SESSION_COOKIE}=a; ;;=,",
    ]  # fmt: skip
    assert [found(access, "", cookie=each) for each in forged] == [None] * len(forged)
