// SPDX-License-Identifier: BSD-2-Clause
// Is it an ACK of this queue's server, and what does it become (bpf/ack/ack_stamp.bpf.h)? Stage 1: is it an
// ACK, and whose cluster's? 2: is it from where that cluster's newest update went; products. 3: which queue is
// the more congested. 4: the message and its checksum as they leave. A verdict for every frame, in order.
module olaf_stamp #(
    parameter int CLUSTERS = 128
) (
    input logic clk,
    input logic rst,
    input olaf::config_t cfg,
    input logic found_valid,
    input olaf::headers_t found,
    input logic heard,              // an update of this cluster was received, for this address
    input logic [15:0] heard_cluster,
    input logic [31:0] heard_at,
    input logic [15:0] active,
    input logic [7:0] queue_length,
    output logic sampled,           // the state of the queue was looked at, in this cycle
    output logic is_foreign,
    output logic valid,
    output logic stamped,
    output logic kept,
    output logic changes,
    output logic [3:0] words,
    output logic [447:0] changed    // UDP and the message's header
);
  localparam int INDEX = $clog2(CLUSTERS);
  // ---- whom clusters send to ----
  (* ram_style = "distributed" *) logic [31:0] servers[0:CLUSTERS-1];
  logic [CLUSTERS-1:0] known;
  always_ff @(posedge clk) begin
    if (heard) servers[heard_cluster[INDEX-1:0]] <= heard_at;
    if (rst) known <= '0;
    else if (heard) known[heard_cluster[INDEX-1:0]] <= 1'b1;
  end

  // ---- 1 ----
  logic [15:0] l3, l4, total, header_bytes, udp_bytes, lanes;
  logic is_ack;
  assign l3 = 16'd14 + {12'd0, found.tags, 2'b00};
  assign l4 = 16'd34 + {10'd0, found.words, 2'b00};
  assign total = olaf::swap16(found.ip[8*2+:16]);
  assign header_bytes = {10'd0, found.ip[3:0], 2'b00};
  assign udp_bytes = olaf::swap16(found.udp[8*4+:16]);
  assign lanes = olaf::swap16(found.message[8*6+:16]);
  assign is_ack = cfg.enable && found.is_ipv4 && !found.too_long &&
      found.frame_bytes >= l3 + 16'd20 && found.ip[7:4] == 4'd4 && found.ip[3:0] >= 4'd5 &&
      total >= header_bytes && found.ip[8*9+:8] == 8'd17 &&
      (olaf::swap16(found.ip[8*6+:16]) & 16'h3fff) == 16'd0 &&
      found.frame_bytes >= l4 + 16'd56 && olaf::swap16(found.udp[15:0]) == cfg.port &&
      olaf::swap16(found.message[15:0]) == olaf::MAGIC &&
      found.message[8*2+:8] == olaf::VERSION && found.message[8*3+:8] == olaf::TYPE_ACK &&
      lanes <= 16'd1152 && {4'd0, udp_bytes} == {1'b0, lanes, 3'd0} + 20'd56 &&
      total - header_bytes == udp_bytes &&
      {1'b0, found.frame_bytes} >= {1'b0, l4} + {1'b0, udp_bytes};

  logic one_valid, one_ack;
  logic [31:0] cluster, from;
  logic [447:0] one;
  logic [3:0] one_words;
  always_ff @(posedge clk) begin
    one_valid <= !rst && found_valid;
    one_ack <= is_ack;
    cluster <= olaf::swap32(found.message[8*8+:32]);
    from <= found.ip[8*12+:32];
    one <= {found.message, found.udp};
    one_words <= found.words;
  end

  // ---- 2: the stamp that it came with, and products that compare N / Qmax and Qn / Qmax ----
  logic one_ours;
  assign one_ours = cluster < 32'(CLUSTERS) && known[cluster[INDEX-1:0]] &&
      servers[cluster[INDEX-1:0]] == from;
  assign sampled = one_valid && one_ack;
  assign is_foreign = sampled && !one_ours;

  logic two_valid, two_ours, two_has, two_none;
  logic [447:0] two;
  logic [3:0] two_words;
  logic [15:0] their_active, two_active;
  logic [7:0] two_length;
  logic [31:0] their_capacity, their_length;
  logic [47:0] our_load, their_load, our_fill, their_fill;
  assign their_active = olaf::swap16(one[64+8*20+:16]);
  assign their_capacity = olaf::swap32(one[64+8*32+:32]);
  assign their_length = olaf::swap32(one[64+8*36+:32]);
  always_ff @(posedge clk) begin
    two_valid <= !rst && one_valid;
    two_ours <= one_ack && one_ours;
    two_has <= one[64+8*5+2];  // STAMPED, in the flags' low byte
    two_none <= their_capacity == 32'd0;
    two <= one;
    two_words <= one_words;
    two_active <= active;
    two_length <= queue_length;
    our_load <= {32'd0, active} * {16'd0, their_capacity};
    their_load <= {32'd0, their_active} * {40'd0, cfg.queue_capacity};
    our_fill <= {40'd0, queue_length} * {16'd0, their_capacity};
    their_fill <= {16'd0, their_length} * {40'd0, cfg.queue_capacity};
  end

  // ---- 3 ----
  logic three_valid, three_ours, stands;
  logic [447:0] three, three_new;
  logic [3:0] three_words;
  logic more_congested;
  assign more_congested = two_none || our_load > their_load ||
      (our_load == their_load && our_fill > their_fill);
  logic [7:0] flags_low;
  assign flags_low = (two[64+8*5+:8] & 8'hf7) | 8'h04 |
      (two_active > {8'd0, cfg.queue_capacity} ? 8'h08 : 8'h00);
  always_ff @(posedge clk) begin
    three_valid <= !rst && two_valid;
    three_ours <= two_ours;
    stands <= two_has && !more_congested;
    three <= two;
    three_words <= two_words;
    three_new <= two;
    three_new[64+8*5+:8] <= flags_low;
    three_new[64+8*20+:32] <= {16'd0, olaf::swap16(two_active)};
    three_new[64+8*32+:32] <= olaf::swap32({24'd0, cfg.queue_capacity});
    three_new[64+8*36+:32] <= olaf::swap32({24'd0, two_length});
  end

  // ---- 4: the checksum, by the difference; one of 0 stays (RFC 1624) ----
  function automatic logic [31:0] word_of(input logic [447:0] bytes, input int at);
    word_of = {16'd0, bytes[64+8*at+:16]};
  endfunction
  logic [31:0] difference;
  logic [15:0] corrected;
  always_comb begin
    difference = {16'd0, ~three[63:48]} +
        (word_of(three_new, 4) + {16'd0, ~three[64+8*4+:16]}) +
        (word_of(three_new, 20) + {16'd0, ~three[64+8*20+:16]}) +
        (word_of(three_new, 22) + {16'd0, ~three[64+8*22+:16]}) +
        (word_of(three_new, 32) + {16'd0, ~three[64+8*32+:16]}) +
        (word_of(three_new, 34) + {16'd0, ~three[64+8*34+:16]}) +
        (word_of(three_new, 36) + {16'd0, ~three[64+8*36+:16]}) +
        (word_of(three_new, 38) + {16'd0, ~three[64+8*38+:16]});
    corrected = ~olaf::fold_sum(difference);
  end
  always_ff @(posedge clk) begin
    valid <= !rst && three_valid;
    stamped <= !rst && three_valid && three_ours && !stands;
    kept <= !rst && three_valid && three_ours && stands;
    changes <= three_ours && !stands;
    words <= three_words;
    changed <= three_new;
    if (three[63:48] == 16'd0) changed[63:48] <= 16'd0;
    else changed[63:48] <= corrected == 16'd0 ? 16'hffff : corrected;
  end
endmodule
