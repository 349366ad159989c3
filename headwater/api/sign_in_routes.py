"""`/auth/…`: a browser signs in at the issuer and out again; who it is, it may ask."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from headwater.access import Caller
from headwater.api.refusing import error_response, json_response
from headwater.errors import Retry, WrongQuestion
from headwater.identity.callers import CSRF_HEADER, Access
from headwater.identity.sessions import LIFETIME_S, SESSION, SIGNING_IN, TAKES_S, cookie

if TYPE_CHECKING:
    from headwater.identity.oidc_sign_in import SignIn

_NEVER_KEPT = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


class SignInRoutes:
    """The routes of one sign-in, or, without one, the answer that there is none."""

    def __init__(self, access: Access, sign_in: "SignIn | None"):
        """Ask for nothing yet."""
        self._access = access
        self._sign_in = sign_in

    def routes(self) -> list[Route]:
        """Return the routes, which ask for no key."""
        found = [Route("/auth/me", self._me)]
        if self._sign_in is None:
            return found
        return [
            *found, Route("/auth/login", self._login), Route("/auth/callback", self._callback),
            Route("/auth/logout", self._logout, methods=["POST"]),
        ]  # fmt: skip

    async def _me(self, request: Request) -> Response:
        """Answer who the browser or key is (null without a valid credential), and whether one can sign in here."""
        caller = await self._access.find(dict(request.headers), request.url.query)
        answer = json_response(
            200, {"who": _described(caller) if caller else None, "signIn": self._sign_in is not None}
        )
        answer.headers.update(_NEVER_KEPT)
        return answer

    async def _login(self, request: Request) -> Response:
        assert self._sign_in  # noqa: S101 - else there is no such route
        try:
            url, sealed = await self._sign_in.begin(request.query_params.get("to", "/"))
        except Retry as error:
            return error_response(503, str(error), "Sign in again in a moment.")
        answer = RedirectResponse(url, 302, headers=_NEVER_KEPT)
        self._set(answer, SIGNING_IN, sealed, TAKES_S)
        return answer

    async def _callback(self, request: Request) -> Response:
        assert self._sign_in  # noqa: S101 - else there is no such route
        sealed = cookie(request.headers.get("cookie", ""), SIGNING_IN)
        try:
            _, session, back = await self._sign_in.finish(request.query_params, sealed)
        except WrongQuestion as error:
            return error_response(403, str(error), "Open /auth/login.")
        except Retry as error:
            return error_response(503, str(error), "Sign in again in a moment.")
        answer = RedirectResponse(back, 303, headers=_NEVER_KEPT)
        self._set(answer, SESSION, session, LIFETIME_S)
        self._set(answer, SIGNING_IN, "", 0)
        return answer

    async def _logout(self, request: Request) -> Response:
        if CSRF_HEADER not in request.headers:
            return error_response(403, "Another page may have sent this.", f"Send the header {CSRF_HEADER}.")
        answer = Response(status_code=204)
        self._set(answer, SESSION, "", 0)
        return answer

    def _set(self, answer: Response, name: str, value: str, lasts_s: int) -> None:
        secure = self._sign_in is not None and self._sign_in.is_secure
        answer.set_cookie(name, value, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="lax")


def _described(caller: Caller) -> dict[str, object]:
    """Return a caller as JSON; issuer and subject identify a person or program, null for keys."""
    who = caller.identity
    return {
        "name": caller.name, "roles": sorted(caller.roles), "person": caller.is_person, "kind": caller.kind,
        "issuer": who.issuer if who else None, "subject": who.subject if who else None,
        "object_id": (who.object_id or None) if who else None,
    }  # fmt: skip
