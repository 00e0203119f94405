"""``headwater doctor``: the obstacles to a first query, each with the command that mends it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from headwater.connector.compat import REQUIREMENT, require_spark
from headwater.connector.spark.pythons import spark_pythons
from headwater.core.errors import HeadwaterError
from headwater.core.imports import importing


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "doctor",
        help="say what is missing before a first query, and the command that mends it",
        description="Looks at the Python of the driver and the one that Spark starts, PySpark, Java, the "
        "extras and the compiled kernels; at a stateLocation, a broker or a URL where one is named. Starts "
        "no Spark.",
        epilog="Exit status: 0 if all is well, 1 if something has to be mended, 2 for a mistake in this "
        "command line.",
    )
    parser.add_argument("--state-location", metavar="URL", help="try a stateLocation: a folder, or s3://...")
    parser.add_argument(
        "--broker", metavar="HOST:PORT", help="ask a Kafka broker, without encryption or login"
    )
    parser.add_argument("--url", metavar="URL", help="ask a server of the http source")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    is_well = True
    for finding in _findings(arguments):
        is_well = is_well and finding.mend is None
        mark = "ok    " if finding.mend is None else "not ok"
        sys.stdout.write(f"{mark}  {finding.subject}: {finding.text}\n")
        if finding.mend is not None:
            sys.stdout.write(f"        mend it: {finding.mend}\n")
        # A check may take a minute: what was found before is shown meanwhile.
        sys.stdout.flush()
    return 0 if is_well else 1


def _findings(arguments: argparse.Namespace) -> Iterator[Finding]:
    yield check_python()
    yield check_pyspark()
    yield from check_platform(os.environ)
    if _DATABRICKS not in os.environ:  # Spark runs already, with a Java and a Python of its own
        yield from check_spark_pythons(os.environ)
        yield check_java(os.environ)
    yield from check_extras()
    yield check_kernel_cache()
    if arguments.state_location is not None:
        yield check_state_location(arguments.state_location)
    if arguments.broker is not None:
        yield check_broker(arguments.broker)
    if arguments.url is not None:
        yield check_url(arguments.url)


_OLDEST_JAVA: Final = 17
_DATABRICKS: Final = "DATABRICKS_RUNTIME_VERSION"
_OLDEST_RUNTIME: Final = 19
_KUBERNETES: Final = "KUBERNETES_SERVICE_HOST"
_DATAPROC: Final = "DATAPROC_IMAGE_VERSION"
_EMR_INSTANCE: Final = Path("/mnt/var/lib/info/extraInstanceData.json")
"""Each host of EMR has it. A container of EMR on EKS has not: its image is the user's."""
_PATIENCE_S: Final = 60
_URL_TIMEOUT_S: Final = 10

NEEDED_FOR: Final = {
    "kafka": "the source kafka",
    "board": "hw.Board and headwater board",
    "prometheus": "hw.export_metrics to Prometheus",
    "otel": "hw.export_metrics to OpenTelemetry",
    "avro": "files of Avro",
    "formats": "files of CSV and JSON, typed values, schema registries",
    "event-time": "maxEventTimeSkew of sources other than kafka",
    "http": "the source http",
    "async": "hw.unordered_wait, hw.ordered_wait and hw.keyed_wait",
    "carry-over": "asynchronous calls that are carried over to the next batch",
    "mqtt": "the source mqtt",
    "nats": "the source nats",
    "redis": "the source redis",
    "rabbitmq": "the source rabbitmq",
    "kinesis": "the source kinesis",
    "glue": "the formats glue-avro and glue-json",
    "postgres": "the source postgres",
    "msk": "Kafka on AWS with IAM",
    "eventhubs": "Event Hubs of Azure with Entra",
    "s3": "files and checkpoints on S3",
    "gcs": "files on Google Cloud Storage, and their notifications",
    "adls": "files on Azure Data Lake Storage, and their notifications",
    "sftp": "files on a server with SFTP",
}
"""The extras of this package, and their uses."""

