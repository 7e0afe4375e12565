# SPDX-License-Identifier: BSD-2-Clause
# Faults of the queue and of jobs, one each, that the scenario which each names must find. Included by CMakeLists.txt.
#
#   olaf_mutant(NAME SAYS FILE file PROGRAMS program... SCENARIO scenario FROM text TO text)
#       In FILE, the one place where FROM stands gets TO. PROGRAMS are those that the fault is in; the
#       others are the sound ones.

olaf_mutant(AFrameForAllIsTakenFromAnyPosition
  "Who finds that another frame has moved the head past a result for all takes it all the same."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoFramesForAllLeaveAtOnce
  FROM [==[
	if (!olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position))
		return 0;
	delivery->rank = OLAF_EVERY_WORKER;
	if (olaf_round_is_for_group(job, job_index, buffer))
		return olaf_owed_forget(buffer);
]==]
  TO [==[
	olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position);
	delivery->rank = OLAF_EVERY_WORKER;
	if (olaf_round_is_for_group(job, job_index, buffer)) {
		olaf_owed_forget(buffer);
		return job->setup.children;
	}
]==])

olaf_mutant(AFrameForAllLacksAMember
  "One frame for all, though it says to one of them what is not so."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoContributeWhereOneIsEnough
  FROM [==[
	if (!job->setup.group_family ||
	    (!(buffer->flags & OLAF_FLAG_LATE) && olaf_round_lacks(job, buffer)))
		return 0;
]==]
  TO [==[
	if (!job->setup.group_family)
		return 0;
]==])

olaf_mutant(AFrameForAllLeavesTheLineInTwoSteps
  "The head is looked at and then moved: it may be written back to where it was."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoFramesForAllLeaveAtOnce
  FROM [==[
	return __sync_val_compare_and_swap(&line->head, position, position + 1) == position;
]==]
  TO [==[
	if (READ_ONCE(line->head) != position)
		return 0;
	WRITE_ONCE(line->head, position + 1);
	return 1;
]==])

olaf_mutant(AFrameForAllTakesNobody
  "Who is owed the result stays so when it has left."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoFramesForAllLeaveAtOnce
  FROM [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return olaf_owed_forget(buffer);
]==]
  TO [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return job->setup.children;
]==])

olaf_mutant(ARunIsJudgedBeforeTheLockAlone
  "Two later runs find the earliest one there: the one that writes last has the job, even if it is the earlier."
  FILE bpf/rounds/run.bpf.h PROGRAMS rounds SCENARIO TwoLaterRunsAskAtOnce
  FROM [==[
	if (!olaf_run_is(&job->tenancy.run, has))
		return OLAF_ADMISSION_LATER;
]==]
  TO [==[
]==])

olaf_mutant(AQuestionCountsInWhicheverRun
  "A question of the run that has just lost the job counts among those of the later one."
  FILE bpf/rounds/control.bpf.h PROGRAMS rounds SCENARIO ALaterRunBeginsWhileTheEarlierAsks
  FROM [==[
	if (!olaf_run_is(&job->tenancy.run, &m->run)) {
		olaf_job_unlock(job); /* it lost the job just now: its next question is told so */
		return OLAF_SYNC_LEAVE;
	}
]==]
  TO [==[
]==])

olaf_mutant(AFrameServesItsOwnLineAlone
  "A frame looks at its own CPU's line only: what another's frames completed waits for them."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO ACompletionJoinsItsCpusLineWhileTheOtherIsServed
  FROM [==[
			if (++passed == olaf_cfg.round_lines)
				return 0;
			break;
]==]
  TO [==[
			return 0;
]==])

olaf_mutant(AJoiningWritesWhereOldRoundsRead
  "The set that old rounds have is written while a chunk of theirs is completed."
  FILE bpf/rounds/control.bpf.h PROGRAMS rounds SCENARIO AJoinMeetsTheEndOfAnOldChunk
  FROM [==[
		WRITE_ONCE(membership->joining, joining >> 32 << 32 | (first - OLAF_LONG_AGO));
]==]
  TO [==[
]==])

olaf_mutant(AMemberIsOutBeforeItsSumsArePartial
  "A swapped order: a chunk is completed without who joins anew, and isn't PARTIAL."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO AMemberJoinsAnewWhileItsChunkIsCompleted
  FROM [==[
	olaf_membership_unsettle(job, flags);
	olaf_release_as(&membership->away, 1);
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
]==]
  TO [==[
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
	olaf_release_as(&membership->away, 1);
	olaf_membership_unsettle(job, flags);
]==])

