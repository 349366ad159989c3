"""The OpenLineage listener of a session, reached through Spark's bus: which run its application is, and its transport.

What it tells is private to the listener, and the same in 1.27.0 and 1.53.0: a context factory, made when the
application starts, that holds the emitter of all events.
"""

from typing import Any, NamedTuple

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.errors import Retry, WrongSetting
from headwater.questions.producer_setup import LISTENER

_SETTLED_MS = 60_000


class ApplicationRun(NamedTuple):
    """The run that is the parent of all others of the session, and its job, as the listener reports them."""

    run: str
    namespace: str
    job: str


class SessionListener:
    """The listener of a session that has one."""

    def __init__(self, spark: SparkSession):
        """Find it. Raises WrongSetting where there is none, or none that Python can reach."""
        try:
            context: Any = spark.sparkContext
            self._jvm: Any = context._jvm
            self._bus: Any = context._jsc.sc().listenerBus()
            self._listener: Any = next(
                (each for each in self._bus.listeners() if each.getClass().getName() == LISTENER), None
            )
        except (AttributeError, NotImplementedError, Py4JError) as error:
            raise WrongSetting(
                f"This session does not let Python reach its Java: {_reason(error)} Spark Connect and the shared "
                "access mode of Databricks never do; use a classic session, on Databricks a dedicated cluster."
            ) from error
        if self._listener is None:
            raise WrongSetting(
                f"This session has no OpenLineage listener. Set spark.extraListeners to {LISTENER} in the environment "
                "or the cluster; in a cell it comes too late."
            )

    def settle(self) -> None:
        """Wait until the listener has seen all that Spark has done so far. Raises Retry after a minute."""
        try:
            self._bus.waitUntilEmpty(_SETTLED_MS)
        except Py4JJavaError as error:
            raise Retry(f"The listener is behind: {_reason(error)} Call this again.") from error

    def application(self) -> ApplicationRun:
        """Return the application's run. Raises WrongSetting for a listener that is off, or unlike those known."""
        emitter = self._emitter()
        return ApplicationRun(
            str(emitter.getApplicationRunId().toString()),
            str(emitter.getJobNamespace()),
            str(emitter.getApplicationJobName()),
        )

    def emit(self, event: dict[str, Any]) -> None:
        """Send a RunEvent as the listener sends its own: by its transport, whichever that is. Raises Retry."""
        try:
            client = self._jvm.io.openlineage.client.OpenLineageClientUtils
            self._emitter().getClient().emit(client.runEventFromJson(msgspec.json.encode(event).decode()))
        except Py4JJavaError as error:
            raise Retry(f"The transport did not take the event: {_reason(error)} Call this again.") from error

    def _emitter(self) -> Any:
        factory = self._private(self._listener, "contextFactory")
        if factory is None:
            self.settle()  # it is made when the listener hears that the application has started
            factory = self._private(self._listener, "contextFactory")
        if factory is None:
            raise WrongSetting("The listener of this session is switched off. Look for spark.openlineage.disabled.")
        return self._private(factory, "openLineageEventEmitter")

    def _private(self, owner: Any, name: str) -> Any:
        try:
            field = owner.getClass().getDeclaredField(name)
            field.setAccessible(True)
            return field.get(owner)
        except Py4JJavaError as error:
            raise WrongSetting(
                f"This listener is unlike 1.27.0 and 1.53.0, which were tested: {_reason(error)} Use one of those."
            ) from error


def _reason(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    return f"{' '.join(text.split())[:300].rstrip('.')}."
