// SPDX-License-Identifier: BSD-2-Clause
// The ring, the buffers, and what leaves, with the decisions and departures around them left to the prover:
// anything that olaf_decide and olaf_depart promise here they may do, in any order.
//
//   length       the ring never holds more than Qmax, nor more than its places
//   unique       no buffer waits at two places, and a free one at none
//   two          at most two buffers of a slot are in use, of policies that fold
//   room         while the ring isn't full, a free buffer is found by a look
//   locked       what leaves is neither found by a look nor closed, nor opened anew, before it is freed
//   order        of two watched updates the one that was appended first is popped first
//   conservation what was appended is waiting, leaving or gone: no more, no less
module order #(
    parameter int PLACES = 4
) (
    input logic clk,
    input logic rst,
    input logic want_look,
    input logic want_open,
    input logic want_seal,
    input logic want_pop,
    input logic want_free,
    input logic folds,
    input logic [15:0] cluster,
    input olaf::fit_t fit,
    input logic watch,
    input logic [7:0] qmax,   // any that stays
    input logic [15:0] slot   // any that stays
);
  localparam int SEGS = PLACES + 2;
  localparam int BITS = $clog2(SEGS);
  logic [1:0] departing;
  olaf::seg_t first, second;
  logic [2*SEGS-1:0] states;
  logic [SEGS-1:0] own, still_used;
  logic [16*SEGS-1:0] clusters;
  logic [15:0] asked;
  logic [7*PLACES-1:0] places;
  logic [SEGS-1:0] waits, leaves;
  integer i, j;
  olaf::seg_t place;
  logic watched, gone;
  olaf::seg_t watched_seg;
  logic [7:0] ahead;  // of it in the ring
  logic [15:0] looked;
  logic [SEGS-1:0] of_slot;
  logic started = 1'b0;
  logic [7:0] in_ring, in_slot, in_leaving;

  // ---- the decisions' side: a look, then a decision a cycle or more later ----
  logic judging, hit, any_open, two_used, opens, seals, look, decided, pop, frees, its_folds;
  olaf::seg_t hit_seg, free_seg, head, freed_seg;
  logic [7:0] length, capacity;
  logic [SEGS-1:0] leaving;
  assign capacity = qmax;
  always_comb assume (qmax >= 8'd1 && qmax <= 8'(PLACES));

  assign look = want_look && !judging;
  assign decided = judging && want_open;
  // As olaf_decide has it: a place, and of policies that fold a buffer.
  assign opens = decided && length < capacity && (!folds || !two_used) && (!folds || !hit || want_seal);
  assign seals = opens && folds && hit;
  assign pop = want_pop && !judging && length != 8'd0 && (departing < 2'd2 || frees);

  always_ff @(posedge clk) begin
    if (rst) judging <= 1'b0;
    else judging <= look || (judging && !decided);
  end

  // ---- the departures' side: at most two, freed in their order ----
  assign frees = want_free && departing != 2'd0;
  assign freed_seg = first;
  always_ff @(posedge clk) begin
    if (rst) departing <= 2'd0;
    else departing <= departing + {1'b0, pop} - {1'b0, frees};
    if (frees) first <= second;
    if (pop) begin
      if (departing - {1'b0, frees} == 2'd0) first <= head;
      else second <= head;
    end
  end

  olaf_slots #(.SEGS(SEGS)) slots (
      .clk(clk), .rst(rst), .look(look), .cluster(cluster), .segment(16'd0), .fit(fit), .hit(hit),
      .hit_seg(hit_seg), .any_open(any_open), .two_used(two_used), .free_seg(free_seg),
      .opens(opens), .folds(folds), .seals(seals), .pops(pop), .pop_seg(head), .frees(frees),
      .freed_seg(freed_seg), .leaving(leaving),
      .f_states(states), .f_own(own), .f_clusters(clusters), .f_still_used(still_used),
      .f_asked(asked)
  );
  olaf_ring #(.PLACES(PLACES)) ring (
      .clk(clk), .rst(rst), .append(opens), .append_seg(free_seg), .pop(pop), .head(head),
      .length(length), .f_order(places)
  );

  // ---- a count for each buffer: waiting, by what the ring was given and gave ----
  always_ff @(posedge clk) begin
    for (i = 0; i < SEGS; i++) begin
      if (rst) begin
        waits[i] <= 1'b0;
        leaves[i] <= 1'b0;
      end else begin
        if (opens && free_seg == i[6:0]) waits[i] <= 1'b1;
        if (pop && head == i[6:0]) begin
          waits[i] <= 1'b0;
          leaves[i] <= 1'b1;
        end
        if (frees && freed_seg == i[6:0]) leaves[i] <= 1'b0;
      end
    end
  end

  // ---- one watched update, and those before it ----
  always_ff @(posedge clk) begin
    if (rst) begin
      watched <= 1'b0;
      gone <= 1'b0;
    end else begin
      if (watch && opens && !watched) begin
        watched <= 1'b1;
        watched_seg <= free_seg;
        ahead <= length - {7'd0, pop};
      end else if (watched && !gone && pop) begin
        ahead <= ahead - 8'd1;
        gone <= ahead == 8'd0;
      end
    end
  end

  // ---- a watched slot: buffers of it that are in use ----
  always_ff @(posedge clk) begin
    if (look) looked <= cluster;
    for (i = 0; i < SEGS; i++) begin
      if (rst || (frees && freed_seg == i[6:0])) of_slot[i] <= 1'b0;
      if (!rst && opens && free_seg == i[6:0]) of_slot[i] <= folds && looked == slot;
    end
  end

  always_ff @(posedge clk) started <= 1'b1;
  logic [7:0] qmax_before;
  logic [15:0] slot_before;
  always_ff @(posedge clk) begin
    qmax_before <= qmax;
    slot_before <= slot;
  end
  always_comb begin
    if (!started) assume (rst);
    else assume (qmax == qmax_before && slot == slot_before);
  end
  always_comb begin
    in_ring = '0;
    in_slot = '0;
    in_leaving = '0;
    for (i = 0; i < SEGS; i++) begin
      in_ring = in_ring + {7'd0, waits[i]};
      in_slot = in_slot + {7'd0, of_slot[i]};
      in_leaving = in_leaving + {7'd0, leaves[i]};
    end
  end

  // ---- what ties the ghosts above to the rooms: the induction rests on it ----
  always_ff @(posedge clk) begin
    if (started && !rst) begin
      for (i = 0; i < SEGS; i++) begin
        assert (waits[i] == (states[2*i+:2] == olaf::BUFFER_OPEN || states[2*i+:2] == olaf::BUFFER_SEALED));
        assert (leaves[i] == (states[2*i+:2] == olaf::BUFFER_LEAVING));
        assert (of_slot[i] == (states[2*i+:2] != olaf::BUFFER_FREE && own[i] && clusters[16*i+:16] == slot));
        if (judging && looked == slot) assert (!of_slot[i] || still_used[i]);
        if (judging && hit && hit_seg == i[6:0]) assert (states[2*i+:2] == olaf::BUFFER_OPEN);
        if (judging && length < capacity && free_seg == i[6:0])
          assert (states[2*i+:2] == olaf::BUFFER_FREE);
      end
      assert (departing <= 2'd2);
      if (judging) assert (free_seg < 7'(SEGS) && hit_seg < 7'(SEGS) && asked == looked);
      if (departing >= 2'd1) assert (first < 7'(SEGS) && leaves[first[BITS-1:0]]);
      if (departing == 2'd2) assert (second < 7'(SEGS) && leaves[second[BITS-1:0]] && second != first);
      for (i = 0; i < PLACES; i++) begin
        place = places[7*i+:7];
        if (i[7:0] < length) assert (place < 7'(SEGS) && waits[place[BITS-1:0]]);
        for (j = 0; j < i; j++) if (i[7:0] < length) assert (place != places[7*j+:7]);
        if (watched && !gone && ahead == i[7:0]) assert (place == watched_seg);
      end
    end
  end

  // ---- what is claimed ----
  always_ff @(posedge clk) begin
    if (started && !rst) begin
      // A policy doesn't change between a look and its decision: a settled card's rules alone do.
      length_bound: assert (length <= capacity && length <= 8'(PLACES));
      conservation: assert (in_ring == length && in_leaving == {6'd0, departing});
      unique_free: assert ((waits & leaves) == '0);
      locked: assert (leaving == leaves);
      two_of_a_slot: assert (in_slot <= 8'd2);
      if (opens) room_free: assert (!waits[free_seg[BITS-1:0]] && !leaves[free_seg[BITS-1:0]] && free_seg < 7'(SEGS));
      if (seals) locked_sealed: assert (waits[hit_seg[BITS-1:0]] && !leaves[hit_seg[BITS-1:0]]);
      if (pop) unique_head: assert (waits[head[BITS-1:0]] && head < 7'(SEGS));
      if (watched && !gone) order_kept: assert (ahead < length);
      if (watched && !gone && pop && ahead == 8'd0) order_turn: assert (head == watched_seg);
    end
  end
endmodule
