// SPDX-License-Identifier: BSD-2-Clause
// Examples of every command, for --help and for the manual. A test parses them.
#include "help.hpp"

#include <map>

namespace olaf {
namespace {

using Examples = std::map<std::string, std::vector<Example>>;

const Examples &queues() {
    static const Examples all{
        {"olaf",
         {{"olaf doctor eth0", "what this host and its NIC can do"},
          {"olaf attach eth0 --local --rate 1gbit", "puts the queue on eth0"},
          {"olaf status eth0", "what it did since"}}},
        {"olaf attach",
         {{"olaf attach eth0 --local", "the parameter server runs on this host"},
          {"olaf attach eth0 --forward eth1 --rate 10gbit",
           "a bridge or a router between workers and server"},
          {"olaf attach eth0 --upstream 192.0.2.9 --rate 1gbit",
           "workers send to this host, and it sends on to the server"},
          {"olaf attach eth0 --local --window auto", "the server's ACKs set the pace"},
          {"olaf attach eth0 --local --hw require", "in eth0's card, or not at all"},
          {"olaf attach eth0 --replace --rate 4gbit", "changes the rate; what waits stays"},
          {"olaf attach eth0 --save", "keeps the queue that is there for after a reboot"}}},
        {"olaf detach",
         {{"olaf detach eth0", "sends what waits, then removes everything"},
          {"olaf detach eth0 --force", "drops what can't leave"}}},
        {"olaf reset",
         {{"olaf reset eth0", "starts every counter, loss and age anew, as before a measurement"}}},
        {"olaf status",
         {{"olaf status", "every queue of this network namespace"},
          {"olaf status eth0 --clusters", "one queue, with the counters of each cluster"},
          {"olaf status eth0 --json", "the same for a program"}}},
        {"olaf cluster",
         {{"olaf cluster list eth0", "clusters that have a rule or workers"},
          {"olaf cluster set eth0 0-99 --reward-threshold 20",
           "folds only updates whose mean rewards are this close"}}},
        {"olaf cluster set",
         {{"olaf cluster set eth0 3 --worker 0=192.0.2.7", "binds a worker to its address"},
          {"olaf cluster set eth0 0-99 --policy newest", "the newest update replaces what waits"}}},
        {"olaf cluster remove",
         {{"olaf cluster remove eth0 3", "cluster 3 as if nothing had been set"}}},
        {"olaf cluster list",
         {{"olaf cluster list eth0 0-9", "these clusters, whether they have a rule or not"}}},
        {"olaf cluster restore",
         {{"olaf cluster restore eth0", "the rules that /etc/olaf/eth0.conf has, once more"}}},
        {"olaf doctor",
         {{"olaf doctor", "the kernel"}, {"olaf doctor eth0", "the kernel, and this device"}}}};
    return all;
}

const Examples &jobs() {
    static const Examples all{
        {"olaf job",
         {{"olaf job set eth0 7 --children 4 --lanes 128", "four workers sum on this host"},
          {"olaf job list eth0", "jobs, their members and what they have summed"}}},
        {"olaf job set",
         {{"olaf job set eth0 7 --children 4 --lanes 128 --pool 256",
           "256 chunks may be under way"},
          {"olaf job set eth0 7 --children 2 --lanes 128 --max-count 8 --parent 192.0.2.9 --rank 0",
           "sums for two of a parent's children"},
          {"olaf job set eth0 7 --children 4 --lanes 128 --threshold 3 --deadline 5ms",
           "three of four are enough"},
          {"olaf job set eth0 7 --children 4 --any --threshold 6",
           "six contributions, whosever of the four they are"},
          {"olaf job set eth0 7 --children 4 --run resnet50",
           "only that training may have it"},
          {"olaf job set eth0 7 --children 4 --absent 2 --absent 3",
           "two train, and two may join them"},
          {"olaf job set eth0 7 --children 4 --member 0=192.0.2.1 --member 1=192.0.2.2:40000",
           "ranks 0 and 1 are nobody else's"},
          {"olaf job set eth0 7 --children 4 --format f32 --float-bits 30",
           "the node adds floats, of half a billion at most"},
          {"olaf job set eth0 7 --children 4 --max-count 8 --parent 198.51.100.9:7000 --rank 1",
           "the parent may be behind eth1: the routes say so"},
          {"olaf job set eth0 7 --children 4 --lanes 128 --fanout multicast=239.1.2.3",
           "one frame takes a sum to all four"}}},
        {"olaf job remove", {{"olaf job remove eth0 7", "its slots are free again"}}},
        {"olaf job list", {{"olaf job list eth0 --json", "every job, for a program"}}},
        {"olaf job reset", {{"olaf job reset eth0 7", "its members agree anew where to begin"}}},
        {"olaf job release", {{"olaf job release eth0 7", "the run that has it is over"}}},
        {"olaf job halt", {{"olaf job halt eth0 7", "contributions are refused until resume"}}},
        {"olaf job resume", {{"olaf job resume eth0 7", "the rounds go on"}}},
        {"olaf job leave", {{"olaf job leave eth0 7 3", "rank 3 is gone; the others go on"}}},
        {"olaf job threshold", {{"olaf job threshold eth0 7 3", "three contributions are enough from now on"}}},
        {"olaf job restore", {{"olaf job restore eth0", "those of its file that aren't set"}}},
        {"olaf job flush", {{"olaf job flush eth0 7", "results without those that are missing"}}}};
    return all;
}

const Examples &observers() {
    static const Examples all{
        {"olaf trace",
         {{"olaf trace eth0 --cluster 3", "what becomes of cluster 3's updates"},
          {"olaf trace eth0 --action drop --for 10s", "ten seconds of drops, with their reasons"},
          {"olaf trace eth0 --pcap updates.pcapng", "packets for Wireshark"}}},
        {"olaf top",
         {{"olaf top eth0", "the stalest clusters first"},
          {"olaf top eth0 --sort drops", "those that lose most first"}}},
        {"olaf report",
         {{"olaf report eth0 -o report", "half a minute, then report/index.html"},
          {"olaf report eth0 --for 300s -o report --clock arrival",
           "five minutes, ages by this host's clock alone"}}},
        {"olaf serve",
         {{"olaf serve", "every queue: http://127.0.0.1:9435/ and /metrics"},
          {"olaf serve eth0 --wait", "starts when eth0 has its queue"},
          {"olaf serve --top-clusters 20", "few series, where clusters are many"}}},
        {"olaf meter",
         {{"olaf meter eth0", "a table a second"},
          {"olaf meter eth0 --sent --for 60s --json", "what leaves, of a minute"}}},
        {"olaf send",
         {{"olaf send 192.0.2.1", "ten seconds at 10 Mbit/s to olaf receive there"},
          {"olaf send 192.0.2.1 --clusters 9 --workers 3 --rate 50mbit",
           "27 workers, all of them together at that rate"}}},
        {"olaf receive",
         {{"olaf receive", "until interrupted"},
          {"olaf receive --idle 5s --json", "until the senders have been silent so long"}}},
        {"olaf help", {{"olaf help cluster set", "the same as olaf cluster set --help"}}}};
    return all;
}

const Examples &fleet() {
    static const Examples all{
        {"olaf plan",
         {{"olaf plan network.json", "where the sums of the workers in that file are added up"},
          {"olaf plan leaf-spine:leaves=10,spines=10,hosts=50 --workers 35 --compare", "every strategy in a row, in a network of that kind"},
          {"olaf plan fat-tree:k=8,aggregators=20% --strategy goat --root ps --bytes 240mb --sub-models 120",
           "GOAT's schedule for a model in 120 pieces, where one switch of five aggregates"},
          {"olaf plan network.json --picture tree.svg", "the tree as a picture"},
          {"olaf plan fat-tree:k=4 --topology", "a file to begin with"}}},
        {"olaf admit",
         {{"olaf admit --cluster 0:100ms:1kb --cluster 1:100ms:1kb --hop 10mbit:8 --objective 'fairness<=100ms'",
           "whether these two age alike"},
          {"olaf admit --cluster 0:20ms+-5ms:9kb --cluster 1:20ms:9kb --hop 50mbit:8:0 --hop 50mbit:8:1 --hop 40mbit:16 --objective 'peak<=60ms'",
           "two queues that join in a third"}}}};
    return all;
}

} // namespace

const std::vector<Example> &examples_of(const std::string &command) {
    static const std::vector<Example> none;
    for (const auto *all : {&queues(), &jobs(), &observers(), &fleet()})
        if (const auto found = all->find(command); found != all->end())
            return found->second;
    return none;
}

} // namespace olaf
