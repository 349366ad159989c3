"""The routes `/auth/…`: sign in at the issuer, sign out, and return the current caller."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from headwater.api.responses import error_response, json_response
from headwater.auth.access import Caller
from headwater.auth.authentication import CSRF_HEADER, Authenticator
from headwater.auth.sessions import SESSION_COOKIE, SESSION_LIFETIME_S, SIGN_IN_COOKIE, SIGN_IN_TIMEOUT_S, cookie_value
from headwater.common.errors import Retry, WrongQuestion

if TYPE_CHECKING:
    from headwater.auth.oidc import SignIn

_NO_STORE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


class SignInRoutes:
    """The routes for sign-in. Without a configured client, only `/auth/me` exists."""

    def __init__(self, access: Authenticator, sign_in: "SignIn | None", notice: str | None = None):
        """notice: text above every page of the dashboard."""
        self._access = access
        self._sign_in = sign_in
        self._notice = notice

    def routes(self) -> list[Route]:
        """Return the routes. They need no key."""
        found = [Route("/auth/me", self._answer_me)]
        if self._sign_in is None:
            return found
        return [
            *found, Route("/auth/login", self._begin_sign_in), Route("/auth/callback", self._finish_sign_in),
            Route("/auth/logout", self._sign_out, methods=["POST"]),
        ]  # fmt: skip

    async def _answer_me(self, request: Request) -> Response:
        """Return the caller (null without a valid credential), whether sign-in is configured, and the notice."""
        caller = await self._access.find_caller(dict(request.headers), request.url.query)
        who = _caller_json(caller) if caller else None
        answer = json_response(200, {"who": who, "signIn": self._sign_in is not None, "notice": self._notice})
        answer.headers.update(_NO_STORE)
        return answer

    async def _begin_sign_in(self, request: Request) -> Response:
        assert self._sign_in  # noqa: S101 - without it, this route does not exist
        try:
            url, sealed = await self._sign_in.begin_sign_in(request.query_params.get("to", "/"))
        except Retry as error:
            return error_response(503, str(error), "Sign in again in a moment.")
        answer = RedirectResponse(url, 302, headers=_NO_STORE)
        self._set_cookie(answer, SIGN_IN_COOKIE, sealed, SIGN_IN_TIMEOUT_S)
        return answer

    async def _finish_sign_in(self, request: Request) -> Response:
        assert self._sign_in  # noqa: S101 - without it, this route does not exist
        sealed = cookie_value(request.headers.get("cookie", ""), SIGN_IN_COOKIE)
        try:
            _, session, back = await self._sign_in.finish_sign_in(request.query_params, sealed)
        except WrongQuestion as error:
            return error_response(403, str(error), "Open /auth/login.")
        except Retry as error:
            return error_response(503, str(error), "Sign in again in a moment.")
        answer = RedirectResponse(back, 303, headers=_NO_STORE)
        self._set_cookie(answer, SESSION_COOKIE, session, SESSION_LIFETIME_S)
        self._set_cookie(answer, SIGN_IN_COOKIE, "", 0)
        return answer

    async def _sign_out(self, request: Request) -> Response:
        if CSRF_HEADER not in request.headers:
            return error_response(
                403,
                f"The request has no header {CSRF_HEADER}, so a page of another site may have sent it.",
                f"Send the header {CSRF_HEADER}.",
            )
        answer = Response(status_code=204)
        self._set_cookie(answer, SESSION_COOKIE, "", 0)
        return answer

    def _set_cookie(self, answer: Response, name: str, value: str, lasts_s: int) -> None:
        secure = self._sign_in is not None and self._sign_in.is_secure
        answer.set_cookie(name, value, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="lax")


def _caller_json(caller: Caller) -> dict[str, object]:
    """Return a caller as JSON. issuer and subject identify a person or program, and are null for keys."""
    who = caller.identity
    return {
        "name": caller.name, "roles": sorted(caller.roles), "person": caller.is_person, "kind": caller.kind,
        "issuer": who.issuer if who else None, "subject": who.subject if who else None,
        "object_id": (who.object_id or None) if who else None,
    }  # fmt: skip