olaf_mutant(AResultThatIsNotForAllAnyMoreIsLost
  "Who takes a frame for all from the line finds that it can't be one, and leaves it at that."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO AJoinIsOverWhileAFrameForAllLeaves
  FROM [==[
	if (olaf_owes(buffer))
		olaf_line_rejoin(job_index, delivery->buffer & ~OLAF_LINE_GROUP);
]==]
  TO [==[
]==])

olaf_mutant(ARoundBeginsWithoutTheLock
  "A round begins while a joining looks for the first that hasn't begun."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO AJoinMeetsTheFirstChunkOfARound
  FROM [==[
	if (!job || !olaf_job_lock(job))
		return -1;
	olaf_membership_opened(job, round);
	olaf_job_unlock(job);
	return 0;
]==]
  TO [==[
	if (!job)
		return -1;
	olaf_membership_opened(job, round);
	return 0;
]==])

olaf_mutant(AggregateNamesTheNewGeneration
  "What was gathered in one generation is sent up as of whatever generation the parent has by then."
  FILE bpf/rounds/headers.bpf.h PROGRAMS rounds SCENARIO AllBeginAnewWhileAnAggregateLeaves
  FROM [==[
	return READ_ONCE(job->generation) == generation ? parents : 0;
]==]
  TO [==[
	return generation ? parents : 0;
]==])

olaf_mutant(AnAckEndsAFlightTwice
  "A check outside the lock: was the flight released meanwhile?"
  FILE bpf/ack/ack_window.bpf.h PROGRAMS egress SCENARIO TwoAcksOfOneSlot
  FROM [==[
	if (search->position - window->oldest < window->next - window->oldest &&
	    flight->state == OLAF_FLIGHT_OPEN) {
]==]
  TO [==[
	if (search->position - window->oldest < window->next - window->oldest) {
]==])

olaf_mutant(BufferIsFreedByThePop
  "A swapped order: the buffer is free before its copy is done."
  FILE bpf/depart/departure.bpf.h PROGRAMS ingress drain SCENARIO AFoldMeetsAPop
  FROM [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_LEAVING;
]==]
  TO [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_FREE;
]==])

olaf_mutant(BufferIsNeverFreed
  "A missing release: a slot departs once and never again."
  FILE bpf/depart/departure.bpf.h PROGRAMS ingress drain SCENARIO TwoDeparturesOfOneSlot
  FROM [==[
	if (slot)
		olaf_release(&slot->buffers[olaf_buffer_of(claim->entry)]);
]==]
  TO [==[
	(void)slot;
]==])

olaf_mutant(CopyIsReadWithoutItsLock
  "A clone is written from a slot whose lock was given back."
  FILE bpf/rounds/clones.bpf.h PROGRAMS rounds copies SCENARIO ACopyMeetsABufferThatGivesWay
  FROM [==[
	written = olaf_copy_write(skb, job_index, partial, &slot->buffer[delivery.buffer & 1], &delivery,
]==]
  TO [==[
	olaf_unlock(&slot->lock);
	written = olaf_copy_write(skb, job_index, partial, &slot->buffer[delivery.buffer & 1], &delivery,
]==])

olaf_mutant(DeliveryIsOfWhateverTheBufferHolds
  "Who has found a result in line sends the buffer's lanes, though another chunk is gathered there by now."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO ARiderMeetsABufferThatGivesWay
  FROM [==[
	if (buffer->state != OLAF_ROUND_DONE)
		return 0;
	if (buffer->generation != READ_ONCE(job->generation)) {
		olaf_round_free(buffer, job_index);
		return 0;
	}
	if (delivery->buffer & OLAF_LINE_GROUP)
		return olaf_delivery_take_all(job, job_index, buffer, delivery);
	delivery->rank = olaf_owed_take(buffer);
	if (!olaf_owes(buffer))
		olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position);
	return delivery->rank != OLAF_NO_RANK;
]==]
  TO [==[
	delivery->rank = olaf_owed_take(buffer);
	if (!olaf_owes(buffer))
		olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position);
	if (delivery->rank == OLAF_NO_RANK)
		delivery->rank = 0;
	return 1;
]==])

olaf_mutant(DeliveryIsReadWithoutItsLock
  "The slot's lock is given back before its lanes are in the frame."
  FILE bpf/rounds/frames.bpf.h PROGRAMS rounds SCENARIO ARiderMeetsABufferThatGivesWay
  FROM [==[
	taken = olaf_delivery_take(job, job_index, buffer, delivery);
]==]
  TO [==[
	taken = olaf_delivery_take(job, job_index, buffer, delivery);
	olaf_unlock(&slot->lock);
]==])

