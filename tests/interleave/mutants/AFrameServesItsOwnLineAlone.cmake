# SPDX-License-Identifier: BSD-2-Clause
# A frame looks at its own CPU's line only: what another's frames completed waits for them.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario ACompletionJoinsItsCpusLineWhileTheOtherIsServed)
set(from [==[
		if (found == OLAF_LINE_EMPTY && ++passed == olaf_cfg.round_lines)
			return 0;
]==])
set(to [==[
		if (found == OLAF_LINE_EMPTY)
			return 0;
]==])
