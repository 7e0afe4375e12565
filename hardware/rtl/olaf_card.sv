// SPDX-License-Identifier: BSD-2-Clause
// AXI4-Lite, and what it configures (docs/registers.md). A write needs its address and its data at once; one
// access at a time, a write before a read. After a reset it prepares rules and counters, and takes none.
module olaf_card #(
    parameter int PLACES = 8,
    parameter int CLUSTERS = 128,
    parameter int SLOTS = 128,
    parameter int LANES = 1152,
    parameter int NS_PER_CYCLE = 4
) (
    input logic clk,
    input logic rst,
    input logic awvalid,
    output logic awready,
    input logic [19:0] awaddr,
    input logic wvalid,
    output logic wready,
    input logic [31:0] wdata,
    output logic bvalid,
    input logic bready,
    output logic [1:0] bresp,
    input logic arvalid,
    output logic arready,
    input logic [19:0] araddr,
    output logic rvalid,
    input logic rready,
    output logic [31:0] rdata,
    output logic [1:0] rresp,

    output logic ready,              // prepared
    output olaf::config_t cfg,
    output logic restart,            // cfg is about to change
    output logic [39:0] next_window, // and what its activity window will be
    output logic clear,
    output logic [11:0] clear_slot,
    output logic rule_write,
    output logic [15:0] rule_cluster,
    output olaf::rule_t rule_written,
    output logic [15:0] rule_read_cluster,
    input olaf::rule_t rule_read,
    output logic snapshot,
    output logic [7:0] counter,
    input logic [63:0] counter_value,
    output logic [11:0] slot,
    output logic [3:0] slot_counter,
`ifdef FORMAL
    output logic [3:0] f_step,
`endif
    input logic [63:0] slot_value,
    input logic [63:0] now,
    input logic [7:0] queue_length,
    input logic [15:0] active,
    input logic [63:0] updates_waiting,  // at the last snapshot
    input logic empty
);
  // ---- preparing: as many cycles as there are clusters or slots ----
  logic [12:0] prepared;
  assign ready = prepared[12];
  assign clear = !ready;
  assign clear_slot = prepared[11:0];
  always_ff @(posedge clk) begin
    if (rst) prepared <= '0;
    else if (prepared == 13'((SLOTS > CLUSTERS ? SLOTS : CLUSTERS) - 1)) prepared <= 13'h1000;
    else if (!ready) prepared <= prepared + 13'd1;
  end

  // ---- writes ----
  olaf::config_t asked;
  logic writes, refused, fits;
  logic [31:0] rule_words[0:2];
  logic [31:0] products;

  assign writes = ready && awvalid && wvalid && !bvalid;
  assign awready = writes;
  assign wready = writes;
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign products = {16'd0, asked.max_clusters} * {16'd0, asked.max_segments};
  assign fits = asked.queue_capacity != 8'd0 && asked.queue_capacity <= 8'(PLACES) &&
      asked.max_clusters != 16'd0 && asked.max_clusters <= 16'(CLUSTERS) &&
      asked.max_segments != 16'd0 && products <= 32'(SLOTS) &&
      asked.max_lanes != 16'd0 && asked.max_lanes <= 16'(LANES) &&
      asked.activity_window_ns >= 40'd1024;
  assign restart = writes && awaddr == olaf_registers::AT_COMMIT && fits;
  assign next_window = asked.activity_window_ns;
  assign snapshot = writes && awaddr == olaf_registers::AT_SNAPSHOT;

  logic rule_last;
  assign rule_last = writes && awaddr[19:14] == 6'd1 && awaddr[3:2] == 2'd3;
  assign rule_write = rule_last || !ready;
  assign rule_cluster = ready ? {6'd0, awaddr[13:4]} : {4'd0, clear_slot};
  assign rule_written = ready ? {rule_words[0][1:0], rule_words[1][15:0], wdata, rule_words[2]} :
      {olaf::POLICY_OLAF, olaf_registers::DEFAULT_MAX_COUNT, {64{1'b1}}};

  // A value that doesn't fit its register becomes the largest, so that the commit refuses it.
  logic [15:0] word16;
  logic [7:0] word8;
  assign word16 = |wdata[31:16] ? 16'hffff : wdata[15:0];
  assign word8 = |wdata[31:8] ? 8'hff : wdata[7:0];

  // A write is done before the next access is taken, so the fence is passed once it is written.
  logic [31:0] snapshots, fence;
  logic [63:0] time_copy;
  logic [7:0] length_copy;
  logic [15:0] active_copy;

  always_ff @(posedge clk) begin
    if (rst) begin
      bvalid <= 1'b0;
      cfg <= '0;
      refused <= 1'b0;
      snapshots <= '0;
      fence <= '0;
      asked <= '0;
      asked.port <= olaf_registers::DEFAULT_PORT;
      asked.queue_capacity <= 8'(PLACES);
      asked.max_clusters <= 16'(CLUSTERS < SLOTS ? CLUSTERS : SLOTS);
      asked.max_segments <= 16'd1;
      asked.max_lanes <= 16'(LANES);
      asked.drain_interval_ns <= 32'd100000;
      asked.activity_window_ns <= 40'd1000000000;
      cfg.port <= olaf_registers::DEFAULT_PORT;
      cfg.activity_window_ns <= 40'd1000000000;
    end else begin
      bvalid <= writes || (bvalid && !bready);
      if (writes) begin
        case (awaddr)
          olaf_registers::AT_COMMIT: begin
            refused <= !fits;
            if (fits) cfg <= asked;
          end
          olaf_registers::AT_CONTROL: {asked.own_only, asked.verify, asked.enable} <= wdata[2:0];
          olaf_registers::AT_PORT: asked.port <= word16;
          olaf_registers::AT_QUEUE_CAPACITY: asked.queue_capacity <= word8;
          olaf_registers::AT_MAX_CLUSTERS: asked.max_clusters <= word16;
          olaf_registers::AT_MAX_SEGMENTS: asked.max_segments <= word16;
          olaf_registers::AT_MAX_LANES: asked.max_lanes <= word16;
          olaf_registers::AT_MTU: asked.mtu <= word16;
          olaf_registers::AT_FRAME_OVERHEAD: asked.frame_overhead <= word16;
          olaf_registers::AT_NS_PER_BYTE_Q24: asked.ns_per_byte_q24[31:0] <= wdata;
          olaf_registers::AT_NS_PER_BYTE_Q24 + 20'd4: asked.ns_per_byte_q24[39:32] <= word8;
          olaf_registers::AT_DRAIN_INTERVAL: asked.drain_interval_ns <= wdata;
          olaf_registers::AT_ACTIVITY_WINDOW: asked.activity_window_ns[31:0] <= wdata;
          olaf_registers::AT_ACTIVITY_WINDOW + 20'd4: asked.activity_window_ns[39:32] <= word8;
          olaf_registers::AT_OWN_0: asked.own[31:0] <= wdata;
          olaf_registers::AT_OWN_1: asked.own[63:32] <= wdata;
          olaf_registers::AT_OWN_2: asked.own[95:64] <= wdata;
          olaf_registers::AT_OWN_3: asked.own[127:96] <= wdata;
          olaf_registers::AT_FENCE: fence <= wdata;
          default: ;
        endcase
        if (awaddr[19:14] == 6'd1 && awaddr[3:2] != 2'd3) rule_words[awaddr[3:2]] <= wdata;
      end
      if (snapshot) begin
        snapshots <= snapshots + 32'd1;
        time_copy <= now;
        length_copy <= queue_length;
        active_copy <= active;
      end
    end
  end

  // ---- reads: five cycles, as long as a slot's counter takes ----
  logic [3:0] step;
  logic [19:0] address;
  logic [31:0] high, word;
  logic [63:0] pair;

  assign arready = ready && !writes && !awvalid && step == 4'd0 && !rvalid;
  assign counter = {1'b0, address[9:3]};
  assign rule_read_cluster = {6'd0, address[13:4]};
  assign slot = 12'((address - olaf_registers::AT_SLOT_COUNTER) >> 7);
  assign slot_counter = address[6:3];
  assign pair = address >= olaf_registers::AT_SLOT_COUNTER ? slot_value : counter_value;

  always_comb begin
    case (address)
      olaf_registers::AT_MAGIC: word = olaf_registers::CARD_MAGIC;
      olaf_registers::AT_LAYOUT: word = olaf_registers::CARD_LAYOUT;
      olaf_registers::AT_PLACES: word = 32'(PLACES);
      olaf_registers::AT_CLUSTERS: word = 32'(CLUSTERS);
      olaf_registers::AT_SLOTS: word = 32'(SLOTS);
      olaf_registers::AT_LANES: word = 32'(LANES);
      olaf_registers::AT_FEATURES: word = olaf_registers::CARD_FEATURES;
      olaf_registers::AT_NS_PER_CYCLE: word = 32'(NS_PER_CYCLE);
      olaf_registers::AT_STATUS: word = {28'd0, empty, refused, cfg.enable, ready};
      olaf_registers::AT_CONTROL: word = {29'd0, asked.own_only, asked.verify, asked.enable};
      olaf_registers::AT_PORT: word = {16'd0, asked.port};
      olaf_registers::AT_QUEUE_CAPACITY: word = {24'd0, asked.queue_capacity};
      olaf_registers::AT_MAX_CLUSTERS: word = {16'd0, asked.max_clusters};
      olaf_registers::AT_MAX_SEGMENTS: word = {16'd0, asked.max_segments};
      olaf_registers::AT_MAX_LANES: word = {16'd0, asked.max_lanes};
      olaf_registers::AT_MTU: word = {16'd0, asked.mtu};
      olaf_registers::AT_FRAME_OVERHEAD: word = {16'd0, asked.frame_overhead};
      olaf_registers::AT_NS_PER_BYTE_Q24: word = asked.ns_per_byte_q24[31:0];
      olaf_registers::AT_NS_PER_BYTE_Q24 + 20'd4: word = {24'd0, asked.ns_per_byte_q24[39:32]};
      olaf_registers::AT_DRAIN_INTERVAL: word = asked.drain_interval_ns;
      olaf_registers::AT_ACTIVITY_WINDOW: word = asked.activity_window_ns[31:0];
      olaf_registers::AT_ACTIVITY_WINDOW + 20'd4: word = {24'd0, asked.activity_window_ns[39:32]};
      olaf_registers::AT_OWN_0: word = asked.own[31:0];
      olaf_registers::AT_OWN_1: word = asked.own[63:32];
      olaf_registers::AT_OWN_2: word = asked.own[95:64];
      olaf_registers::AT_OWN_3: word = asked.own[127:96];
      olaf_registers::AT_FENCE, olaf_registers::AT_FENCED: word = fence;
      olaf_registers::AT_SNAPSHOTS: word = snapshots;
      olaf_registers::AT_TIME: word = time_copy[31:0];
      olaf_registers::AT_TIME + 20'd4: word = time_copy[63:32];
      olaf_registers::AT_QUEUE_LENGTH: word = {24'd0, length_copy};
      olaf_registers::AT_ACTIVE_CLUSTERS: word = {16'd0, active_copy};
      olaf_registers::AT_UPDATES_WAITING: word = updates_waiting[31:0];
      olaf_registers::AT_UPDATES_WAITING + 20'd4: word = updates_waiting[63:32];
      default: begin
        word = '0;
        if (address[19:10] == 10'd1) word = address[2] ? pair[63:32] : pair[31:0];
        if (address[19:14] == 6'd1) begin
          case (address[3:2])
            2'd0: word = {30'd0, rule_read.policy};
            2'd1: word = {16'd0, rule_read.max_count};
            2'd2: word = rule_read.reward_threshold[31:0];
            default: word = rule_read.reward_threshold[63:32];
          endcase
        end
        if (address >= olaf_registers::AT_SLOT_COUNTER) word = address[2] ? high : pair[31:0];
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      step <= '0;
      rvalid <= 1'b0;
    end else begin
      if (arvalid && arready) begin
        address <= araddr;
        step <= 4'd1;
      end else if (step == 4'd5) begin
        step <= '0;
        rvalid <= 1'b1;
        rdata <= word;
        if (!address[2]) high <= pair[63:32];
      end else if (step != 4'd0) step <= step + 4'd1;
      if (rvalid && rready) rvalid <= 1'b0;
    end
  end

`ifdef FORMAL
  assign f_step = step;
`endif
endmodule
