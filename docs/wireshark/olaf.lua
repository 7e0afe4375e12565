-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark dissector for Olaf's wire protocol: version 1, and 2 of a job's messages (docs/protocol.md).
--
--   wireshark -X lua_script:olaf.lua capture.pcapng
--   or copy it into the folder "Personal Lua Plugins" of Help > About > Folders
--
-- Datagrams of UDP port 6523 that begin with the magic number; "Decode As" takes other ports.

local olaf = Proto("olaf", "Olaf model updates")

local MAGIC, VERSION, ROUNDS_VERSION, HEADER, LANE = 0x01AF, 1, 2, 48, 8
local UPDATE, ACK, CONTROL, CONTRIBUTION, RESULT = 1, 2, 3, 4, 5
local STALE, ANSWER, ABOVE, MISFIT = 0x0040, 0x1000, 0x2000, 0x8000
local JOIN, SYNC, SETH = 1, 2, 4
local WAIT, OTHER = 1, 6
local F32X2 = 3
local EVERY_WORKER, EVERY_RANK = 0xffffffff, 0xffff

local types = { [UPDATE] = "UPDATE", [ACK] = "ACK", [CONTROL] = "CONTROL",
  [CONTRIBUTION] = "CONTRIBUTION", [RESULT] = "RESULT" }
local formats = { [0] = "i32x2", [1] = "i16x4", [2] = "i64x1", [F32X2] = "f32x2" }
local actions = { [JOIN] = "join", [SYNC] = "sync", [3] = "leave", [SETH] = "seth", [5] = "fbcast", [6] = "halt",
  [7] = "resume", [8] = "reset" }
local contents = { [0] = "not told", [1] = "int32", [2] = "int64", [3] = "float32, sum", [4] = "float32, mean",
  [5] = "float32 with exponents, sum", [6] = "float32 with exponents, mean" }
local statuses = { [0] = "done", [WAIT] = "wait", [2] = "old", [3] = "gone", [4] = "refused",
  [5] = "over", [OTHER] = "another run has the job", [7] = "another version" }

