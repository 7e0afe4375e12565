// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The output device and frames that XDP redirects to it. Drivers take them on terms of their own:
 * virtio_net, i40e, ice, ixgbe, igb, ena and others only while the device has an XDP program; mlx5,
 * i40e and sfc only from CPUs that have a send queue. So attach tries each CPU, and puts a program
 * there if that helps (loader/attachment/output.hpp).
 */
#include "bpf/way/sent.bpf.h"
#include "bpf/way/xdp_gate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* XDP of the output device, where its driver demands one: every frame goes on as if it weren't there. */
SEC("xdp.frags")
int olaf_output_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

/*
 * Run by attach on each CPU, with a frame of its own as if the queue's device had brought it
 * (BPF_F_TEST_XDP_LIVE_FRAMES): opens this CPU's XDP gate and redirects the frame to the output. If
 * the output refuses, the loss programs shut the gate again before the run returns.
 */
SEC("xdp")
int olaf_output_prove(struct xdp_md *ctx)
{
	struct olaf_xdp_gate *gate = olaf_xdp_gate_here();

	if (!gate || !olaf_sent_note(ctx, 0))
		return XDP_DROP;
	gate->refused_ns = 0;
	return bpf_redirect(olaf_cfg.egress_ifindex, 0);
}
