// SPDX-License-Identifier: BSD-2-Clause
// What the rooms of the queue hand to each other: sizes, and the records of a frame, an update, a rule.
//
// Byte i of a frame lies at bits [8 * i +: 8]. Fields of a message are in host order here, but for the
// bytes of headers, addresses and tags, which stay as they came.
package olaf;
  // A beat of the stream, and the longest prefix of an update: Ethernet, two tags, IPv4 with all
  // options, UDP, the message's header.
  localparam int BEAT_BITS = 512;
  localparam int HEADER_BYTES = 90;  // Ethernet to UDP at most
  localparam int MESSAGE_BYTES = 48;
  localparam int PREFIX_BYTES = HEADER_BYTES + MESSAGE_BYTES;
  // Ethernet, IPv4 and UDP without tags or options. Each tag and each option word adds four bytes.
  localparam int LEAST_HEADER_BYTES = 42;
  // A frame of so many beats that isn't over yet passes as it comes: the buffer couldn't hold it.
  localparam int LONG_BEATS = 255;

  localparam logic [15:0] MAGIC = 16'h01AF;
  localparam logic [7:0] VERSION = 8'd1;
  localparam logic [7:0] ROUNDS_VERSION = 8'd2;  // of a job's messages
  localparam logic [7:0] TYPE_UPDATE = 8'd1;
  localparam logic [7:0] TYPE_ACK = 8'd2;
  localparam logic [7:0] TYPE_CONTROL = 8'd3;
  localparam logic [7:0] TYPE_CONTRIBUTION = 8'd4;
  localparam logic [7:0] TYPE_RESULT = 8'd5;

  // What a frame is, as far as it can be told without the queue's state.
  typedef enum logic [1:0] {KIND_PASS, KIND_MALFORMED, KIND_UPDATE} kind_t;

  // What becomes of a frame.
  typedef enum logic [1:0] {OP_DROP, OP_PASS, OP_STORE, OP_FOLD} op_t;

  // What becomes of an update: model.hpp's Action.
  typedef enum logic [3:0] {
    ACT_NONE, ACT_PASSED, ACT_APPENDED, ACT_AGGREGATED, ACT_REPLACED,
    ACT_FULL, ACT_REWARD, ACT_SEALED, ACT_MISFIT, ACT_REFUSED
  } action_t;

  typedef enum logic [1:0] {BUFFER_FREE, BUFFER_OPEN, BUFFER_SEALED, BUFFER_LEAVING} buffer_t;

  // A buffer of the store; places + 2 of them.
  typedef logic [6:0] seg_t;

  // What two updates must agree in to be merged: shape and way out (bpf/slots/mergeable.bpf.h).
`ifdef FORMAL
  typedef logic [1:0] fit_t;  // proofs ask only whether two are equal
`else
  typedef struct packed {
    logic [47:0] dmac;
    logic [31:0] tag0;
    logic [31:0] tag1;
    logic [1:0] tags;
    logic [31:0] daddr;
    logic [15:0] lanes;
    logic [1:0] format;
    logic checksum;
  } fit_t;
