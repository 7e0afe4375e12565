// SPDX-License-Identifier: BSD-2-Clause
// Judges headers: none of our business, malformed (and by which reason of protocol.md), or an update. In the
// order in which bpf/packet/parse.bpf.h judges. Two stages: headers, then the checksums of IPv4 and UDP, whose
// sums come a cycle later.
//
// One cycle's configuration judges all of a frame. Its verdict may wait for its decision while another one is
// committed, so it keeps whether the queue was on: a frame that came to a queue that was off still passes.
module olaf_verdict (
    input logic clk,
    input logic rst,
    input olaf::config_t cfg,
    input logic found_valid,
    input olaf::headers_t found,
    input logic [31:0] sum,       // of olaf_sum, in the cycle behind `found`
    output logic valid,
    output olaf::verdict_t verdict
);

  // ---- fields ----
  logic [15:0] total, udp_bytes, lanes, flags, room, l4, l3;
  logic [7:0] kind_of;
  logic [15:0] header_bytes;
  assign l3 = 16'd14 + {12'd0, found.tags, 2'b00};
  assign l4 = 16'd34 + {10'd0, found.words, 2'b00};
  assign total = olaf::swap16(found.ip[8*2+:16]);
  assign header_bytes = {10'd0, found.ip[3:0], 2'b00};
  assign room = total - header_bytes;
  assign udp_bytes = olaf::swap16(found.udp[8*4+:16]);
  assign kind_of = found.message[8*3+:8];
  assign flags = olaf::swap16(found.message[8*4+:16]);
  assign lanes = olaf::swap16(found.message[8*6+:16]);

  olaf::record_t update;
  logic [31:0] slot;
  // Of an update that isn't refused this is below the number of slots: commits see to that.
  assign slot = {16'd0, olaf::swap16(found.message[8*10+:16])} * {16'd0, cfg.max_segments} +
      {16'd0, olaf::swap16(found.message[8*44+:16])};
  olaf::fit_t fit;
  always_comb begin
    update.pending.worker = olaf::swap32(found.message[8*12+:32]);
    update.pending.sequence_number = olaf::swap32(found.message[8*16+:32]);
    update.pending.count = olaf::swap32(found.message[8*20+:32]);
    update.pending.generated = olaf::swap64(found.message[8*24+:64]);
    update.pending.reward = olaf::swap64(found.message[8*32+:64]);
    update.pending.model_version = olaf::swap32(found.message[8*40+:32]);
    update.pending.segments = olaf::swap16(found.message[8*46+:16]);
    update.around.header = found.header;
    update.around.words = found.words;
    update.around.sum = (({4'd0, found.ip[8*12+:16]} + {4'd0, found.ip[8*14+:16]}) +
        ({4'd0, found.ip[8*16+:16]} + {4'd0, found.ip[8*18+:16]})) +
        (({4'd0, found.udp[8*0+:16]} + {4'd0, found.udp[8*2+:16]}) +
        ({3'd0, found.udp[8*4+:16], 1'b0} + {4'd0, 16'h1100}));  // its length twice; its protocol
    update.around.user = found.user;
    update.around.serialisation = '0;
    update.slot = slot[11:0];
    update.cluster = olaf::swap32(found.message[8*8+:32]);
    update.segment = olaf::swap16(found.message[8*44+:16]);
    update.lanes = lanes;
    update.format = flags[9:8];
    update.checksum = flags[0];
    fit.dmac = found.header[47:0];
    fit.tag0 = found.tags == 2'd0 ? 32'd0 : found.header[8*12+:32];
    fit.tag1 = found.tags == 2'd2 ? found.header[8*16+:32] : 32'd0;
    fit.tags = found.tags;
    fit.daddr = found.ip[8*16+:32];
    fit.lanes = lanes;
    fit.format = flags[9:8];
    fit.checksum = flags[0];
  end

  // ---- is it a message of ours? ----
  logic datagram, ours, own;
  assign datagram = found.is_ipv4 && !found.too_long && found.frame_bytes >= l3 + 16'd20 &&
      found.ip[7:4] == 4'd4 && found.ip[3:0] >= 4'd5 && total >= header_bytes &&
      found.ip[8*9+:8] == 8'd17 && (olaf::swap16(found.ip[8*6+:16]) & 16'h3fff) == 16'd0;
  assign ours = datagram && found.frame_bytes >= l4 + 16'd10 &&
      olaf::swap16(found.udp[8*2+:16]) == cfg.port &&
      olaf::swap16(found.message[15:0]) == olaf::MAGIC;
  assign own = found.ip[8*16+:32] == cfg.own[31:0] || found.ip[8*16+:32] == cfg.own[63:32] ||
      found.ip[8*16+:32] == cfg.own[95:64] || found.ip[8*16+:32] == cfg.own[127:96];

  // ---- the first stage ----
  olaf::kind_t kind;
  logic [3:0] reason;
  logic unsummed;
  logic [19:0] message_bytes;
  logic [7:0] version;
  logic [16:0] ends_at;
  assign version = found.message[8*2+:8];
  assign message_bytes = {1'b0, lanes, 3'd0} + 20'd56;
  assign ends_at = {1'b0, l4} + {1'b0, udp_bytes};

  always_comb begin
    kind = olaf::KIND_MALFORMED;
    reason = '0;
    if (!ours) begin
      kind = olaf::KIND_PASS;
      reason = olaf_registers::BYPASS_OTHER;
    end else if (udp_bytes < 16'd56) reason = olaf_registers::MALFORMED_LENGTH;
    else if (found.frame_bytes < l4 + 16'd56) reason = olaf_registers::MALFORMED_TRUNCATED;
    else if (version != olaf::VERSION && version != olaf::ROUNDS_VERSION)
      reason = olaf_registers::MALFORMED_VERSION;
    else if (kind_of < olaf::TYPE_UPDATE || kind_of > olaf::TYPE_RESULT)
      reason = olaf_registers::MALFORMED_TYPE;
    // A CONTROL message is a cluster's or a job's.
    else if (version == olaf::VERSION ? kind_of > olaf::TYPE_CONTROL : kind_of < olaf::TYPE_CONTROL)
      reason = olaf_registers::MALFORMED_VERSION;
    else if (kind_of == olaf::TYPE_CONTRIBUTION || kind_of == olaf::TYPE_RESULT) begin
      kind = olaf::KIND_PASS;
      reason = olaf_registers::BYPASS_JOB;
    end else if (kind_of == olaf::TYPE_ACK || kind_of == olaf::TYPE_CONTROL) begin
      kind = olaf::KIND_PASS;
      reason = olaf_registers::BYPASS_OTHER;
    end else if ({4'd0, udp_bytes} != message_bytes) reason = olaf_registers::MALFORMED_LENGTH;
    else if (room < udp_bytes || {1'b0, found.frame_bytes} < ends_at)
      reason = olaf_registers::MALFORMED_TRUNCATED;
    else if (room != udp_bytes) reason = olaf_registers::MALFORMED_LENGTH;
    else if (lanes < (flags[0] ? 16'd2 : 16'd1)) reason = olaf_registers::MALFORMED_LANES;
    else if (flags[11:8] > 4'd2) reason = olaf_registers::MALFORMED_FORMAT;
    else if (update.pending.count == 32'd0) reason = olaf_registers::MALFORMED_COUNT;
    else if (update.segment >= update.pending.segments)
      reason = olaf_registers::MALFORMED_SEGMENT;
    else kind = olaf::KIND_UPDATE;
  end
  // An update whose lengths agree: the next thing to be looked at is its IPv4 checksum, in the second stage.
  logic whole;
  assign whole = ours && udp_bytes >= 16'd56 && found.frame_bytes >= l4 + 16'd56 &&
      version == olaf::VERSION && kind_of == olaf::TYPE_UPDATE &&
      {4'd0, udp_bytes} == message_bytes && room == udp_bytes && {1'b0, found.frame_bytes} >= ends_at;
  // A wrong sum is looked at where nobody after us could find the damage; never where there is none.
  assign unsummed = (flags[0] && !cfg.verify) || lanes > cfg.max_lanes || found.udp[63:48] == 16'd0;

  // ---- times on the link ----
  logic [55:0] departing_ns, passing_ns;
  logic [15:0] departing_bytes;
  logic [16:0] out_bytes;  // what the output's MTU counts: a second tag, and IP
  assign out_bytes = {1'b0, total} + (found.tags == 2'd2 ? 17'd4 : 17'd0);
  assign departing_bytes = l4 + udp_bytes;
  assign departing_ns = {40'd0, departing_bytes + cfg.frame_overhead} * {16'd0, cfg.ns_per_byte_q24};
  assign passing_ns = {40'd0, found.frame_bytes + cfg.frame_overhead} * {16'd0, cfg.ns_per_byte_q24};

  // ---- the second stage ----
  logic second_valid, second_unsummed, second_whole, foreign;
  logic [59:0] ip_sums;
  logic ip_wrong;
  olaf::verdict_t second;
  logic [31:0] pseudo;

  always_ff @(posedge clk) begin
    second_valid <= !rst && found_valid;
    second.enabled <= cfg.enable;
    second.kind <= kind;
    second.reason <= reason;
    second.bad_cluster <= update.cluster >= {16'd0, cfg.max_clusters};
    second.bad_segment <= update.pending.segments > cfg.max_segments;
    second.bad_size <= lanes > cfg.max_lanes || (cfg.mtu != 16'd0 && out_bytes > {1'b0, cfg.mtu});
    second.frame_bytes <= found.frame_bytes;
    second.departing_bytes <= departing_bytes;
    second.passing <= passing_ns[53:24];
    second.fit <= fit;
    second.update <= update;
    second.update.around.serialisation <= departing_ns[53:24];
    second_unsummed <= unsummed;
    second_whole <= whole;
    ip_sums <= found.ip_sums;
    foreign <= cfg.own_only && !own;
    pseudo <= {16'd0, found.ip[8*12+:16]} + {16'd0, found.ip[8*14+:16]} +
        {16'd0, found.ip[8*16+:16]} + {16'd0, found.ip[8*18+:16]} + 32'h1100 +
        {16'd0, found.udp[8*4+:16]};
  end

  assign ip_wrong = olaf::fold_sum({12'd0, ip_sums[19:0]} + {12'd0, ip_sums[39:20]} + {12'd0, ip_sums[59:40]}) !=
      16'hffff;
  always_comb begin
    verdict = second;
    valid = second_valid;
    if (second_whole && ip_wrong) begin
      verdict.kind = olaf::KIND_MALFORMED;
      verdict.reason = olaf_registers::MALFORMED_IP_CHECKSUM;
    end else if (second.kind == olaf::KIND_UPDATE) begin
      if (!second_unsummed && olaf::fold_sum(pseudo + sum) != 16'hffff) begin
        verdict.kind = olaf::KIND_MALFORMED;
        verdict.reason = olaf_registers::MALFORMED_UDP_CHECKSUM;
      end else if (foreign) begin
        verdict.kind = olaf::KIND_PASS;
        verdict.reason = olaf_registers::BYPASS_FOREIGN;
      end
    end
  end
endmodule
