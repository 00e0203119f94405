"""The table of ``kafka.*``: the treatment of each property of Kafka's Java clients here.

It holds every property of the consumer and the admin client (4.1), and four of our own.
``docs/kafka-properties.md`` shows this table (``scripts/generate``).
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.enumerators.kafka.client.msk_iam import CALLBACK_HANDLERS
from headwater.enumerators.kafka.client.property_kinds import (
    LARGEST_LONG,
    Ignored,
    Mapped,
    Property,
    Refused,
    addresses,
    boolean,
    integer,
    one_of,
    protocols,
    text,
    verbatim,
)

_MS = integer(0, LARGEST_LONG)
_INT = integer(0)
_BUFFER = integer(-1)

_NO_GROUP = "no consumer group is joined: Spark's checkpoint holds the positions"
_NO_METRICS = "Kafka's own client metrics do not exist here; see the query's progress and the lag listener"
_JVM = "a setting of the JVM's security providers; TLS is OpenSSL here"
_KERBEROS = "belongs to Kerberos (GSSAPI), which is refused"
_JVM_LOGIN = "the login is not refreshed in the background here: each new connection logs in anew"
_JVM_CLASS = "names a Java class, which cannot run here"
_FETCHED = (
    "fetches tokens in Java; let kafka.sasl.oauthbearer.token.provider=package.module:function return one"
)
_RETRIES = (
    "a question that fails for the moment is asked again until a deadline, "
    "with waits that grow from 50 ms to 2 s"
)
_VALIDATE = "tokens are validated by the broker, not by this client"

_CALLBACK_HANDLER = Mapped(
    one_of(*CALLBACK_HANDLERS),
    note=f"only the classes of aws-msk-iam-auth (see below); any other {_JVM_CLASS}: "
    "use kafka.sasl.oauthbearer.token.provider for OAUTHBEARER",
)

PROPERTIES: Mapping[str, Property] = {
    "allow.auto.create.topics": Ignored("topics are never created by reading, as with Spark's own source"),
    "auto.commit.interval.ms": Ignored(_NO_GROUP),
    "auto.include.jmx.reporter": Ignored(_NO_METRICS),
    "auto.offset.reset": Refused("where to start is said once in a checkpoint's life: use startingOffsets"),
    "bootstrap.controllers": Refused("controllers serve no records: use kafka.bootstrap.servers"),
    "bootstrap.servers": Mapped(addresses, note="required"),
    "check.crcs": Mapped(boolean, "true"),
    "client.dns.lookup": Mapped(
        one_of("use_all_dns_ips"),
        "use_all_dns_ips",
        "the other choice exists for Kerberos; name the brokers in kafka.bootstrap.servers",
    ),
    "client.id": Mapped(text, "headwater", "Java has no default; brokers show it in logs and quotas"),
    "client.rack": Mapped(
        text, "", "fetches go to the nearest replica if the brokers select by rack (KIP-392)"
    ),
    "config.providers": Refused("a value is taken as written; resolve ${...} before it becomes an option"),
    "connections.max.idle.ms": Mapped(_MS, "540000"),
    "default.api.timeout.ms": Mapped(_INT, "60000", "how long one look-up of metadata or offsets may take"),
    "enable.auto.commit": Refused(
        "Spark's checkpoint holds the positions; nothing is committed to a consumer group"
    ),
    "enable.metrics.push": Ignored(_NO_METRICS),
    "exclude.internal.topics": Ignored(
        "subscribePattern never matches Kafka's internal topics, as with Spark's own source"
    ),
    "fetch.max.bytes": Mapped(_INT, "52428800", "an upper bound; the reader asks for less at a time"),
    "fetch.max.wait.ms": Mapped(_INT, "500"),
    "fetch.min.bytes": Mapped(_INT, "1"),
    "group.id": Ignored(f"{_NO_GROUP}; commitOffsetsToGroup shows them to tools"),
    "group.instance.id": Ignored(_NO_GROUP),
    "group.protocol": Ignored(_NO_GROUP),
    "group.remote.assignor": Ignored(_NO_GROUP),
    "heartbeat.interval.ms": Ignored(_NO_GROUP),
    "interceptor.classes": Refused("Java interceptors cannot run here; transform the DataFrame instead"),
    "internal.leave.group.on.close": Ignored(_NO_GROUP),
    "internal.throw.on.fetch.stable.offset.unsupported": Ignored(_NO_GROUP),
    "isolation.level": Mapped(one_of("read_uncommitted", "read_committed", lower=True), "read_uncommitted"),
    "key.deserializer": Refused("keys arrive as binary; decode the column key with DataFrame functions"),
    "max.partition.fetch.bytes": Mapped(
        _INT, "4194304", "an upper bound; a larger record is fetched all the same. Java's default is 1048576"
    ),
    "max.poll.interval.ms": Ignored(_NO_GROUP),
    "max.poll.records": Ignored(
        "records are read by the fetch, not by the poll; "
        "limit a batch with maxOffsetsPerTrigger or maxBytesPerTrigger"
    ),
    "metadata.max.age.ms": Mapped(_MS, "300000"),
    "metadata.recovery.rebootstrap.trigger.ms": Ignored(
        "when no known broker answers, kafka.bootstrap.servers are asked again at once"
    ),
    "metadata.recovery.strategy": Ignored(
        "when no known broker answers, kafka.bootstrap.servers are asked again at once"
    ),
    "metric.reporters": Ignored(_NO_METRICS),
    "metrics.num.samples": Ignored(_NO_METRICS),
    "metrics.recording.level": Ignored(_NO_METRICS),
    "metrics.sample.window.ms": Ignored(_NO_METRICS),
    "partition.assignment.strategy": Ignored(_NO_GROUP),
    "rebalance.timeout.ms": Ignored(_NO_GROUP),
    "receive.buffer.bytes": Mapped(
        _BUFFER, "-1", "Java has 65536; -1 lets the operating system tune it, which is faster"
    ),
    "reconnect.backoff.max.ms": Mapped(_MS, "1000", "between the attempts of a task"),
    "reconnect.backoff.ms": Mapped(_MS, "50", "between the attempts of a task"),
    "request.timeout.ms": Mapped(_INT, "30000"),
    "retries": Ignored(_RETRIES),
    "retry.backoff.max.ms": Ignored(_RETRIES),
    "retry.backoff.ms": Ignored(_RETRIES),
    "sasl.client.callback.handler.class": _CALLBACK_HANDLER,
    "sasl.jaas.config": Mapped(
        verbatim,
        note="PlainLoginModule, ScramLoginModule, IAMLoginModule, and extensions of OAuthBearerLoginModule "
        "are understood",
    ),
    "sasl.kerberos.kinit.cmd": Ignored(_KERBEROS),
    "sasl.kerberos.min.time.before.relogin": Ignored(_KERBEROS),
    "sasl.kerberos.service.name": Ignored(_KERBEROS),
    "sasl.kerberos.ticket.renew.jitter": Ignored(_KERBEROS),
    "sasl.kerberos.ticket.renew.window.factor": Ignored(_KERBEROS),
    "sasl.login.callback.handler.class": _CALLBACK_HANDLER,
    "sasl.login.class": Refused(f"{_JVM_CLASS}; use kafka.sasl.oauthbearer.token.provider for OAUTHBEARER"),
    "sasl.login.connect.timeout.ms": Ignored(_JVM_LOGIN),
    "sasl.login.read.timeout.ms": Ignored(_JVM_LOGIN),
    "sasl.login.refresh.buffer.seconds": Ignored(_JVM_LOGIN),
    "sasl.login.refresh.min.period.seconds": Ignored(_JVM_LOGIN),
    "sasl.login.refresh.window.factor": Ignored(_JVM_LOGIN),
    "sasl.login.refresh.window.jitter": Ignored(_JVM_LOGIN),
    "sasl.login.retry.backoff.max.ms": Ignored(_JVM_LOGIN),
    "sasl.login.retry.backoff.ms": Ignored(_JVM_LOGIN),
    "sasl.mechanism": Mapped(
        text,
        note="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM or AZURE_ENTRA (see below); "
        "required with SASL. Java's default, GSSAPI, is refused",
    ),
    "sasl.msk.region": Mapped(
        text, note="ours: the AWS region of the cluster, if the names of the brokers do not hold it"
    ),
    "sasl.oauthbearer.assertion.algorithm": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.aud": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.exp.seconds": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.iss": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.jti.include": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.claim.sub": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.file": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.private.key.file": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.private.key.passphrase": Refused(_FETCHED),
    "sasl.oauthbearer.assertion.template.file": Refused(_FETCHED),
    "sasl.oauthbearer.client.credentials.client.id": Refused(_FETCHED),
    "sasl.oauthbearer.client.credentials.client.secret": Refused(_FETCHED),
    "sasl.oauthbearer.clock.skew.seconds": Ignored(_VALIDATE),
    "sasl.oauthbearer.expected.audience": Ignored(_VALIDATE),
    "sasl.oauthbearer.expected.issuer": Ignored(_VALIDATE),
    "sasl.oauthbearer.header.urlencode": Refused(_FETCHED),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": Ignored(_VALIDATE),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": Ignored(_VALIDATE),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": Ignored(_VALIDATE),
    "sasl.oauthbearer.jwks.endpoint.url": Ignored(_VALIDATE),
    "sasl.oauthbearer.jwt.retriever.class": Refused(_FETCHED),
    "sasl.oauthbearer.jwt.validator.class": Ignored(_VALIDATE),
    "sasl.oauthbearer.scope": Refused(_FETCHED),
    "sasl.oauthbearer.scope.claim.name": Ignored(_VALIDATE),
    "sasl.oauthbearer.sub.claim.name": Ignored(_VALIDATE),
    "sasl.oauthbearer.token.endpoint.url": Refused(_FETCHED),
    "sasl.oauthbearer.token.provider": Mapped(
        text,
        note="ours: package.module:function, importable on driver and executors; "
        "called without arguments for each new connection, "
        "returns a token (a str) that is still valid; may keep it between calls",
    ),
    "sasl.password": Mapped(
        verbatim,
        note="ours (librdkafka's name): instead of sasl.jaas.config, for PLAIN and SCRAM; may be `env:NAME`, "
        "an environment variable, or `file:PATH`, on the driver and every executor, as may `password` in "
        "sasl.jaas.config",
    ),
    "sasl.username": Mapped(
        verbatim, note="ours (librdkafka's name): instead of sasl.jaas.config, for PLAIN and SCRAM"
    ),
    "security.protocol": Mapped(
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", upper=True), "PLAINTEXT"
    ),
    "security.providers": Ignored(_JVM),
    "send.buffer.bytes": Mapped(_BUFFER, "-1", "Java has 131072; -1 lets the operating system tune it"),
    "session.timeout.ms": Ignored(_NO_GROUP),
    "share.acknowledgement.mode": Ignored("share groups are not used"),
    "socket.connection.setup.timeout.max.ms": Ignored(
        "every attempt to connect gets kafka.socket.connection.setup.timeout.ms"
    ),
    "socket.connection.setup.timeout.ms": Mapped(_MS, "10000"),
    "ssl.cipher.suites": Refused(
        "OpenSSL knows ciphers by other names; restrict them at the broker, or in the hosts' openssl.cnf"
    ),
    "ssl.enabled.protocols": Mapped(protocols, "TLSv1.2,TLSv1.3"),
    "ssl.endpoint.identification.algorithm": Mapped(
        one_of("https", "", lower=True),
        "https",
        "empty: the host's name in the broker's certificate is not checked",
    ),
    "ssl.engine.factory.class": Refused(
        f"{_JVM_CLASS}; give certificates as PEM, see kafka.ssl.truststore.type"
    ),
    "ssl.key.password": Mapped(verbatim, note="may be `env:NAME` or `file:PATH`"),
    "ssl.keymanager.algorithm": Ignored(_JVM),
    "ssl.keystore.certificate.chain": Mapped(verbatim, note="PEM, with ssl.keystore.type=PEM"),
    "ssl.keystore.key": Mapped(verbatim, note="PEM, with ssl.keystore.type=PEM"),
    "ssl.keystore.location": Mapped(
        text, note="a PEM file with key and certificates, on driver and executors"
    ),
    "ssl.keystore.password": Refused(
        "a PEM key store has no password of its own, its key has: use kafka.ssl.key.password"
    ),
    "ssl.keystore.type": Mapped(
        one_of("PEM", "JKS", "PKCS12", upper=True),
        "JKS",
        "a key store must be PEM; others are refused with the command that converts them",
    ),
    "ssl.protocol": Mapped(
        one_of("TLSv1.2", "TLSv1.3", "TLS"),
        "TLSv1.3",
        "the highest version offered; kafka.ssl.enabled.protocols says which are",
    ),
    "ssl.provider": Ignored(_JVM),
    "ssl.secure.random.implementation": Ignored(_JVM),
    "ssl.trustmanager.algorithm": Ignored(_JVM),
    "ssl.truststore.certificates": Mapped(verbatim, note="PEM, with ssl.truststore.type=PEM"),
    "ssl.truststore.location": Mapped(
        text,
        note="a PEM file, on driver and executors; without any, the hosts' own authorities are trusted",
    ),
    "ssl.truststore.password": Refused("a PEM trust store has no password: leave it out"),
    "ssl.truststore.type": Mapped(
        one_of("PEM", "JKS", "PKCS12", upper=True),
        "JKS",
        "a trust store must be PEM; others are refused with the command that converts them",
    ),
    "value.deserializer": Refused(
        "values arrive as binary; decode the column value with DataFrame functions"
    ),
}
"""By Kafka's name, without the prefix ``kafka.``; sorted."""