local f = {
  magic = ProtoField.uint16("olaf.magic", "Magic", base.HEX),
  version = ProtoField.uint8("olaf.version", "Version"),
  type = ProtoField.uint8("olaf.type", "Type", base.DEC, types),
  flags = ProtoField.uint16("olaf.flags", "Flags", base.HEX),
  checksum = ProtoField.bool("olaf.flags.checksum", "Checksum lane", 16, nil, 0x0001),
  aggregated = ProtoField.bool("olaf.flags.aggregated", "Aggregated", 16, nil, 0x0002),
  stamped = ProtoField.bool("olaf.flags.stamped", "Stamped", 16, nil, 0x0004),
  congested = ProtoField.bool("olaf.flags.congested", "Congested", 16, nil, 0x0008),
  partial = ProtoField.bool("olaf.flags.partial", "Partial", 16, nil, 0x0010),
  late = ProtoField.bool("olaf.flags.late", "Late", 16, nil, 0x0020),
  stale = ProtoField.bool("olaf.flags.stale", "Stale", 16, nil, STALE),
  flush = ProtoField.bool("olaf.flags.flush", "Flush", 16, nil, 0x0080),
  answer = ProtoField.bool("olaf.flags.answer", "Answer", 16, nil, ANSWER),
  spoilt = ProtoField.bool("olaf.flags.spoilt", "Spoilt", 16, nil, 0x4000),
  misfit = ProtoField.bool("olaf.flags.misfit", "Misfit", 16, nil, MISFIT),
  anew = ProtoField.bool("olaf.flags.anew", "Begins anew", 16, nil, 0x0010),
  above = ProtoField.bool("olaf.flags.above", "Of a node above", 16, nil, ABOVE),
  format = ProtoField.uint16("olaf.format", "Element format", base.DEC, formats, 0x0f00),
  lanes = ProtoField.uint16("olaf.lanes", "Lanes"),
  cluster = ProtoField.uint32("olaf.cluster", "Cluster"),
  worker = ProtoField.uint32("olaf.worker", "Worker"),
  rank = ProtoField.uint16("olaf.rank", "Rank"),
  workers = ProtoField.uint16("olaf.workers", "Workers of the whole job"),
  content = ProtoField.uint16("olaf.content", "Content", base.DEC, contents, 0xe000),
  last = ProtoField.uint16("olaf.last", "Elements of the last piece", base.DEC, nil, 0x1fff),
  added = ProtoField.uint16("olaf.added", "Workers' contributions"),
  other_vector = ProtoField.uint64("olaf.other_vector", "Identity of the other vector", base.HEX),
  sequence = ProtoField.uint32("olaf.sequence", "Sequence"),
  count = ProtoField.uint32("olaf.count", "Updates folded in"),
  active_clusters = ProtoField.uint16("olaf.active_clusters", "Active clusters N"),
  action = ProtoField.uint32("olaf.action", "Action", base.DEC, actions),
  generated = ProtoField.absolute_time("olaf.generated", "Generated (TAI)", base.UTC),
  generated_ns = ProtoField.uint64("olaf.generated_ns", "Generated, ns of CLOCK_TAI"),
  reward = ProtoField.double("olaf.reward", "Reward, sum"),
  mean_reward = ProtoField.double("olaf.mean_reward", "Reward, mean"),
  queue_capacity = ProtoField.uint32("olaf.queue_capacity", "Queue capacity Qmax"),
  queue_length = ProtoField.uint32("olaf.queue_length", "Queue length Qn"),
  model_version = ProtoField.uint32("olaf.model_version", "Model version"),
  segment = ProtoField.uint16("olaf.segment", "Segment"),
  segments = ProtoField.uint16("olaf.segments", "Segments"),
  chunk = ProtoField.uint32("olaf.chunk", "Chunk"),
  chunks = ProtoField.uint32("olaf.chunks", "Chunks"),
  missing = ProtoField.uint32("olaf.missing", "Members that haven't asked"),
  there = ProtoField.uint32("olaf.there", "Members of the other run that are there"),
  threshold = ProtoField.uint32("olaf.threshold", "Contributions that complete a chunk"),
  job_lanes = ProtoField.uint16("olaf.job_lanes", "Lanes of the job's contributions"),
  job_shape = ProtoField.uint16("olaf.job_shape", "Format and CHECKSUM of the job", base.HEX),
  job_checksum = ProtoField.bool("olaf.job_shape.checksum", "Checksum lane", 16, nil, 0x0001),
  job_format = ProtoField.uint16("olaf.job_shape.format", "Element format", base.DEC, formats, 0x0f00),
  generation = ProtoField.uint32("olaf.generation", "Generation"),
  named = ProtoField.uint32("olaf.named", "Generation that was named"),
  exponent = ProtoField.int16("olaf.exponent", "Exponent"),
  status = ProtoField.uint16("olaf.status", "Status", base.DEC, statuses),
  pool = ProtoField.uint8("olaf.pool", "Chunks under way, as a power of two"),
  check = ProtoField.uint8("olaf.check", "Header check", base.HEX),
  payload = ProtoField.bytes("olaf.payload", "Lanes"),
  incarnation = ProtoField.uint64("olaf.incarnation", "Incarnation", base.HEX),
  session = ProtoField.uint64("olaf.session", "Session", base.HEX),
  training = ProtoField.uint64("olaf.training", "Training", base.HEX),
  run_number = ProtoField.uint64("olaf.run_number", "Number of the run"),
  padding = ProtoField.bytes("olaf.padding", "Padding"),
  lane = ProtoField.string("olaf.lane", "Lane"),
  checksum_lane = ProtoField.uint64("olaf.checksum_lane", "Checksum lane", base.HEX),
  checksum_status = ProtoField.string("olaf.checksum_status", "Checksum status"),
}
olaf.fields = f

local e = {
  version = ProtoExpert.new("olaf.expert.version", "Unknown version", expert.group.PROTOCOL,
    expert.severity.ERROR),
  type = ProtoExpert.new("olaf.expert.type", "Unknown message type", expert.group.PROTOCOL,
    expert.severity.ERROR),
  length = ProtoExpert.new("olaf.expert.length", "Length isn't 8 + 48 + 8 x lanes",
    expert.group.MALFORMED, expert.severity.ERROR),
  format = ProtoExpert.new("olaf.expert.format", "No format for an update",
    expert.group.PROTOCOL, expert.severity.ERROR),
  count = ProtoExpert.new("olaf.expert.count", "No update folded in", expert.group.PROTOCOL,
    expert.severity.ERROR),
  chunk = ProtoExpert.new("olaf.expert.chunk", "Chunk isn't below chunks",
    expert.group.PROTOCOL, expert.severity.ERROR),
  segment = ProtoExpert.new("olaf.expert.segment", "Segment isn't below segments",
    expert.group.PROTOCOL, expert.severity.ERROR),
  check = ProtoExpert.new("olaf.expert.check", "Header check is wrong: a bit was flipped",
    expert.group.CHECKSUM, expert.severity.ERROR),
  checksum = ProtoExpert.new("olaf.expert.checksum", "Checksum lane is wrong",
    expert.group.CHECKSUM, expert.severity.ERROR),
}

