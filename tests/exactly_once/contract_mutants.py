"""For each row of `docs/contracts.md`: a change of the code behind it, and the test that notices.

The tables are our own: a mutant is a fragment of a file, which occurs there once, and the fragment in its
place. `test_contract_mutants.py` makes them; `scripts/mutate` runs that.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MUTANTS", "Mutant"]

_EPOCH = "headwater/readers/runtime/epoch"
_FETCHERS = "headwater/readers/runtime/fetchers"
_PARTITIONS = "headwater/readers/runtime/partitions"
_STAGER = "headwater/readers/runtime/staging/stager.py"
_BARRIER = "headwater/connector/barrier"

_CALLS = f"{_EPOCH}/epoch_reader.py"
_CHECKPOINTS = f"{_BARRIER}/checkpoints.py"
_CLAIMS = f"{_EPOCH}/claims.py"
_EMITTER = f"{_EPOCH}/emitter_node.py"
_EVENTS = f"{_FETCHERS}/events.py"
_FETCHER = f"{_FETCHERS}/split_fetcher.py"
_FIRST = f"{_EPOCH}/first_reading.py"
_HANDLER = f"{_EPOCH}/barrier_handler.py"
_LOG = f"{_PARTITIONS}/segment_log.py"
_MANAGER = f"{_FETCHERS}/fetcher_manager.py"
_PIPELINED = f"{_PARTITIONS}/pipelined.py"
_POOL = f"{_PARTITIONS}/subpartition.py"
_PROGRESS = f"{_EPOCH}/progress.py"
_SHARED = f"{_EPOCH}/open_reader.py"

_ADMISSION = "headwater/connector/planned/admission.py"
_AHEAD = "headwater/enumerators/simple/planned_enumerator.py"
_DRIVER = "headwater/connector/coordination/enumerator_driver.py"
_LOOP = "headwater/connector/coordination/coordinator_loop.py"
_LOST = "headwater/enumerators/simple/lost_records.py"
_NOTES = "headwater/core/task_notes.py"
_PLANNED = "headwater/connector/planned/coordinator.py"
_SIMPLE = "headwater/enumerators/simple/enumerator.py"


class Mutant(NamedTuple):
    """A change that breaks a contract.

    Attributes:
        row: how the first cell of the row begins.
        file: the file that is changed.
        original: the fragment.
        mutated: the fragment in its place.
        test: the function that the row names, and that fails then.
    """

    row: str
    file: str
    original: str
    mutated: str
    test: str


MUTANTS = [
    Mutant(
        "`ALIGNED`",
        _HANDLER,
        "return self._overtake() if self._mode is AlignmentMode.UNALIGNED else Cut.NOTHING",
        "return self._overtake()",
        "test_aligned_emits_all_that_was_fetched_before_the_barrier_and_stores_nothing",
    ),
    Mutant(
        "`UNALIGNED`",
        _FIRST,
        "in self._overtaken.items()",
        "in ()",
        "test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_for_the_next_epoch",
    ),
    Mutant(
        "`ALIGNED` with",
        _HANDLER,
        "return self._overtake() if self.left_ms(triggered_ms) == 0 else Cut.NOTHING",
        "return Cut.NOTHING",
        "test_aligned_past_its_time_out_goes_on_as_unaligned",
    ),
    Mutant(
        "R1 ",
        _PROGRESS,
        "if split_range.split.path in self._states:",
        "if False:",
        "test_r1_a_split_that_is_given_twice_breaks_the_contract",
    ),
    Mutant(
        "R1 ",
        _PROGRESS,
        "if path not in self._states:\n            raise ContractError(",
        "if path not in self._states:\n            return None\n        if False:\n"
        "            raise ContractError(",
        "test_r1_records_of_a_split_without_state_are_an_error",
    ),
    Mutant(
        "R2 ",
        _EMITTER,
        "state_behind = SplitState(SplitRange(state.split, state.position, state.stop))",
        "state_behind = SplitState(SplitRange(state.split, None, state.stop))",
        "test_r1_r2_state_is_made_when_a_split_is_added_and_only_the_emitter_on_the_tasks_thread_sees_it",
    ),
    Mutant(
        "R3 ",
        _EMITTER,
        "return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]",
        "return batches[0]",
        "test_r3_what_an_emitter_makes_of_one_record_comes_as_one_batch",
    ),
    Mutant(
        "R4 ",
        _EMITTER,
        "            if batch.num_rows\n",
        "",
        "test_r3_r4_each_record_is_one_batch_and_one_without_rows_is_none",
    ),
    Mutant(
        "R5 ",
        _CALLS,
        "        if batch is not None:\n            yield batch\n        # After",
        "        buffer.recycle()\n        if batch is not None:\n            yield batch\n        # After",
        "test_r5_a_buffer_is_recycled_only_after_the_next_batch_is_asked_for",
    ),
    Mutant(
        "R6 ",
        _EVENTS,
        "pending.elements.append(SplitsDone(fetched.finished",
        "pending.elements.appendleft(SplitsDone(fetched.finished",
        "test_r6_a_split_finishes_after_all_its_records",
    ),
    Mutant(
        "R7 ",
        _EMITTER,
        "        state.position = position\n",
        "",
        "test_r7_a_snapshot_is_after_the_last_emitted_record_not_the_last_fetched",
    ),
    Mutant(
        "R8 ",
        _FIRST,
        "yield from self._restored.batches()",
        "yield from ()",
        "test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_for_the_next_epoch",
    ),
    Mutant(
        "R9 ",
        _CALLS,
        "self._is_failed = True",
        "self._is_failed = False",
        "test_r12_a_fetchers_error_surfaces_once_with_its_cause_and_then_there_is_no_end",
    ),
    Mutant(
        "R10 ",
        _MANAGER,
        "if threads < 1:",
        "if threads < 1 or not starts:",
        "test_r9_r10_without_splits_an_epoch_ends_at_once",
    ),
    Mutant(
        "R11 ",
        _PIPELINED,
        "is_news = len(self._elements) == 1 and not self._is_blocked",
        "is_news = not self._is_blocked",
        "test_a_consumer_is_told_only_when_there_was_nothing_before",
    ),
    Mutant(
        "R12 ",
        _MANAGER,
        'first.add_note(f"another fetcher failed too: {type(other).__name__}: {other}")',
        "del other",
        "test_later_errors_are_noted_with_the_first",
    ),
    Mutant(
        "R13 ",
        _CALLS,
        "self.metrics.rows += batch.num_rows",
        "self.metrics.rows += 2 * batch.num_rows",
        "test_r13_rows_are_counted_once",
    ),
    Mutant(
        "R15 ",
        _MANAGER,
        ">= self._most_open",
        "> 1_000 * self._most_open",
        "test_r15_the_next_split_is_begun_when_there_is_room_for_it",
    ),
    Mutant(
        "R16 ",
        _PROGRESS,
        "        self.open += 1",
        "        self.open = 1",
        "test_r16_open_splits_are_those_added_minus_those_done",
    ),
    Mutant(
        "F1 ",
        _FETCHER,
        "self._enqueue(lambda reader: self._pause_or_resume(reader, paused, resumed))",
        "self._pause_or_resume(self._open(), paused, resumed)",
        "test_f1_all_methods_of_a_reader_but_wake_up_run_on_one_thread",
    ),
    Mutant(
        "F2 ",
        _FETCHER,
        "self._tasks.popleft()(self._open())",
        "self._tasks.pop()(self._open())",
        "test_f2_tasks_run_in_their_order_and_before_fetching",
    ),
    Mutant(
        "F3 ",
        _FETCHER,
        "            self._turns.begin(path)\n            self._let_fetch(path, split_range)\n",
        "            self._let_fetch(path, split_range)\n            self._turns.begin(path)\n",
        "test_f3_ids_are_assigned_before_the_reader_hears_of_them",
    ),
    Mutant(
        "F4 ",
        _FETCHER,
        "self._pending = PendingFetch.of(fetched, served)",
        "if may_be_woken:\n            fetched.records.clear()  # type: ignore[attr-defined]\n"
        "        self._pending = PendingFetch.of(fetched, served)",
        "test_f4_nothing_is_lost_or_repeated_however_often_a_fetcher_is_woken",
    ),
    Mutant(
        "F5 ",
        _FETCHER,
        "            return bool(self._tasks)\n        self",
        "            self._pending.elements.popleft()\n            return bool(self._tasks)\n        self",
        "test_f5_what_was_fetched_survives_a_task_while_it_waits_for_room",
    ),
    Mutant(
        "F6 ",
        _FETCHER,
        "served = self._turns.turn if paths or not may_be_woken else None",
        "served = self._turns.turn",
        "test_a_wake_up_that_comes_late_takes_no_turn_from_the_next_split",
    ),
    Mutant(
        "F10 ",
        _MANAGER,
        "        if self._is_closed:\n            return\n        for thread in self._threads:\n"
        "            thread.start()",
        "        for thread in self._threads:\n            thread.start()",
        "test_f10_no_fetcher_is_started_after_closing",
    ),
    Mutant(
        "F11 ",
        _EVENTS,
        "if fetched.finished or fetched.caught_up:",
        "if pending.elements and (fetched.finished or fetched.caught_up):",
        "test_f11_a_split_with_nothing_in_it_is_reported_as_done",
    ),
    Mutant(
        "F12 ",
        _FETCHER,
        "self._pending.elements.append(SplitsDone(removed=frozenset(removed)))",
        "pass",
        "test_f12_a_removed_split_is_reported_as_done",
    ),
    Mutant(
        "F13 ",
        _FETCHER,
        "to_pause = self._turns.not_held(paused)",
        "to_pause: list[SplitPath] = []",
        "test_f13_paused_splits_give_nothing_and_resumed_ones_go_on",
    ),
    Mutant(
        "F14 ",
        _FETCHER,
        "            reader.close()",
        "            pass",
        "test_f14_a_reader_is_closed_once_on_the_fetchers_thread_also_while_paused",
    ),
    Mutant(
        "Q1 ",
        _PIPELINED,
        "if not self.pool.request(size_bytes, cancelled):",
        "if not self.pool.request(0, cancelled):",
        "test_a_pipelined_partition_makes_its_producer_wait",
    ),
    Mutant(
        "Q2 ",
        _PIPELINED,
        "if listener is not None and dropped:",
        "if False:",
        "test_release_parent",
    ),
    Mutant(
        "Source events",
        _EVENTS,
        "if events and isinstance(last, Fetched):",
        "if False:",
        "test_events_of_an_answer_belong_to_the_element_that_changes_a_split",
    ),
    Mutant(
        "Source events",
        _EMITTER,
        "        self.progress.add_events(fetched.record.events)\n",
        "",
        "test_events_go_both_ways",
    ),
    Mutant(
        "Source events",
        f"{_BARRIER}/coordinator.py",
        "    for event in settled.events:",
        "    for event in (*settled.events, *settled.events):",
        "test_events_travel_both_ways_once_each_also_over_a_restart",
    ),
    Mutant(
        "Alignment by event time",
        f"{_EPOCH}/event_time.py",
        "return span.first_ms <= least_ms or",
        "return True or",
        "test_a_young_split_waits_for_an_old_one_in_the_same_task_and_in_another",
    ),
    Mutant(
        "testReleasingReader",
        _PIPELINED,
        'Does not release the subpartition. Idempotent."""\n',
        'Does not release the subpartition. Idempotent."""\n        self._subpartition.release()\n',
        "test_releasing_reader_does_not_release_partition",
    ),
    Mutant(
        "testReleaseIsIdempotent",
        _PIPELINED,
        "            self._elements = deque()\n            self.backlog = 0\n",
        "            self.backlog = 0\n",
        "test_read_after_dispose",
    ),
    Mutant(
        "testRecycleBufferAndConsumerOnFailure",
        _SHARED,
        "            partition.release()",
        "            pass",
        "test_an_attempt_whose_disk_is_full_half_way_keeps_nothing_and_goes_on",
    ),
    Mutant(
        "testIsReleasedChecksParent",
        _PIPELINED,
        "            self._elements = deque()\n            self.backlog = 0\n",
        "            self.backlog = 0\n",
        "test_release_parent",
    ),
    Mutant(
        "testConcurrent{Fast",
        _PIPELINED,
        "element = self._elements.popleft()",
        "element = self._elements.pop()",
        "test_concurrent_produce_and_consume",
    ),
    Mutant(
        "testCleanupReleasedPartition",
        _PIPELINED,
        "                element.recycle()",
        "                pass",
        "test_cleanup_released_partition_no_view",
    ),
    Mutant(
        "testBasicPipelined",
        _PIPELINED,
        "self.backlog += isinstance(element, PartitionBuffer)",
        "self.backlog += 1",
        "test_backlog_counts_buffers_not_events",
    ),
    Mutant(
        "testBarrierOvertaking",
        _PIPELINED,
        "self._elements.appendleft(barrier)",
        "self._elements.append(barrier)",
        "test_barrier_overtaking",
    ),
    Mutant(
        "testResumeBlockedSubpartition",
        _PIPELINED,
        "self._is_blocked = isinstance(element, CheckpointBarrier)",
        "self._is_blocked = False",
        "test_nothing_is_read_behind_a_barrier",
    ),
    Mutant(
        "testCreateReaderBeforeFinished",
        _SHARED,
        "                self._partition.add(batch)\n",
        "                self._partition.add(batch)\n                self._share()\n",
        "test_rows_are_found_when_all_are_written_and_not_before",
    ),
    Mutant(
        "testRead10Consumers",
        _SHARED,
        "            number += 1",
        "            number += 2",
        "test_ten_scans_at_once_read_the_same_rows_also_while_the_file_is_deleted",
    ),
    Mutant(
        "testReleasePartitionAndGetNext",
        _SHARED,
        "yield self._rows.get_batch(number)",
        "yield self._rows.get_batch(0)",
        "test_ten_scans_at_once_read_the_same_rows_also_while_the_file_is_deleted",
    ),
    Mutant(
        "Consumers notified",
        _SHARED,
        "        self._file.rename(name)",
        "        del name",
        "test_rows_are_found_when_all_are_written_and_not_before",
    ),
    Mutant(
        "testAddOn...Partition",
        _PIPELINED,
        "self._pipelined[index].add(PartitionBuffer(payload, size_bytes, self.pool))",
        "self._pipelined[0].add(PartitionBuffer(payload, size_bytes, self.pool))",
        "test_add_on_partition",
    ),
    Mutant(
        "testBlockingPartitionIsConsumable",
        _SHARED,
        "        return rows\n\n\nclass BlockingPartition",
        "        return None\n\n\nclass BlockingPartition",
        "test_the_second_scan_reads_what_the_first_kept",
    ),
    Mutant(
        "testIsAvailableOrNot",
        _POOL,
        "if self._used_bytes >= self.budget_bytes or self._is_closed:",
        "if self._is_closed:",
        "test_a_budget_that_is_used_up_lets_nothing_in",
    ),
    Mutant(
        "Recovered state",
        _FIRST,
        "yield from self._restored.batches()",
        "yield from ()",
        "test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_for_the_next_epoch",
    ),
    Mutant(
        "RequestMoreThanAvailable",
        _POOL,
        "            self._is_closed = True",
        "            self._is_closed = False",
        "test_a_closed_pool_gives_nothing_and_takes_back",
    ),
    Mutant(
        "DestroyDuringBlockingRequest",
        _POOL,
        "if self._is_closed or cancelled():\n                    return False",
        "if self._is_closed or cancelled():\n                    return True",
        "test_a_producer_that_waits_is_woken",
    ),
    Mutant(
        "ConcurrentRequestRecycle",
        _POOL,
        "self._used_bytes -= size_bytes",
        "self._used_bytes -= size_bytes + 1",
        "test_many_threads_request_and_recycle_and_all_comes_back",
    ),
    Mutant(
        "PIPELINED_PERSISTENT",
        _LOG,
        "self._store.put_if_absent(self._name(number), data) == data",
        "bool(self._store.put_if_absent(self._name(number), data))",
        "test_taking_over_fences_the_old_attempt_and_keeps_what_it_wrote",
    ),
    Mutant(
        "Lists that change",
        f"{_PARTITIONS}/segment_view.py",
        "if record.kind == ROWS:",
        "if False:",
        "test_a_long_round_is_resumed_in_its_middle_and_its_memory_is_bounded",
    ),
    Mutant(
        "A listing that is older",
        _LOG,
        "begin = max(self.begin(), min(mark, listed[-1]))",
        "begin = min(mark, listed[-1])",
        "test_a_release_by_an_older_listing_than_the_last_one_does_not_move_the_begin_back",
    ),
    Mutant(
        "BLOCKING in use",
        _SHARED,
        "digest = hashlib.sha256(dumps(state_to_json(stored, source)).encode()).hexdigest()",
        'digest = "the same"',
        "test_rows_of_another_state_are_not_taken_for_those_that_are_asked_for",
    ),
    Mutant(
        "SingleChannelWithBarriers",
        _HANDLER,
        "        if not self._pending:\n            return self._complete",
        "        if True:\n            return self._complete",
        "test_multi_channel_with_barriers_waits_for_all",
    ),
    Mutant(
        "Single- and MultiChannelNoBarriers",
        _HANDLER,
        "return self._arrived(channel, None)",
        "return Cut.NOTHING",
        "test_all_channels_end_without_any_barrier",
    ),
    Mutant(
        "Metrics",
        _HANDLER,
        "self._metrics.start_delay_ms = now_ms - triggered_ms",
        "self._metrics.start_delay_ms = 0",
        "test_metrics_are_start_delay_and_alignment_time",
    ),
    Mutant(
        "StartAlignmentWithClosedChannels",
        _HANDLER,
        "        self._pending.discard(channel)\n",
        "        if triggered_ms is not None:\n            self._pending.discard(channel)\n",
        "test_start_alignment_with_closed_channels",
    ),
    Mutant(
        "DeduplicateChannels",
        _FETCHER,
        "            if trigger.is_end:",
        "            if False:",
        "test_the_channels_of_an_epoch_whose_splits_are_all_done_end",
    ),
    Mutant(
        "Unaligned: the first barrier",
        _PIPELINED,
        "overtaken = tuple(self._elements)",
        "overtaken: tuple[Element[T], ...] = ()",
        "test_barrier_overtaking",
    ),
    Mutant(
        "Time-out before",
        _HANDLER,
        "if self._timeout_ms is None or self._is_over:",
        "if self._timeout_ms is None:",
        "test_no_active_timeout_after_last_barrier",
    ),
    Mutant(
        "Alternation of modes",
        _FIRST,
        "self._overtaken.setdefault(fetched.path, (start, []))[1].append(batch)",
        "self._overtaken.setdefault(fetched.path, (start, []))",
        "test_unaligned_ends_at_once_and_stores_what_the_barrier_overtook_for_the_next_epoch",
    ),
    Mutant(
        "Between two turns",
        _PROGRESS,
        "            unserved=len(unserved),",
        "            unserved=0,",
        "test_an_epoch_may_end_after_one_fetch_and_what_had_no_turn_comes_first_in_the_next",
    ),
    Mutant(
        "Between two turns",
        _FETCHER,
        "        self._pending = PendingFetch.of(fetched, served)\n",
        "        self._pending = PendingFetch.of(fetched, served)\n        self._count()\n",
        "test_what_was_fetched_counts_once_it_is_in_the_channel_where_a_barrier_that_overtakes_finds_it",
    ),
    Mutant(
        "Requests in flight",
        _FIRST,
        "            yield InFlight((), None, write_batches(unanswered))",
        "            pass",
        "test_requests_in_flight_are_stored_when_a_reader_is_left_and_asked_again_first",
    ),
    Mutant(
        "Requests in flight",
        _FIRST,
        "            return self._aligning_ms()",
        "            return 0",
        "test_requests_in_flight_finish_before_an_aligned_barrier",
    ),
    Mutant(
        "Random barriers",
        _HANDLER,
        "return Cut.NOTHING if self._is_over else self._complete(Cut.OVERTAKE)",
        "return self._complete(Cut.OVERTAKE)",
        "test_an_epoch_is_cut_once_in_any_order_of_barriers_ends_and_time",
    ),
    Mutant(
        "Cycles",
        f"{_EPOCH}/dataflow.py",
        "            log.append(element.payload.split.path)",
        "            pass",
        "test_the_log_is_what_comes_round_before_the_barrier_and_nothing_can_be_taken_behind_it",
    ),
    Mutant(
        "A message is durable",
        _STAGER,
        "        fresh = self._known.first_deliveries(delivery.keys)\n",
        "        self._client.acknowledge(delivery.tokens)\n"
        "        fresh = self._known.first_deliveries(delivery.keys)\n",
        "test_nothing_is_acknowledged_before_it_is_durable",
    ),
    Mutant(
        "A second delivery",
        _STAGER,
        "            self._known.add(self._last_keys())",
        "            pass",
        "test_what_was_durable_and_not_acknowledged_comes_once_by_its_key",
    ),
    Mutant(
        "A receiver that was replaced",
        _STAGER,
        "        self.check()\n        has_staged",
        "        has_staged",
        "test_one_that_was_taken_over_while_it_connected_stages_nothing",
    ),
    Mutant(
        "TriggerAndConfirm",
        f"{_EPOCH}/task_slot.py",
        "return self.store.put_if_absent(self.manifest_name, manifest)",
        "self.store.put(self.manifest_name, manifest)\n        return manifest",
        "test_trigger_and_confirm_simple_checkpoint",
    ),
    Mutant(
        "TriggerAndDecline",
        _CLAIMS,
        "if not number or self._slot.over(number) is not None:",
        "if not number:",
        "test_trigger_and_decline_checkpoint_simple",
    ),
    Mutant(
        "SuccessfulCheckpoint",
        _CHECKPOINTS,
        "            self._store.delete_folder(self._pending.folder)",
        "            pass",
        "test_successful_checkpoint_subsumes_unsuccessful",
    ),
    Mutant(
        "CheckpointTimeoutIsolated",
        _CHECKPOINTS,
        "expired = self._clock.monotonic_ms() - began_ms >= self._timeout_ms",
        "expired = True",
        "test_a_task_that_is_still_publishing_is_waited_for",
    ),
    Mutant(
        "HandleMessagesForNonExisting",
        _CHECKPOINTS,
        "slots = [TaskSlot(self._store, epoch.folder, number) for number in range(tasks)]",
        "slots = [TaskSlot(self._store, epoch.folder, number) for number in range(7, 7 + tasks)]",
        "test_handle_messages_for_non_existing_checkpoints",
    ),
    Mutant(
        "StateCleanup",
        _CHECKPOINTS,
        "            self._store.delete_folder(epoch.folder)",
        "            pass",
        "test_state_cleanup_for_late_or_unknown_messages",
    ),
    Mutant(
        "PeriodicScheduling",
        f"{_BARRIER}/due.py",
        "return self._poll_at_ms.get(path, 0) <= self._clock.monotonic_ms()",
        "return True",
        "test_no_epoch_is_opened_while_nothing_is_due",
    ),
    Mutant(
        "ExternalizedCheckpoints",
        _CHECKPOINTS,
        "keep_from = min(epoch.number - self._retained, oldest_needed)",
        "keep_from = epoch.number - self._retained",
        "test_externalized_checkpoints",
    ),
    Mutant(
        "PartitionableState",
        f"{_BARRIER}/tasks.py",
        "return [tuple(due[number] for number in numbers) for numbers in dealt]",
        "return [tuple(due) for _ in dealt]",
        "test_partitionable_state_repartitioning",
    ),
    Mutant(
        "StatsTracker",
        _CHECKPOINTS,
        "sum(manifest.state is None for manifest in self.manifests)",
        "sum(manifest.state is not None for manifest in self.manifests)",
        "test_stats_tracker_completed_checkpoint_callback",
    ),
    Mutant(
        "a restore without",
        _CHECKPOINTS,
        "        if opened is None:\n",
        "        if opened is None:\n            return\n        if opened is None:\n",
        "test_restore_without_the_checkpoint_is_an_error",
    ),
    Mutant(
        "the whole protocol",
        _CLAIMS,
        "if self._slot.put_claim(number, self._attempt) != self._attempt:",
        "if not self._slot.put_claim(number, self._attempt):",
        "test_of_two_that_claim_between_each_others_look_and_put_one_gets_the_claim",
    ),
    Mutant(
        "the whole protocol",
        f"{_EPOCH}/read_epoch.py",
        "if decode_manifest(counts, self._source, str(slot)).state != stored:",
        "if False:",
        "test_an_attempt_that_publishes_other_positions_than_the_first_is_fenced",
    ),
    Mutant(
        "the whole protocol",
        f"{_BARRIER}/settlement.py",
        "            state.keep_restored(offset.restored[number])\n",
        "",
        "test_the_driver_names_rows_in_flight_and_found_splits_and_reads_neither",
    ),
    Mutant(
        "Task notes",
        _NOTES,
        "return self._decoded(name, self.store.put_if_absent(self._path(name), dumps(head).encode()))",
        "self.store.put_if_absent(self._path(name), dumps(head).encode())\n        return note",
        "test_of_two_readings_at_once_the_first_to_publish_counts_for_both",
    ),
    Mutant(
        "Task notes",
        _NOTES,
        "return self.find(name) or self.publish(name, _SEALED)",
        "return self.find(name) or _SEALED",
        "test_a_split_that_nobody_read_is_sealed_and_one_that_was_is_not",
    ),
    Mutant(
        "Task notes",
        _NOTES,
        'each.partition("-")[0] not in names',
        "each not in names",
        "test_only_what_is_asked_for_is_left_and_rows_that_are_gone_are_an_error",
    ),
    Mutant(
        "Task notes",
        "headwater/readers/runtime/noted_split.py",
        "note = notes.find(name) or _first_reading(source, split_range, notes, name, read)",
        "note = _first_reading(source, split_range, TaskNotes(notes.store, new_name()), name, read)",
        "test_a_replay_after_a_kill_serves_the_rows_of_the_killed_reading",
    ),
    Mutant(
        "Task notes",
        _PLANNED,
        "lambda enumerator: enumerator.handle_task_notes(notes) if notes else None,",
        "lambda enumerator: None,",
        "test_a_split_that_the_sink_never_read_is_sealed_and_told_as_none",
    ),
    Mutant(
        "The state location of a query in planned",
        "headwater/connector/planned/task_notes.py",
        "        if self._store is None:\n            raise",
        "        if False:\n            raise",
        "test_a_checkpoint_with_notes_needs_its_state_location",
    ),
    Mutant(
        "The state location of a query in planned",
        _NOTES,
        "            if data is None:\n                raise",
        "            if data is None:\n                continue\n                raise",
        "test_rows_that_are_gone_are_an_error_and_not_read_anew",
    ),
    Mutant(
        "Bounded and unbounded",
        _ADMISSION,
        "if path in heads and self._source.is_bounded(split):",
        "if path in heads and self._source.bounded_splits:",
        "test_beside_splits_that_are_read_whole_the_others_end_an_available_now_run",
    ),
    Mutant(
        "Bounded and unbounded",
        _ADMISSION,
        "return bool(splits) and all(map(source.is_bounded, splits.values()))",
        "return bool(splits) and any(map(source.is_bounded, splits.values()))",
        "test_limits_cut_a_batch_only_where_not_all_of_its_splits_are_read_whole",
    ),
    Mutant(
        "The enumerator's worker",
        _LOOP,
        "self._coordinator.submit(lambda: self._handle(handler, answer))",
        "self._handle(handler, answer)",
        "test_calls_and_handlers_run_on_their_threads",
    ),
    Mutant(
        "The enumerator's worker",
        _LOOP,
        "            self._failure = self._failure or failure\n",
        "            self._failure = self._failure\n",
        "test_an_error_of_a_call_or_a_handler_reaches_the_waiting_thread_once",
    ),
    Mutant(
        "The enumerator's worker",
        _LOOP,
        "            self._pending += 1\n",
        "            pass\n",
        "test_waiting_includes_what_handlers_start",
    ),
    Mutant(
        "The enumerator's worker",
        _LOOP,
        "self.retries += next(attempts) > 0",
        "self.retries += next(attempts) >= 0",
        "test_only_calls_that_are_made_again_count_as_retries",
    ),
    Mutant(
        "The enumerator's worker",
        _LOOP,
        "        self._closing.set()\n",
        "",
        "test_close_ends_a_retry_and_runs_the_last_call_on_the_coordinator_thread",
    ),
    Mutant(
        "The split assignment tracker",
        _DRIVER,
        "for key, splits in self._planned if key != committed for split in splits",
        "for key, splits in self._planned for split in splits",
        "test_a_plan_that_was_not_logged_is_given_back_before_the_next_look",
    ),
    Mutant(
        "The split assignment tracker",
        _DRIVER,
        "if committed != self._notified:",
        "if checkpoint is not None:",
        "test_a_checkpoint_is_notified_once_and_before_the_next_look",
    ),
    Mutant(
        "Gauges",
        _ADMISSION,
        "gauges[LAG_TIME] if is_behind else 0",
        "gauges[LAG_TIME]",
        "test_gauges_of_any_source_are_reported_and_its_lag_is_over_where_a_batch_leaves_nothing",
    ),
    Mutant(
        "Gauges",
        _ADMISSION,
        "        **checked_gauges(gauges),\n",
        "        **gauges,\n",
        "test_an_enumerator_has_no_gauges_but_those_that_are_declared",
    ),
    Mutant(
        "`Forgets`",
        _LOST,
        "            if self._is_gone(begins, first):\n                starts[path] = first\n",
        "            if self._is_gone(begins, first):\n                pass\n",
        "test_what_was_dropped_unread_is_counted_and_the_query_goes_on_behind_it",
    ),
    Mutant(
        "`Forgets`",
        _LOST,
        "        if _count(position) > _count(head):\n            return",
        "        if False:\n            return",
        "test_a_log_that_ends_before_the_position_of_a_query_is_a_loss",
    ),
    Mutant(
        "`Retires`",
        _SIMPLE,
        "            path: kept_splits[path].position\n            if path in kept_splits",
        "            path: kept_splits[path].position\n            if False and path in kept_splits",
        "test_goes_on_at_its_position_when_it_is_back",
    ),
    Mutant(
        "`Retires`",
        _SIMPLE,
        "if source.retire(logged[path]):",
        "if not source.retire(logged[path]):",
        "test_is_forgotten_if_the_source_says_that_it_is_gone_for_good",
    ),
    Mutant(
        "`Retires`",
        _SIMPLE,
        "            vanished = discovery.retired\n",
        "            pass\n",
        "test_in_barrier_mode_the_source_says_whether_an_unread_split_is_gone",
    ),
    Mutant(
        "`ReadsAhead`",
        _AHEAD,
        "end = source.position_after(split, begin, rows, head) if rows else begin",
        "end = head",
        "test_a_batch_has_no_more_rows_than_the_limit_and_all_come_once",
    ),
    Mutant(
        "`ReadsAhead`",
        _AHEAD,
        "heads = self._ends() if request.ends else self._seen.heads",
        "heads = self._seen.heads",
        "test_a_run_that_ends_reads_no_further_than_to_where_the_splits_ended_when_it_began",
    ),
    Mutant(
        "`ReadsAhead`",
        _AHEAD,
        "if count_of(position) is None or isinstance(position, list) is not ahead:",
        "if count_of(position) is None:",
        "test_positions_of_another_form_break_the_contract",
    ),
    Mutant(
        "`OrdersSplits`",
        _SIMPLE,
        "unread = {*begins, *(checkpoint.splits if checkpoint else ())}",
        "unread = set(checkpoint.splits if checkpoint else ())",
        "test_splits_that_follow_others_begin_when_these_have_ended_and_those_not_to_be_read_never",
    ),
    Mutant(
        "`OrdersSplits`",
        _SIMPLE,
        "                if not isinstance(position, Finished)\n",
        "",
        "test_splits_that_follow_others_begin_when_these_have_ended_and_those_not_to_be_read_never",
    ),
]
"""Rows without a meaning on Spark have none."""