olaf_mutant(DuplicateIsJudgedBeforeTheLock
  "Whether the rank has contributed already is looked up before the slot's lock is had."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO AContributionComesTwiceAtOnce
  FROM [==[
	struct olaf_child *child;

	if (!olaf_ranks_has(&buffer->in, t->m->rank))
		return 0;
]==]
  TO [==[
	struct olaf_child *child;
	struct olaf_ranks in;
	int i;

	for (i = 0; i < OLAF_RANK_WORDS; i++)
		in.word[i] = READ_ONCE(buffer->in.word[i]);
	olaf_unlock(&t->slot->lock);
	if (!olaf_lock(&t->slot->lock) || !olaf_ranks_has(&in, t->m->rank))
		return 0;
]==])

olaf_mutant(EpochIsCountedWithoutItsLock
  "A lock is not taken."
  FILE bpf/slots/activity.bpf.h PROGRAMS ingress SCENARIO FirstUpdatesOfAnEpoch
  FROM [==[
	if (!counted || !active || !window || !olaf_lock(&active->lock))
]==]
  TO [==[
	if (!counted || !active || !window)
]==])

olaf_mutant(FullnessIsDecidedBeforeTheLock
  "A check outside the lock: is there a place left?"
  FILE bpf/order/places.bpf.h PROGRAMS ingress SCENARIO TwoArrivalsWantTheLastPlace
  FROM [==[
	if (!olaf_lock(&ring->lock))
		return OLAF_NO_ENTRY;
	tail = ring->tail;
	place = olaf_place_at(tail);
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity ||
]==]
  TO [==[
	__u32 full = READ_ONCE(ring->tail) - READ_ONCE(ring->head) >=
		     olaf_cfg.queue_capacity;

	if (!olaf_lock(&ring->lock))
		return OLAF_NO_ENTRY;
	tail = ring->tail;
	place = olaf_place_at(tail);
	if (!place || full ||
]==])

olaf_mutant(HaltIsLookedUpTwice
  "A job that is resumed between two looks tells a member that its chunk is over."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO AHaltMeetsAContribution
  FROM [==[
		return olaf_meet_closed(ctx, t, runs && halted);
]==]
  TO [==[
		return olaf_meet_closed(ctx, t, runs && READ_ONCE(t->job->halted));
]==])

olaf_mutant(HeadAdvancesAfterTheLock
  "A swapped order: the lock is given back before the head has moved."
  FILE bpf/order/places.bpf.h PROGRAMS ingress drain SCENARIO ARiderAndTheDrainWantOneHead
  FROM [==[
		ring->head = position + 1;
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
]==]
  TO [==[
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
	if (popped)
		WRITE_ONCE(ring->head, position + 1);
]==])

olaf_mutant(HeadIsMovedFromWhereverItIs
  "Who sees that nobody is owed the head's result moves the head on, wherever that is by then."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO ACompletionMeetsADelivery
  FROM [==[
	return __sync_val_compare_and_swap(&line->head, position, position + 1) == position;
]==]
  TO [==[
	return (int)__sync_fetch_and_add(&line->head, 1) + 1;
]==])

olaf_mutant(HoldsAreIgnored
  "The token ends although an arrival that popped may still append."
  FILE bpf/drain.bpf.c PROGRAMS drain SCENARIO ARiderThatAppendsMeetsTheTokensEnd
  FROM [==[
		if (ring->head == ring->tail && !ring->holds) {
]==]
  TO [==[
		if (ring->head == ring->tail) {
]==])

olaf_mutant(MembersAreReadOnce
  "Who reads a round's members doesn't look again whether the set is still the round's."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO AJoinMeetsTheEndOfAnOldChunk
  FROM [==[
	if (olaf_membership_of(job, round) == set)
		return;
]==]
  TO [==[
	return;
]==])

olaf_mutant(MeterIgnoresADepartureThatLeaves
  "A passage is metered while a departure of its slot writes the meter."
  FILE bpf/age/aom.bpf.h PROGRAMS ingress SCENARIO APassageMeetsADeparture
  FROM [==[
	if (olaf_slot_is_leaving(slot) || READ_ONCE(slot->lock) ||
	    __sync_lock_test_and_set(&slot->lock, 1))
		return 0;
	if (!olaf_slot_is_leaving(slot)) {
]==]
  TO [==[
	if (READ_ONCE(slot->lock) || __sync_lock_test_and_set(&slot->lock, 1))
		return 0;
	{
]==])

olaf_mutant(NewestIsNotedOnce
  "Whoever comes second doesn't look again: its contribution may be older than one that isn't noted."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO OneChildsChunksOnTwoCpus
  FROM [==[
#define OLAF_NEWEST_LOOKS 16
]==]
  TO [==[
#define OLAF_NEWEST_LOOKS 1
]==])

olaf_mutant(NumberAndRoundOfAJoiningAreReadApart
  "Who is in a round is told by the number of one joining and the first round of another."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO AJoinMeetsTheEndOfAnOldChunk
  FROM [==[
	return ((__u32)(joining >> 32) - (olaf_is_before(round, (__u32)joining) ? 1 : 0)) & 1;
]==]
  TO [==[
	return ((__u32)(READ_ONCE(job->membership.joining) >> 32) -
		(olaf_is_before(round, (__u32)joining) ? 1 : 0)) & 1;
]==])

olaf_mutant(OneLineHasTheOthersPlaces
  "Two lines share their places: a result that joins one takes another's place in the other."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO ACompletionJoinsItsCpusLineWhileTheOtherIsServed
  FROM [==[
	__u32 index = OLAF_LINE_PLACES * (number * olaf_cfg.round_slots + job->setup.first_slot) +
		      (position & (OLAF_LINE_PLACES * job->setup.slots - 1));
]==]
  TO [==[
	__u32 index = OLAF_LINE_PLACES * job->setup.first_slot +
		      (position & (OLAF_LINE_PLACES * job->setup.slots - 1));
]==])

olaf_mutant(OpenIsReadBeforeTheLock
  "A check outside the lock: which buffer may an arrival fold into?"
  FILE bpf/slots/admit.bpf.h PROGRAMS ingress SCENARIO AFoldMeetsAPop
  FROM [==[
	if (!olaf_lock(&slot->lock)) {
		if (olaf_is_damaged(ctx, a))
			return;
		olaf_trouble_contended(a->update.count, a->now);
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_CONTENDED);
		return;
	}
	first = olaf_buffer_is_open(slot, 0);
]==]
  TO [==[
	first = olaf_buffer_is_open(slot, 0);
	if (!olaf_lock(&slot->lock)) {
		if (olaf_is_damaged(ctx, a))
			return;
		olaf_trouble_contended(a->update.count, a->now);
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_CONTENDED);
		return;
	}
]==])

olaf_mutant(OverdueTokenKeepsItsGeneration
  "A token is replaced, and the old one isn't told from it."
  FILE bpf/order/ring.bpf.h PROGRAMS ingress SCENARIO AnOverdueTokenComesBack
  FROM [==[
	if (++ring->drain_generation == OLAF_PROOF)
]==]
  TO [==[
	if (ring->drain_generation == OLAF_KICK)
]==])

olaf_mutant(OwedBitIsTakenBeforeTheLock
  "Whom a result is for next is looked up before the slot's lock is had: two frames may take one delivery."
  FILE bpf/rounds/frames.bpf.h PROGRAMS rounds SCENARIO TwoFramesWantOneDelivery
  FROM [==[
	if (!slot || !olaf_lock(&slot->lock))
		return OLAF_SPOILT;
	buffer = &slot->buffer[index & 1];
	taken = olaf_delivery_take(job, job_index, buffer, delivery);
]==]
  TO [==[
	if (!slot)
		return OLAF_SPOILT;
	buffer = &slot->buffer[index & 1];
	taken = olaf_delivery_take(job, job_index, buffer, delivery);
	if (!olaf_lock(&slot->lock))
		return OLAF_SPOILT;
]==])

olaf_mutant(ParentsResultIsJudgedBeforeTheLock
  "Whether a result is of this generation is looked up before the slot's lock is had."
  FILE bpf/rounds/down.bpf.h PROGRAMS rounds SCENARIO AllBeginAnewWhileAResultComes
  FROM [==[
	if (!t.slot || !olaf_lock(&t.slot->lock))
		return OLAF_ROUND_RIDE;
	if (olaf_down_is_current(&t)) {
]==]
  TO [==[
	int current = olaf_down_is_current(&t);

	if (!t.slot || !olaf_lock(&t.slot->lock))
		return OLAF_ROUND_RIDE;
	if (current) {
]==])

olaf_mutant(ParentsResultIsOfTheNextGeneration
  "A job that stops has its next generation a moment before it has stopped, and takes a result into it."
  FILE bpf/rounds/down.bpf.h PROGRAMS rounds SCENARIO AllBeginAnewWhileAResultComes
  FROM [==[
	if (which >= OLAF_ROUND_BUFFERS || !olaf_down_may_open(t, generation))
]==]
  TO [==[
	if (which >= OLAF_ROUND_BUFFERS)
]==])

olaf_mutant(PlaceIsTakenWhileItLeaves
  "A place is taken whose departure is still being copied out."
  FILE bpf/order/places.bpf.h PROGRAMS ingress SCENARIO ThePlaceOfASlowDepartureComesRound
  FROM [==[
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity ||
	    place->state != OLAF_PLACE_FREE)
]==]
  TO [==[
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity)
]==])

olaf_mutant(PopTrustsWhatItSawBefore
  "A check outside the lock: what was the head when it was looked at is popped."
  FILE bpf/order/places.bpf.h PROGRAMS ingress drain SCENARIO ARiderAndTheDrainWantOneHead
  FROM [==[
	popped = ring->head == position && ring->head != ring->tail &&
		 place->state == OLAF_PLACE_WAITING && place->slot == slot &&
]==]
  TO [==[
	popped = ring->head != ring->tail && place->slot == slot &&
]==])

olaf_mutant(PoppedEntryStaysOpen
  "A departing entry isn't closed: arrivals fold into it while it is copied out."
  FILE bpf/depart/departure.bpf.h PROGRAMS ingress drain SCENARIO AFoldMeetsAPop
  FROM [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_LEAVING;
]==]
  TO [==[
		(void)0;
]==])

olaf_mutant(RemovedJobSaysThatAChunkIsOver
  "Who contributes while the job is being removed is told that its chunk is over."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO ARemovalMeetsAContribution
  FROM [==[
	return !halted && READ_ONCE(t->job->state) != OLAF_JOB_NONE ? olaf_answer_stale(ctx, t) :
								      OLAF_ROUND_RIDE;
]==]
  TO [==[
	return !halted ? olaf_answer_stale(ctx, t) : OLAF_ROUND_RIDE;
]==])

olaf_mutant(RemovedJobTakesItsLastQuestion
  "The last member that asks starts a job that was removed meanwhile."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO ARemovalMeetsTheLastThatAsks
  FROM [==[
	if (job->state != OLAF_JOB_NONE)
		return 1;
	olaf_unlock(&job->lock);
	return 0;
]==]
  TO [==[
	return 1;
]==])

olaf_mutant(ResultJoinsTheLineBeforeItIsOwed
  "A swapped order: who looks at the line in between passes the result by."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoResultsJoinTheLine
  FROM [==[
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		WRITE_ONCE(buffer->owed.word[i], members.word[i]);
	olaf_line_join(job, buffer_index);
]==]
  TO [==[
	olaf_line_join(job, buffer_index);
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		WRITE_ONCE(buffer->owed.word[i], members.word[i]);
]==])

olaf_mutant(ResultNamesTheJobsGeneration
  "A result says that it is of the generation that the job has, not of the one that it has itself."
  FILE bpf/rounds/headers.bpf.h PROGRAMS rounds copies SCENARIO AResetMeetsADelivery
  FROM [==[
		      bpf_htonl(buffer->generation) | (__u64)bpf_htons(buffer->exponent) << 32 |
]==]
  TO [==[
		      bpf_htonl(READ_ONCE(job->generation)) | (__u64)bpf_htons(buffer->exponent) << 32 |
]==])

olaf_mutant(RingLockIsKeptByAPassage
  "A missing release: who passes by the queue keeps the ring's lock."
  FILE bpf/order/due.bpf.h PROGRAMS ingress SCENARIO APassageMeetsADeparture
  FROM [==[
	olaf_unlock(&ring->lock);
	return passes;
]==]
  TO [==[
	return passes;
]==])

olaf_mutant(SlotIsMetWithoutItsLock
  "A contribution meets its slot whether or not it has the lock."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO TwoContributionsCompleteAChunk
  FROM [==[
	act = olaf_meet(ctx, &t);
	olaf_unlock(&t.slot->lock);
]==]
  TO [==[
	olaf_unlock(&t.slot->lock);
	act = olaf_meet(ctx, &t);
]==])

olaf_mutant(SlotLockIsKeptByAVainPop
  "A missing release: who comes too late for the head keeps its slot's lock."
  FILE bpf/depart/departure.bpf.h PROGRAMS ingress drain SCENARIO ARiderAndTheDrainWantOneHead
  FROM [==[
		claim->got |= OLAF_GOT_DEPARTURE;
	}
	olaf_unlock(&slot->lock);
]==]
  TO [==[
		claim->got |= OLAF_GOT_DEPARTURE;
		olaf_unlock(&slot->lock);
	}
]==])

