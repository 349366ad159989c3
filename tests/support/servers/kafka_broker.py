"""Run a real Kafka broker from its Maven jars: one node in KRaft mode, on free ports, in a folder."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.servers.oidc import OidcServer
from tools.jars import CACHE, require_java

READY_S = 120.0
USER = "$ConnectionString"
PASSWORD = "Endpoint=sb://hub.test/;SharedAccessKey=very-secret-kafka-key="
HUB = "https://hub.servicebus.windows.net"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp")
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},TOKENS://127.0.0.1:{tokens},\
CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,TOKENS:SASL_PLAINTEXT,\
CONTROLLER:PLAINTEXT
listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.tokens.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.tokens.oauthbearer.sasl.server.callback.handler.class=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.tokens.oauthbearer.sasl.jaas.config=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
listener.name.tokens.oauthbearer.connections.max.reauth.ms=3600000
sasl.oauthbearer.jwks.endpoint.url={issuer}/keys
sasl.oauthbearer.expected.issuer={issuer}
sasl.oauthbearer.expected.audience={audience}
sasl.oauthbearer.clock.skew.seconds=0
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
controller.quorum.election.timeout.ms=300
controller.quorum.election.backoff.max.ms=300
"""


class Broker:
    """One broker with three listeners.

    `servers` accepts clients without credentials, `secured` those with USER and PASSWORD, and `tokens` those with a
    token of `issuer` for HUB. The broker closes connections whose token has expired.
    """

    def __init__(self, folder: Path, issuer: OidcServer) -> None:
        """Format the folder and start the broker."""
        plain, sasl, tokens, controller = _free_ports(4)
        self.servers, self.secured, self.tokens = (f"127.0.0.1:{port}" for port in (plain, sasl, tokens))
        self.issuer = issuer
        self._folder = folder
        self._config = folder / "server.properties"
        self._config.write_text(
            _PROPERTIES.format(
                plain=plain,
                sasl=sasl,
                tokens=tokens,
                controller=controller,
                folder=folder,
                user=USER,
                password=PASSWORD,
                issuer=issuer.url,
                audience=HUB,
            )
        )
        self._java = [require_java(), *_JVM, str(CACHE / "kafka-broker" / "*")]
        storage = ["kafka.tools.StorageTool", "format", "-t", "hw0000000000000000test", "-c", str(self._config)]
        subprocess.run([*self._java, *storage], check=True, capture_output=True, timeout=READY_S)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def start(self) -> None:
        """Start the broker on its earlier ports, and wait until it answers."""
        with (self._folder / "broker.log").open("ab") as output:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._config)], stdout=output, stderr=subprocess.STDOUT
            )
        admin = AdminClient({"bootstrap.servers": self.servers, "reconnect.backoff.max.ms": 100, "log_level": 0})
        admin.list_topics(timeout=READY_S)

    def kill(self) -> None:
        """Kill the broker as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the broker if it still runs."""
        if self._process is not None:
            self._end(signal.SIGTERM)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Suspend the broker: its connections stay open, but it does not answer."""
        assert self._process
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def topic(self, name: str, partitions: int = 1, **config: str) -> str:
        """Create a topic. Returns its name."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self._await(self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)]))
        while len(self.admin.list_topics(name, READY_S).topics[name].partitions) < partitions:
            pass  # the broker that answers learns of the topic a moment after the controller
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._await(self.admin.delete_topics([name]))

    def forget(self, topic: str, before: int, partition: int = 0) -> None:
        """Delete the records of a partition below an offset, as retention does."""
        self._await(self.admin.delete_records([TopicPartition(topic, partition, before)]))

    def produce(self, topic: str, bodies: Sequence[bytes], partition: int = 0, **options: Any) -> None:
        """Write plain records as other programs do, without Headwater's headers."""
        producer = self.producer(**options)
        for body in bodies:
            producer.produce(topic, body, partition=partition)
        assert producer.flush(READY_S) == 0

    def producer(self, **options: Any) -> Producer:
        """Return a producer client. options: librdkafka options, with underscores instead of dots."""
        named = {key.replace("_", "."): value for key, value in options.items()}
        return Producer({"bootstrap.servers": self.servers, "log_level": 0, "linger.ms": 1, **named})

    def _await(self, futures: Any) -> None:
        for future in futures.values():
            future.result(READY_S)

    def _end(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)
        self._process.wait(READY_S)
        self._process = None


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """Run a broker in an empty folder, and stop it at the end."""
    with OidcServer() as issuer:
        broker = Broker(folder, issuer)
        try:
            yield broker
        finally:
            broker.stop()


def _free_ports(count: int) -> list[int]:
    """Return free ports. All sockets stay open until the last port is found, so the ports differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
