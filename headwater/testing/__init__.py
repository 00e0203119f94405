"""``headwater.testing``: conformance suites for sources, and helpers for their tests.

Nothing here imports pytest; only `SparkTests` needs pyspark.

A test class inherits a suite, and names the source under test and the options that read a world with some
rows; pytest runs it, and so does every runner that knows ``test_`` methods of plain classes::

    class TestOrders(testing.SourceTests):
        source = Orders
        options = staticmethod(make_database)

* `checkpoint_tests`: the promises of a query: every row once, also after crashes. In this process, without
  Spark;
* `contracts`: failures that name the contract, and where it is written;
* `driving`: drives a split reader and an emitter by hand, as a task's loop does, and looks at every answer;
* `engine`: Spark's micro-batch loop in this process, without Spark: an offset log, a sink, and crashes on
  demand;
* `enumerator_tests`: the promises of every enumerator (`headwater.core.enumerator.SplitEnumerator`);
* `event_tests`: the promises of source events;
* `making`: a source from its class or name, as Spark's planner process makes it;
* `note_tests`: the promises of task notes;
* `offset_tests`: the contracts of splits and positions, which are written into every offset (`Source`,
  `Split`);
* `option_tests`: the messages about mistakes in options (`headwater.connector.options.OptionTable`);
* `reader_tests`: the promises of every split reader and its emitter (`headwater.core.reader`,
  `headwater.core.emitter`);
* `scripted`: test doubles: an outside in memory, and a source that follows the script of a test;
* `spark_tests`: the promises of a query, through Spark. The only suite that needs pyspark;
* `staged_tests`: the promises of a queue that a `StagedSource` takes messages from;
* `subject`: the source under test, and the world that its author makes for it.
"""

from __future__ import annotations

from headwater.core.clock import Clock, ManualClock
from headwater.testing.checkpoint_tests import CheckpointTests, ScaleTests
from headwater.testing.contracts import BrokenContractError
from headwater.testing.engine import CrashError, MicroBatchEngine, Step, count_rows, read_batch
from headwater.testing.enumerator_tests import EnumeratorTests, RecordingContext
from headwater.testing.event_tests import EventTests
from headwater.testing.note_tests import NoteTests
from headwater.testing.offset_tests import OffsetTests
from headwater.testing.option_tests import OptionTests
from headwater.testing.reader_tests import ReaderTests
from headwater.testing.scripted import End, Fail, Find, MemorySystem, Pause, Rows, ScriptedSource, scripted
from headwater.testing.spark_tests import SparkTests
from headwater.testing.staged_tests import StagedTests

__all__ = [
    "BrokenContractError",
    "CheckpointTests",
    "Clock",
    "CrashError",
    "End",
    "EnumeratorTests",
    "EventTests",
    "Fail",
    "Find",
    "ManualClock",
    "MemorySystem",
    "MicroBatchEngine",
    "NoteTests",
    "OffsetTests",
    "OptionTests",
    "Pause",
    "ReaderTests",
    "RecordingContext",
    "Rows",
    "ScaleTests",
    "ScriptedSource",
    "SourceTests",
    "SparkTests",
    "StagedTests",
    "Step",
    "count_rows",
    "read_batch",
    "scripted",
]


class SourceTests(EnumeratorTests, ReaderTests, OffsetTests, OptionTests, CheckpointTests, ScaleTests):
    """All suites that need no Spark."""