olaf_mutant(StopIsSeenBeforeItsGeneration
  "A swapped order: who contributes while the job is being stopped is told that its chunk is over."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO AChildAsksAnewWhileAnotherContributes
  FROM [==[
	WRITE_ONCE(job->generation, generation ? generation : 1);
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
]==]
  TO [==[
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
	WRITE_ONCE(job->generation, generation ? generation : 1);
]==])

olaf_mutant(TailIsMovedWithoutItsLock
  "Two results that join the line at once take one place."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO TwoResultsJoinTheLine
  FROM [==[
	place = olaf_line_place(job, number, line->tail);
]==]
  TO [==[
	olaf_unlock(&line->lock);
	place = olaf_line_place(job, number, line->tail);
]==])

olaf_mutant(TokenEndsOutsideTheLock
  "The token ends by what was seen before the lock was taken."
  FILE bpf/drain.bpf.c PROGRAMS drain SCENARIO TheLastDepartureMeetsALaunch
  FROM [==[
	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->drain_generation == generation) {
		if (ring->head == ring->tail && !ring->holds) {
]==]
  TO [==[
	int idle = !olaf_ring_waits(ring) && !READ_ONCE(ring->holds);

	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->drain_generation == generation) {
		if (idle) {
]==])

olaf_mutant(TwoDeparturesOfASlotAtOnce
  "Two departures of one slot at a time."
  FILE bpf/depart/departure.bpf.h PROGRAMS ingress drain SCENARIO TwoDeparturesOfOneSlot
  FROM [==[
	popped = entry && !olaf_slot_is_leaving(slot) &&
]==]
  TO [==[
	popped = entry &&
]==])

olaf_mutant(WhoAsksTakesPartOfAFrameForAll
  "Who is answered alone is taken from those that the frame for all is counted for."
  FILE bpf/rounds/deliveries.bpf.h PROGRAMS rounds copies SCENARIO ARepetitionMeetsTheFrameForAll
  FROM [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return 0;
]==]
  TO [==[
]==])

olaf_mutant(WhoHasJoinedOpensChunks
  "Who holds no results opens a chunk, and one that others need is over."
  FILE bpf/rounds/table.bpf.h PROGRAMS rounds SCENARIO WhoHasJoinedSendsWhileOthersAreBehind
  FROM [==[
which < OLAF_ROUND_BUFFERS && !olaf_is_joining(t->job, t->m->rank)]==]
  TO [==[
which < OLAF_ROUND_BUFFERS]==])

olaf_mutant(WhoLeavesIsWaitedForInOldRounds
  "Who leaves is out of new rounds only."
  FILE bpf/rounds/jobs.bpf.h PROGRAMS rounds SCENARIO ALeaveMeetsTheLastContribution
  FROM [==[
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
]==]
  TO [==[
	olaf_absent_put(job, olaf_membership_now(job), rank, 1);
]==])

olaf_mutant(DamageIsTakenOutTooLate
  "A damaged update's lanes are subtracted outside the lock: a departure takes them along."
  FILE bpf/slots/fold.bpf.h PROGRAMS ingress SCENARIO ADamagedFoldMeetsAPop
  FROM [==[
	if (!olaf_sum_is_wrong(ctx, a, sum))
		return 0;
	olaf_unfold(ctx, index);
]==]
  TO [==[
	struct olaf_slot *slot = olaf_slot_at(a->update.slot);

	if (!slot || !olaf_sum_is_wrong(ctx, a, sum))
		return 0;
	olaf_unlock(&slot->lock);
	olaf_unfold(ctx, index);
	olaf_lock(&slot->lock);
]==])

olaf_mutant(WindowIsAskedBeforeTheLock
  "A check outside the lock: is the window open?"
  FILE bpf/order/due.bpf.h PROGRAMS ingress drain SCENARIO AnAckMeetsATick
  FROM [==[
	return now >= ring->next_departure_ns && olaf_window_opens(now);
]==]
  TO [==[
	return now >= ring->next_departure_ns;
]==])
