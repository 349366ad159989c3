"""Find a session's OpenLineage listener through Spark's listener bus, get the application's run and send events.

This module reads private fields of the listener, which are the same in versions 1.27.0 and 1.53.0. The listener creates
a context factory when the application starts. This factory contains the emitter of all events.
"""

from typing import Any, NamedTuple

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.errors import Retry, WrongSetting
from headwater.questions.producer_setup import LISTENER

_SETTLED_MS = 60_000


class ApplicationRun(NamedTuple):
    """Id, job namespace and job name of a run: the application's run, or the run of one notebook in the session.

    The application's run is the parent of all other runs of the session.
    """

    run: str
    namespace: str
    job: str


class SessionListener:
    """The OpenLineage listener of a Spark session."""

    def __init__(self, spark: SparkSession):
        """Find the listener. Raises WrongSetting if the session has no listener, or if Python cannot access the JVM."""
        try:
            context: Any = spark.sparkContext
            self._jvm: Any = context._jvm
            self._bus: Any = context._jsc.sc().listenerBus()
            self._listener: Any = next(
                (each for each in self._bus.listeners() if each.getClass().getName() == LISTENER), None
            )
        except (AttributeError, NotImplementedError, Py4JError) as error:
            raise WrongSetting(
                f"Python cannot access the JVM of this session: {_failure_reason(error)} "
                "Spark Connect and the shared access "
                "mode of Databricks do not allow it. Use a classic session, on Databricks a dedicated cluster."
            ) from error
        if self._listener is None:
            raise WrongSetting(
                f"This session has no OpenLineage listener. Set spark.extraListeners to {LISTENER} in the environment "
                "or the cluster. A cell cannot set it, because the session has already started."
            )

    def wait_until_processed(self) -> None:
        """Wait until the listener has processed all earlier Spark events. Raises Retry after a minute."""
        try:
            self._bus.waitUntilEmpty(_SETTLED_MS)
        except Py4JJavaError as error:
            raise Retry(f"The listener is behind: {_failure_reason(error)} Call this function again.") from error

    def application(self) -> ApplicationRun:
        """Return the application's run. Raises WrongSetting if the listener is disabled or has an unknown structure."""
        emitter = self._java_emitter()
        return ApplicationRun(
            str(emitter.getApplicationRunId().toString()),
            str(emitter.getJobNamespace()),
            str(emitter.getApplicationJobName()),
        )

    def emit(self, event: dict[str, Any]) -> None:
        """Send a RunEvent through the listener's transport. Raises Retry if the transport rejects the event."""
        try:
            client = self._jvm.io.openlineage.client.OpenLineageClientUtils
            self._java_emitter().getClient().emit(client.runEventFromJson(msgspec.json.encode(event).decode()))
        except Py4JJavaError as error:
            raise Retry(
                f"The transport rejected the event: {_failure_reason(error)} Call this function again."
            ) from error

    def _java_emitter(self) -> Any:
        factory = self._private_member(self._listener, "contextFactory")
        if factory is None:
            self.wait_until_processed()  # the listener creates it when it processes the start of the application
            factory = self._private_member(self._listener, "contextFactory")
        if factory is None:
            raise WrongSetting(
                "The listener of this session is disabled. Check the setting spark.openlineage.disabled."
            )
        return self._private_member(factory, "openLineageEventEmitter")

    def _private_member(self, owner: Any, name: str) -> Any:
        try:
            field = owner.getClass().getDeclaredField(name)
            field.setAccessible(True)
            return field.get(owner)
        except Py4JJavaError as error:
            raise WrongSetting(
                f"This version of the listener is not supported: {_failure_reason(error)} Use 1.27.0 or 1.53.0."
            ) from error


def _failure_reason(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    return f"{' '.join(text.split())[:300].rstrip('.')}."