olaf.experts = e

olaf.prefs.max_lanes = Pref.uint("Lanes shown in the tree", 64, "0: none")

-- Elements of a lane, low one first: sign-extend it, take it off, shift (docs/protocol.md).
local function unpack_lane(lane, width)
  local elements = {}
  for _ = 1, 64 / width do
    local low = lane:lshift(64 - width):arshift(64 - width)
    elements[#elements + 1] = tostring(low)
    lane = (lane - low):rshift(width)
  end
  return table.concat(elements, ", ")
end

local function lane_text(range, format)
  if format == F32X2 then
    return string.format("%g, %g", range(0, 4):le_float(), range(4, 4):le_float())
  end
  local width = ({ [0] = 32, [1] = 16, [2] = 64 })[format]
  if not width then
    return tostring(range:bytes())
  end
  return unpack_lane(range:le_int64(), width)
end

-- Sum of (2i + 1) * lane_i mod 2^64.
local function lane_sum(payload, lanes)
  local sum = UInt64(0, 0)
  for i = 0, lanes - 1 do
    sum = sum + payload(LANE * i, LANE):le_uint64() * UInt64(2 * i + 1, 0)
  end
  return sum
end

local flags_of = {
  [UPDATE] = { f.checksum, f.aggregated, f.format },
  [ACK] = { f.checksum, f.stamped, f.congested, f.format },
  [CONTROL] = { f.answer, f.above, f.anew },
  [CONTRIBUTION] = { f.checksum, f.partial, f.flush, f.spoilt, f.misfit, f.format },
  [RESULT] = { f.checksum, f.partial, f.late, f.stale, f.misfit, f.format },
}

local function add_flags(tree, range, flags, kind)
  local node = tree:add(f.flags, range)
  for _, flag in ipairs(flags_of[kind] or {}) do
    node:add(flag, range)
  end
  return bit.band(flags, 0x0001) ~= 0, bit.rshift(bit.band(flags, 0x0f00), 8)
end

local function add_lanes(tree, payload, lanes, format, has_checksum)
  local data = has_checksum and lanes - 1 or lanes
  local node = tree:add(f.payload, payload)
  node:set_text(string.format("Lanes: %d of %s%s", data, formats[format] or "an unknown format",
    has_checksum and ", and a checksum" or ""))
  for i = 0, math.min(data, olaf.prefs.max_lanes) - 1 do
    local range = payload(LANE * i, LANE)
    node:add(f.lane, range, lane_text(range, format)):prepend_text(string.format("[%d] ", i))
  end
  if not has_checksum or lanes == 0 then
    return
  end
  local range = payload(LANE * data, LANE)
  local item = node:add_le(f.checksum_lane, range)
  local expected = lane_sum(payload, data)
  local good = range:le_uint64() == expected
  node:add(f.checksum_status, range, good and "Good" or "Bad"):set_generated()
  if not good then
    item:append_text(" [wrong, should be 0x" .. expected:tohex() .. "]")
    item:add_proto_expert_info(e.checksum)
  end
end

-- SYNC and JOIN have four lanes. Further ones make the message as long as a contribution, and mean nothing.
local function add_session(tree, buffer, lanes)
  local action, said = buffer(20, 4):uint(), 0
  if (action == SYNC or action == JOIN) and lanes >= 4 then
    tree:add_le(f.incarnation, buffer(HEADER, LANE))
    tree:add_le(f.session, buffer(HEADER + LANE, LANE))
    tree:add_le(f.training, buffer(HEADER + 2 * LANE, LANE))
    tree:add_le(f.run_number, buffer(HEADER + 3 * LANE, LANE))
    said = 4
  end
  if lanes > said then
    tree:add(f.padding, buffer(HEADER + LANE * said))
  end
end

local function add_update(tree, buffer, format)
  local count = buffer(20, 4):uint()
  local item = tree:add(f.count, buffer(20, 4))
  if count == 0 then
    item:add_proto_expert_info(e.count)
  end
  if not formats[format] or format == F32X2 then
    tree:add_proto_expert_info(e.format)
  end
  local reward = buffer(32, 8):int64():tonumber() / 65536
  tree:add(f.reward, buffer(32, 8), reward)
  if count > 0 then
    tree:add(f.mean_reward, buffer(32, 8), reward / count):set_generated()
  end
  return count > 1 and string.format(", %d folded", count) or ""
end

local function add_ack(tree, buffer, flags)
  tree:add(f.active_clusters, buffer(20, 2))
  tree:add(f.queue_capacity, buffer(32, 4))
  tree:add(f.queue_length, buffer(36, 4))
  if bit.band(flags, 0x0004) == 0 then
    return ""
  end
  return string.format(", N %d, queue %d of %d", buffer(20, 2):uint(), buffer(36, 4):uint(),
    buffer(32, 4):uint())
end

-- Of a job's CONTROL, what is at offset 36, and the status.
local function add_order(tree, buffer, flags, worker_item)
  tree:add(f.chunk, buffer(32, 4))
  tree:add(f.generation, buffer(40, 4))
  tree:add(f.pool, buffer(46, 1))
  if bit.band(flags, ANSWER) == 0 then
    if buffer(20, 4):uint() == SETH then
      tree:add(f.threshold, buffer(36, 4))
      return string.format(", %d complete a chunk", buffer(36, 4):uint())
    end
    return string.format(", chunk %d", buffer(32, 4):uint())
  end
  local status = buffer(44, 2):uint()
  tree:add(f.status, buffer(44, 2))
  if status == WAIT then
    tree:add(f.missing, buffer(36, 4))
    if buffer(20, 4):uint() == SYNC then
      worker_item:append_text(bit.band(flags, ABOVE) ~= 0 and
        " (hasn't asked; a rank of a node above)" or " (hasn't asked)")
    end
  elseif status == OTHER then
    tree:add(f.there, buffer(36, 4))
  else
    tree:add(f.job_lanes, buffer(36, 2))
    local shape = tree:add(f.job_shape, buffer(38, 2))
    shape:add(f.job_checksum, buffer(38, 2))
    shape:add(f.job_format, buffer(38, 2))
  end
  return string.format(", chunk %d: %s", buffer(32, 4):uint(), statuses[status] or "unknown status")
end

-- CONTRIBUTION and RESULT (docs/rounds.md).
local function add_round(tree, buffer, kind, flags)
  local stale = kind == RESULT and bit.band(flags, STALE) ~= 0
  local chunk, chunks = buffer(32, 4):uint(), buffer(36, 4):uint()
  local item = tree:add(f.chunk, buffer(32, 4))
  tree:add(f.chunks, buffer(36, 4))
  tree:add(f.generation, buffer(40, 4))
  tree:add(f.pool, buffer(46, 1))
  if stale then
    tree:add(f.named, buffer(20, 4))
  else
    tree:add(f.workers, buffer(12, 2))
    tree:add(f.content, buffer(20, 2))
    tree:add(f.last, buffer(20, 2))
    tree:add(f.added, buffer(22, 2))
  end
  tree:add(f.exponent, buffer(44, 2))
  if chunk >= chunks then
    item:add_proto_expert_info(e.chunk)
  end
  return string.format(", chunk %d of %d%s", chunk, chunks, stale and ", stale" or "")
end

-- A queue's messages: of a model, or a segment of it.
local function add_segment(tree, buffer, kind)
  tree:add(f.model_version, buffer(40, 4))
  local item = tree:add(f.segment, buffer(44, 2))
  tree:add(f.segments, buffer(46, 2))
  if kind == UPDATE and buffer(44, 2):uint() >= buffer(46, 2):uint() then
    item:add_proto_expert_info(e.segment)
  end
end

-- What the type has besides what all have. Returns what the line of the packet says of it.
local function add_rest(tree, buffer, kind, flags, worker_item)
  local format = bit.rshift(bit.band(flags, 0x0f00), 8)
  if kind == CONTRIBUTION or kind == RESULT then
    return add_round(tree, buffer, kind, flags)
  end
  if kind == CONTROL then
    local said = ", " .. (actions[buffer(20, 4):uint()] or "unknown action")
    tree:add(f.action, buffer(20, 4))
    if buffer(2, 1):uint() == ROUNDS_VERSION then
      return said .. add_order(tree, buffer, flags, worker_item)
    end
    add_segment(tree, buffer, kind)
    return said
  end
  local said = kind == UPDATE and add_update(tree, buffer, format) or add_ack(tree, buffer, flags)
  add_segment(tree, buffer, kind)
  return said
end

-- Is it the version that messages of this type have? A CONTROL message is a cluster's or a job's.
local function is_version_of(kind, version)
  return version == VERSION and kind <= CONTROL or version == ROUNDS_VERSION and kind >= CONTROL
end

-- XOR of the header's bytes, those of even words of 8 bytes turned left by 3 bits: 0 if no bit was flipped.
local function parity(buffer)
  local sum = 0
  for at = 0, HEADER - 1 do
    local byte = buffer(at, 1):uint()
    if math.floor(at / 8) % 2 == 0 then
      byte = bit.band(bit.bor(bit.lshift(byte, 3), bit.rshift(byte, 5)), 0xff)
    end
    sum = bit.bxor(sum, byte)
  end
  return sum
end

function olaf.dissector(buffer, pinfo, root)
  if buffer:len() < 8 or buffer(0, 2):uint() ~= MAGIC then
    return 0
  end
  pinfo.cols.protocol = "OLAF"
  local tree = root:add(olaf, buffer())
  tree:add(f.magic, buffer(0, 2))
  local version = tree:add(f.version, buffer(2, 1))
  local kind = buffer(3, 1):uint()
  if types[kind] and not is_version_of(kind, buffer(2, 1):uint()) then
    version:add_proto_expert_info(e.version)
    return buffer:len()
  end
  local name = types[kind] or string.format("type %d", kind)
  pinfo.cols.info = name
  tree:append_text(", " .. name)
  local kind_item = tree:add(f.type, buffer(3, 1))
  local flags = buffer(4, 2):uint()
  local has_checksum, format = add_flags(tree, buffer(4, 2), flags, kind)
  local lanes = buffer(6, 2):uint()
  local lanes_item = tree:add(f.lanes, buffer(6, 2))
  if not types[kind] then
    kind_item:add_proto_expert_info(e.type)
    return buffer:len()
  end
  -- The message as it was sent: a capture may hold less of it.
  if buffer:reported_len() ~= HEADER + LANE * lanes then
    lanes_item:add_proto_expert_info(e.length)
    return buffer:len()
  end
  if buffer:len() < HEADER then
    return buffer:len()
  end

  local of_job = buffer(2, 1):uint() == ROUNDS_VERSION
  local cluster, worker = buffer(8, 4):uint(), buffer(12, 4):uint()
  local every = of_job and EVERY_RANK or EVERY_WORKER
  tree:add(f.cluster, buffer(8, 4))
  local worker_item
  if of_job then
    worker = buffer(14, 2):uint()
    worker_item = tree:add(f.rank, buffer(14, 2))
  else
    worker_item = tree:add(f.worker, buffer(12, 4))
  end
  if worker == every and (kind == ACK or kind == RESULT) then
    worker_item:append_text(kind == ACK and " (every worker of the cluster)" or " (every child)")
  end
  tree:add(f.sequence, buffer(16, 4))
  if of_job and kind ~= CONTROL and bit.band(flags, MISFIT) ~= 0 then
    tree:add(f.other_vector, buffer(24, 8))
  else
    tree:add(f.generated_ns, buffer(24, 8))
    local generated = buffer(24, 8):uint64()
    tree:add(f.generated, buffer(24, 8), NSTime((generated / 1000000000):tonumber(),
      (generated % 1000000000):tonumber())):set_generated()
  end
  if of_job then
    local check = tree:add(f.check, buffer(47, 1))
    if parity(buffer) ~= 0 then
      check:add_proto_expert_info(e.check)
    end
  end
  local more = add_rest(tree, buffer, kind, flags, worker_item)
  pinfo.cols.info = string.format("%s cluster %d worker %s sequence %d, %d lanes%s", name, cluster,
    worker == every and "*" or tostring(worker), buffer(16, 4):uint(), lanes, more)
  if lanes > 0 and buffer:len() == HEADER + LANE * lanes then
    if kind == CONTROL then
      add_session(tree, buffer, lanes)
    else
      add_lanes(tree, buffer(HEADER), lanes, format, has_checksum)
    end
  end
  return buffer:len()
end

DissectorTable.get("udp.port"):add(6523, olaf)
