// SPDX-License-Identifier: BSD-2-Clause
// AXI4-Lite and what it configures, with any accesses.
//
//   stable   an answer that waits is neither withdrawn nor changed
//   one      each access is answered once: none is answered that wasn't asked for
//   bounds   the queue's capacity is never more than its places, nor its clusters, segments and lanes than there are
//   commit   what is in force changes with a commit alone, all of it in one cycle
module registers (
    input logic clk,
    input logic rst,
    input logic awvalid,
    input logic [19:0] awaddr,
    input logic wvalid,
    input logic [31:0] wdata,
    input logic bready,
    input logic arvalid,
    input logic [19:0] araddr,
    input logic rready,
    input olaf::rule_t rule_read,
    input logic [63:0] counter_value,
    input logic [63:0] slot_value,
    input logic [63:0] now,
    input logic [7:0] queue_length,
    input logic [15:0] active,
    input logic [63:0] updates_waiting,
    input logic empty
);
  localparam int PLACES = 8;
  localparam int CLUSTERS = 4;
  localparam int SLOTS = 4;
  localparam int LANES = 1152;
  logic awready, wready, bvalid, arready, rvalid, ready, restart, clear, rule_write, snapshot;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  olaf::config_t cfg, was_cfg;
  logic [39:0] next_window;
  logic [11:0] clear_slot, slot;
  logic [15:0] rule_cluster, rule_read_cluster;
  olaf::rule_t rule_written;
  logic [7:0] counter;
  logic [3:0] slot_counter, step;

  olaf_card #(.PLACES(PLACES), .CLUSTERS(CLUSTERS), .SLOTS(SLOTS), .LANES(LANES)) card (
      .clk(clk), .rst(rst), .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .wvalid(wvalid),
      .wready(wready), .wdata(wdata), .bvalid(bvalid), .bready(bready), .bresp(bresp),
      .arvalid(arvalid), .arready(arready), .araddr(araddr), .rvalid(rvalid), .rready(rready),
      .rdata(rdata), .rresp(rresp), .ready(ready), .cfg(cfg), .restart(restart),
      .next_window(next_window), .clear(clear), .clear_slot(clear_slot), .rule_write(rule_write),
      .rule_cluster(rule_cluster), .rule_written(rule_written),
      .rule_read_cluster(rule_read_cluster), .rule_read(rule_read), .snapshot(snapshot),
      .counter(counter), .counter_value(counter_value), .slot(slot), .slot_counter(slot_counter),
      .slot_value(slot_value), .now(now), .queue_length(queue_length), .active(active),
      .updates_waiting(updates_waiting), .empty(empty), .f_step(step)
  );

  // ---- accesses that were taken and not answered ----
  logic started = 1'b0;
  logic writing, reading, was_rst, was_restart, was_b, was_r;
  logic [31:0] was_data;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    was_rst <= rst;
    was_restart <= restart;
    was_b <= bvalid && !bready;
    was_r <= rvalid && !rready;
    was_data <= rdata;
    was_cfg <= cfg;
    if (rst) begin
      writing <= 1'b0;
      reading <= 1'b0;
    end else begin
      if (awvalid && awready) writing <= 1'b1;
      else if (bvalid && bready) writing <= 1'b0;
      if (arvalid && arready) reading <= 1'b1;
      else if (rvalid && rready) reading <= 1'b0;
    end
  end
  always_comb if (!started) assume (rst);

  always_ff @(posedge clk) begin
    if (started && !rst) begin
      one_write: assert (bvalid == writing && (!writing || !awready));
      one_read: assert (reading == (rvalid || step != 4'd0) && (!reading || !arready) && step <= 4'd5);
      one_at_once: assert (awready == wready && !(rvalid && step != 4'd0));
      bounds_places: assert (cfg.queue_capacity <= 8'(PLACES));
      bounds_others: assert (cfg.max_clusters <= 16'(CLUSTERS) && cfg.max_lanes <= 16'(LANES));
      if (!was_rst) begin
        if (was_b) stable_write: assert (bvalid);
        if (was_r) stable_read: assert (rvalid && rdata == was_data);
        if (!was_restart) commit: assert (cfg == was_cfg);
      end
    end
  end
endmodule