_PROGRAM: Final = (
    "import sys, headwater; print('%d.%d' % sys.version_info[:2], headwater.__version__, sys.executable)"
)


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        subject: the thing that was checked.
        text: its state.
        mend: the command that mends it; None if nothing has to be mended.
    """

    subject: str
    text: str
    mend: str | None = None


def check_python() -> Finding:
    """The Python of this process, which would be the driver's."""
    release = "{}.{}.{}".format(*sys.version_info[:3])
    return Finding("Python", f"{release}, {sys.executable}")


def check_spark_pythons(environment: Mapping[str, str]) -> Iterator[Finding]:
    """The Python with which Spark plans, and the one of its tasks: both must have headwater. Starts them."""
    for command in spark_pythons(environment):
        yield _check_spark_python(command)


def _check_spark_python(command: str) -> Finding:
    subject = "Spark's Python"
    mend = f"export PYSPARK_PYTHON={sys.executable}, or make the session with hw.session()"
    try:
        ran = subprocess.run(  # noqa: S603 - what Spark would start
            [command, "-c", _PROGRAM],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            # Not from the folder in which the user is: a checkout would be found there.
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(subject, f"{command} does not start: {error}", mend)
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        return Finding(subject, f"{command} cannot import headwater: {last[0]}", mend)
    python, headwater, executable = ran.stdout.split(maxsplit=2)
    ours = "{}.{}".format(*sys.version_info[:2])
    if python != ours:
        return Finding(subject, f"{command} is Python {python}, the driver's is {ours}", mend)
    if headwater != version("headwater"):
        mismatch = f"{command} has headwater {headwater}, the driver has {version('headwater')}"
        return Finding(subject, mismatch, mend)
    return Finding(subject, f"{command}: {executable.strip()}")


def check_pyspark() -> Finding:
    """PySpark's version. A platform may bring it without a package that pip knows."""
    mend = f"{sys.executable} -m pip install {REQUIREMENT!r}"
    try:
        import pyspark
    except ImportError:
        return Finding("PySpark", "not installed", mend)
    try:
        require_spark(pyspark.__version__)
    except HeadwaterError as error:
        return Finding("PySpark", str(error), mend)
    return Finding("PySpark", pyspark.__version__)


def check_platform(environment: Mapping[str, str], emr: Path = _EMR_INSTANCE) -> Iterator[Finding]:
    """The platform, where one is known by its environment: what of the other advice does not apply there.

    Args:
        environment: of this process.
        emr: the file by which a host of EMR is known.
    """
    subject = "Platform"
    runtime = environment.get(_DATABRICKS)
    if runtime is not None:
        number = re.match(r"\d+", runtime)
        is_old = number is not None and int(number[0]) < _OLDEST_RUNTIME
        advice = "take the session that is there, without hw.session and without settings: docs/platforms.md"
        mend = f"compute with Databricks Runtime {_OLDEST_RUNTIME} or newer" if is_old else None
        yield Finding(subject, f"Databricks Runtime {runtime}; {advice}", mend)
    elif (cluster := _cluster_with_its_spark(environment, emr)) is not None:
        yield Finding(
            subject,
            f"{cluster}; its Spark is that of the cluster and no pip changes it. Where it is older than 4.2, "
            "take an image of yours: docs/platforms.md",
        )
    elif _KUBERNETES in environment:
        yield Finding(
            subject, "a pod of Kubernetes; mend in its image what is not ok in the pod: docs/platforms.md"
        )


def _cluster_with_its_spark(environment: Mapping[str, str], emr: Path) -> str | None:
    """Return the name of a managed cluster, whose Spark comes with it; None if this is none."""
    if _DATAPROC in environment:
        return f"Dataproc image {environment[_DATAPROC]}"
    try:
        instance = json.loads(emr.read_text())
    except (OSError, ValueError):
        return None
    return f"EMR {instance.get('releaseLabel', 'without a release label')}"


def check_java(environment: Mapping[str, str]) -> Finding:
    """The Java that Spark would start with."""
    mend = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
    home = environment.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if command is None:
        return Finding("Java", "not on the path, and JAVA_HOME is not set", mend)
    try:
        ran = subprocess.run(  # noqa: S603 - what Spark would start
            [command, "-version"], check=False, capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Java", f"{command} does not start: {error}", mend)
    match = re.search(r'version "(?:1\.)?(\d+)[^"]*"', ran.stderr)
    if match is None:
        return Finding("Java", f"{command} does not say its version: {ran.stderr[:200]}", mend)
    description = f"{match[0].removeprefix('version ')}, {command}"
    return Finding("Java", description, mend if int(match[1]) < _OLDEST_JAVA else None)


def check_extras() -> Iterator[Finding]:
    """Whether the libraries of each extra are there. None has to be: who uses the source needs it."""
    missing: dict[str, list[str]] = {}
    for requirement in requires("headwater") or ():
        match = re.match(r'([\w.-]+).*extra == "([^"]+)"', requirement)
        if match and match[2] != "test":
            missing.setdefault(match[2], []).extend(name for name in [match[1]] if not _is_installed(name))
    for extra, names in missing.items():
        state = f"not installed: {', '.join(names)}" if names else "installed"
        need = f"for {NEEDED_FOR[extra]}: {sys.executable} -m pip install 'headwater[{extra}]'"
        yield Finding(f"extra {extra}", f"{state}; {need}" if names else state)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def check_kernel_cache() -> Finding:
    """The folder in which compiled kernels are kept, and whether one is there."""
    from headwater.readers.kernels.cache import cache_folder

    subject = "Kernels"
    folder = cache_folder()
    if folder is None:
        return Finding(subject, "no folder can keep compiled ones", "export XDG_CACHE_HOME=A_FOLDER_OF_YOURS")
    count = len(list(folder.glob("kernel-*")))
    if not count:
        empty = f"none in {folder}: the first query compiles them, or now: headwater compile"
        return Finding(subject, empty)
    return Finding(subject, f"{count} compiled in {folder}")


def check_state_location(url: str) -> Finding:
    """Whether a ``stateLocation`` can be written, and lets only one of two writers be the first."""
    from headwater.core.state_location import LocalStateStore, check_state_store, open_state_store

    subject = f"stateLocation {url}"
    try:
        store = open_state_store(url)
        with _without_new_folders(Path(str(store))) if isinstance(store, LocalStateStore) else nullcontext():
            check_state_store(store)
    except (HeadwaterError, ImportError) as error:
        return Finding(
            subject, str(error), "give a location that all hosts can write: docs/state-location.md"
        )
    return Finding(subject, "can be written, and only the first of two writers wins")


@contextmanager
def _without_new_folders(folder: Path) -> Iterator[None]:
    """Remove at the end new folders of a path, unless something lies there now."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # never made, or somebody else's by now
            for path in missing:
                path.rmdir()


def check_broker(address: str) -> Finding:
    """Whether a Kafka broker answers, without encryption or login."""
    subject = f"broker {address}"
    try:
        with importing("the kafka source", extra="kafka", everywhere=False):
            from headwater.enumerators.kafka.client.client_config import ClientConfig
            from headwater.enumerators.kafka.client.cluster import Cluster
        with closing(Cluster(ClientConfig.from_options({"kafka.bootstrap.servers": address}))) as cluster:
            topics = cluster.metadata(None).topics
    except HeadwaterError as error:
        mend = f"headwater peek kafka -o subscribe=TOPIC -o kafka.bootstrap.servers={address} -o ..."
        return Finding(subject, str(error), mend)
    return Finding(subject, f"answers; {len(topics)} topics can be seen")


def check_url(url: str) -> Finding:
    """Whether a server answers at a URL; with which status does not matter."""
    subject = f"URL {url}"
    try:
        with importing("the http source", extra="http", everywhere=False):
            import urllib3
    except HeadwaterError:
        mend = f"{sys.executable} -m pip install 'headwater[http]'"
        return Finding(subject, "not asked: the extra http is not installed", mend)
    if "://" not in url:
        # Up to 2.7 urllib3 warns, and asks a host of some name.
        return Finding(subject, "is no http:// or https:// URL", "give it with its http:// or https://")
    try:
        response = urllib3.request("GET", url, retries=False, timeout=_URL_TIMEOUT_S, preload_content=False)
    except urllib3.exceptions.HTTPError as error:
        return Finding(subject, f"no answer: {error}", f"with its options: headwater peek http -o url={url}")
    response.close()
    return Finding(subject, f"answers, with status {response.status}")
