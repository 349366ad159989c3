"""Questions to a running Headwater, over HTTP; answers as JSON has them."""

from collections.abc import Mapping
from typing import Any

import httpx

from headwater.errors import Retry, WrongQuestion


class ServerAnswers:
    """What answers, through a client that has the address and the key."""

    def __init__(self, client: httpx.Client) -> None:
        """Ask nothing yet."""
        self._client = client

    def ask(self, question: str, asked: Mapping[str, Any]) -> Any:
        """Return the answer to a question of this path; raises WrongQuestion where it is refused, Retry without one."""
        try:
            answer = self._client.get(f"/api/headwater/v1/{question}", params=dict(asked))
        except httpx.TransportError as error:
            raise Retry(
                f"No answer from {self._client.base_url}: {error}. Start `headwater up`, or name it with --to."
            ) from error
        if answer.status_code == 200:
            return answer.json()
        try:
            refused = answer.json()
            nearest = f" Nearest: {', '.join(refused['nearest'])}." if refused.get("nearest") else ""
            raise WrongQuestion(f"{refused['error']} {refused['fix']}{nearest}")
        except (ValueError, KeyError):
            raise WrongQuestion(
                f"Status {answer.status_code} from {self._client.base_url}. Is it a Headwater?"
            ) from None