`endif

  // The fields of an update that its policy and its folding see.
  typedef struct packed {
    logic [31:0] worker;
    logic [31:0] sequence_number;
    logic [31:0] count;
    logic [63:0] generated;
    logic [63:0] reward;
    logic [31:0] model_version;
    logic [15:0] segments;
  } pending_t;

  // The frame around it: its newest headers, and what they cost on the link.
  typedef struct packed {
    logic [8*HEADER_BYTES-1:0] header;  // UDP checksum 0; zeros behind UDP
    logic [3:0] words;                  // four-byte words that it is longer than the shortest
    logic [19:0] sum;                   // of the pseudo header, UDP's ports and its length
    logic [31:0] user;                  // side band of its first beat
    logic [29:0] serialisation;         // ns at the rate, as a departure
  } around_t;

  // What the queue keeps of an update besides its lanes.
  typedef struct packed {
    pending_t pending;
    around_t around;
    logic [11:0] slot;  // cluster x max_segments + segment
    logic [31:0] cluster;
    logic [15:0] segment;
    logic [15:0] lanes;
    logic [1:0] format;
    logic checksum;
  } record_t;

  // A frame's verdict, and its update if it has one.
  typedef struct packed {
    logic enabled;                // by the configuration that judged it, whatever is in force since
    kind_t kind;
    logic [3:0] reason;           // of KIND_PASS or KIND_MALFORMED
    logic bad_cluster;            // KIND_UPDATE, but refused for one of these
    logic bad_segment;
    logic bad_size;
    logic [15:0] frame_bytes;
    logic [15:0] departing_bytes; // of the frame that it would leave in
    logic [29:0] passing;         // ns at the rate, of the frame as it came
    fit_t fit;
    record_t update;
  } verdict_t;

  // What the mover does with the next frame of the buffer.
  typedef struct packed {
    op_t op;
    seg_t seg;
    logic [3:0] words;   // of its headers
    logic [15:0] lanes;
  } command_t;

  typedef struct packed {
    logic [1:0] policy;
    logic [15:0] max_count;
    logic [63:0] reward_threshold;
  } rule_t;

  // What registers configure; all of it changes in one cycle.
  typedef struct packed {
    logic enable;
    logic verify;
    logic own_only;
    logic [15:0] port;
    logic [7:0] queue_capacity;
    logic [15:0] max_clusters;
    logic [15:0] max_segments;
    logic [15:0] max_lanes;
    logic [15:0] mtu;             // 0: any
    logic [15:0] frame_overhead;
    logic [39:0] ns_per_byte_q24; // 0: no rate
    logic [31:0] drain_interval_ns;
    logic [39:0] activity_window_ns;
    logic [127:0] own;            // four IPv4 addresses as they lie in a frame; 0: none
  } config_t;

  // The headers of a frame, taken apart but not judged. All as it lies in the frame.
  typedef struct packed {
    logic [15:0] frame_bytes;
    logic too_long;
    logic is_ipv4;                       // by its EtherType, behind at most two tags
    logic [1:0] tags;
    logic [3:0] words;                   // tags and option words; meaningless for an IHL below 5
    logic [159:0] ip;                    // its fixed part
    logic [63:0] udp;
    logic [8*MESSAGE_BYTES-1:0] message;
    logic [8*HEADER_BYTES-1:0] header;   // masked as around_t has it
    logic [59:0] ip_sums;                // three, of the IPv4 header's words
    logic [31:0] user;
  } headers_t;

  // Policies, in the order of olaf/policies.h.
  localparam logic [1:0] POLICY_OLAF = 2'd0;
  localparam logic [1:0] POLICY_FIFO = 2'd1;
  localparam logic [1:0] POLICY_AGGREGATE = 2'd2;
  localparam logic [1:0] POLICY_NEWEST = 2'd3;

  // What a policy says of an arrival that fits what waits.
  typedef enum logic [1:0] {SAYS_AGGREGATE, SAYS_REPLACE, SAYS_DROP, SAYS_SEAL} says_t;

  function automatic logic [15:0] swap16(input logic [15:0] x);
    swap16 = {x[7:0], x[15:8]};
  endfunction

  function automatic logic [31:0] swap32(input logic [31:0] x);
    swap32 = {x[7:0], x[15:8], x[23:16], x[31:24]};
  endfunction

  function automatic logic [63:0] swap64(input logic [63:0] x);
    swap64 = {swap32(x[31:0]), swap32(x[63:32])};
  endfunction

  // A sum of 16-bit words as ones' complement has it.
  function automatic logic [15:0] fold_sum(input logic [31:0] sum);
    logic [16:0] once;
    begin
      once = {1'b0, sum[15:0]} + {1'b0, sum[31:16]};
      fold_sum = once[15:0] + {15'd0, once[16]};
    end
  endfunction
endpackage
