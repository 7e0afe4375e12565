// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/collective.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <olaf/try.hpp>

#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "guarded.hpp"
#include "record.hpp"
#include "round_format.hpp"
#include "waiting.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

// Where a number of seconds is beyond any clock.
constexpr std::chrono::nanoseconds kForEver = std::chrono::hours(24 * 365);

// A vector under way holds its array: the sum is written there.
struct UnderWay {
    Collective::Operation operation;
    py::object array;
};

// To be used with the GIL held.
struct Python {
    std::deque<UnderWay> under_way;
    py::object thread; // whose vectors are summed: a threading.Thread; none yet
};

// The Collective goes before the arrays do: its threads use them until then.
struct CollectiveHandle : Python, Guarded<Collective> {
    explicit CollectiveHandle(Collective collective) : Guarded(std::move(collective)) {}
};

struct Sum {
    py::object owner; // keeps the Collective
    Collective::Operation operation;
};

template <class T> T value_unless_interrupted(Result<T> result) {
    if (PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return value_of(std::move(result));
}

std::unique_ptr<CollectiveHandle>
make_collective(const std::string &node, std::uint32_t job, std::uint32_t rank,
                std::uint32_t workers, const std::string &format, bool checksum, std::size_t mtu,
                std::uint16_t lanes, std::uint32_t ahead, unsigned guess_bits, unsigned threads,
                double timeout, const std::optional<std::string> &group,
                const std::optional<std::string> &run, std::uint64_t run_number, bool gso) {
    const auto deadline = deadline_in(timeout); // checks that it is a time
    CollectiveOptions options = {.job = job,
                                 .rank = rank,
                                 .workers = workers,
                                 .run = run.value_or(""),
                                 .run_number = run_number,
                                 .format = collective_format(format),
                                 .checksum = checksum,
                                 .mtu = mtu,
                                 .lanes = lanes,
                                 .ahead = ahead,
                                 .guess_bits = guess_bits,
                                 .threads = threads,
                                 .interrupted = is_interrupted,
                                 .gso = gso};
    options.timeout =
        deadline ? std::chrono::nanoseconds(static_cast<std::int64_t>(timeout * 1e9)) : kForEver;
    auto made = [&]() -> Result<Collective> {
        const GilReleased released; // a name is looked up
        options.node = OLAF_TRY(Address::parse(node));
        if (group)
            options.group = OLAF_TRY(Address::parse(*group, options.node.family()));
        return Collective::make(options);
    }();
    return std::make_unique<CollectiveHandle>(value_of(std::move(made)));
}

// A NumPy array over the object's own memory. Whatever would be a copy is refused: the sum would
// be lost.
py::array in_place(const py::object &object) {
    if (!py::hasattr(object, "__array__") && PyObject_CheckBuffer(object.ptr()) == 0)
        throw py::type_error("the vector must be a NumPy array or share its memory with one, as "
                             "CPU tensors do: the sum takes its place");
    const py::object asarray = py::module_::import("numpy").attr("asarray");
    py::array array = asarray(object);
    // An __array__() that copies does so each time.
    const bool is_copy = !py::isinstance<py::array>(object) && array.size() > 0 &&
                         py::array(asarray(object)).data() != array.data();
    if (is_copy || !array.writeable() || (array.flags() & py::array::c_style) == 0)
        throw py::value_error(
            "the vector must be a writable and contiguous array: the sum takes its place");
    return array;
}

// All workers must give their vectors in the same order. Two threads of one have none.
void claim_for_this_thread(CollectiveHandle &handle) {
    const py::object thread = py::module_::import("threading").attr("current_thread")();
    if (thread.is(handle.thread))
        return;
    if (handle.thread && handle.thread.attr("is_alive")().cast<bool>())
        throw py::value_error(
            "another thread (" + py::str(handle.thread.attr("name")).cast<std::string>() +
            ") gives vectors to this Collective, and all workers must give theirs in the same "
            "order: let one thread begin all sums, or make a Collective with a job of its own for "
            "each thread; start() lets another thread go on");
    handle.thread = thread;
}

template <class Element>
Result<Collective::Operation> begin(CollectiveHandle &handle, py::array &array, Combine combine) {
    const std::span vector(static_cast<Element *>(array.mutable_data()),
                           static_cast<std::size_t>(array.size()));
    return handle.locked([&](Collective &collective) {
        if constexpr (std::is_same_v<Element, float>)
            return collective.allreduce_async(vector, combine);
        else
            return collective.allreduce_async(vector);
    });
}

Combine combine_named(const std::string &op, const py::array &array) {
    if (op == "sum")
        return Combine::sum;
    if (op != "mean")
        throw py::value_error("op must be 'sum' or 'mean', not '" + op + "'");
    if (!py::isinstance<py::array_t<float>>(array))
        throw py::type_error("the mean is of float32 only, not of " +
                             py::str(array.dtype()).cast<std::string>() + ": its sum is exact");
    return Combine::mean;
}

// Other threads may change what is under way while the GIL is released to ask what has ended. They
// may do so too when an array is let go: a tensor below it releases the GIL. So arrays go last,
// when nothing is being changed.
void forget_ended(CollectiveHandle &handle) {
    std::vector<Collective::Operation> ended;
    for (const UnderWay &each : handle.under_way)
        ended.push_back(each.operation);
    handle.locked([&](Collective &) {
        std::erase_if(ended, [](const auto &operation) { return !operation.done(); });
    });
    std::deque<UnderWay> kept, gone;
    for (UnderWay &each : handle.under_way) {
        const bool has_ended = std::ranges::find(ended, each.operation) != ended.end();
        (has_ended ? gone : kept).push_back(std::move(each));
    }
    handle.under_way.swap(kept);
}

Sum allreduce_async(const py::object &self, const py::object &vector, const std::string &op) {
    auto &handle = self.cast<CollectiveHandle &>();
    py::array array = in_place(vector);
    const auto begun = py::isinstance<py::array_t<float>>(array)          ? &begin<float>
                       : py::isinstance<py::array_t<std::int64_t>>(array) ? &begin<std::int64_t>
                       : py::isinstance<py::array_t<std::int32_t>>(array) ? &begin<std::int32_t>
                                                                          : nullptr;
    if (begun == nullptr)
        throw py::type_error("the vector must hold float32, int64 or int32, not " +
                             py::str(array.dtype()).cast<std::string>());
    const Combine combine = combine_named(op, array);
    claim_for_this_thread(handle);
    forget_ended(handle);
    const auto operation = value_of(begun(handle, array, combine));
    handle.under_way.push_back({operation, array});
    return {.owner = self, .operation = operation};
}

SumReport wait(Sum &sum) {
    auto &handle = sum.owner.cast<CollectiveHandle &>();
    // Other threads begin and end sums meanwhile.
    auto report = handle.locked_but_asleep(
        [&](Collective &, auto &lock) { return sum.operation.wait(lock); });
    forget_ended(handle);
    return value_unless_interrupted(std::move(report));
}

SumReport allreduce(const py::object &self, const py::object &vector, const std::string &op) {
    Sum sum = allreduce_async(self, vector, op);
    return wait(sum);
}

void start(CollectiveHandle &handle) {
    handle.thread = {};
    value_unless_interrupted(
        handle.locked([](Collective &collective) { return collective.start(); }));
}

bool finish(CollectiveHandle &handle, std::optional<double> timeout) {
    const auto deadline = deadline_in(timeout); // checks that it is a time
    auto finished = handle.locked([&](Collective &collective) {
        return deadline ? collective.finish(*deadline - std::chrono::steady_clock::now())
                        : collective.finish();
    });
    forget_ended(handle);
    return value_unless_interrupted(std::move(finished));
}

std::uint32_t join(CollectiveHandle &handle) {
    handle.thread = {};
    auto joined = handle.locked([](Collective &collective) { return collective.join(); });
    forget_ended(handle);
    return value_unless_interrupted(std::move(joined));
}

bool leave(CollectiveHandle &handle, double timeout) {
    const auto deadline = deadline_in(timeout); // checks that it is a time
    auto left = handle.locked([&](Collective &collective) {
        return collective.leave(deadline ? *deadline - std::chrono::steady_clock::now() : kForEver);
    });
    forget_ended(handle);
    return value_unless_interrupted(std::move(left));
}

// Former names. What isn't an attribute comes here.
py::object former(const py::object &, const std::string &name) {
    const char *const now = name == "join_running" ? "join" : name == "depart" ? "leave" : nullptr;
    if (now != nullptr)
        throw py::attribute_error("Collective." + name + "() is Collective." + now + "() now");
    throw py::attribute_error("'Collective' object has no attribute '" + name + "'");
}

void bind_collective_records(py::module_ &module) {
    Record<SumReport>(module, "SumReport", "What became of one vector.")
        .field("chunks", &SumReport::chunks, "Messages that it took.")
        .field("spared", &SumReport::spared, "Messages that it didn't need: guess_bits.")
        .field("least_count", &SumReport::least_count, "Workers in the sum, where the fewest are.")
        .field("partial", &SumReport::partial, "Chunks without all workers.")
        .field("late", &SumReport::late, "Chunks without this worker's part.")
        .field("not_finite", &SumReport::not_finite,
               "Elements that are NaN because some worker's chunk had inf or NaN.")
        .field("left_out", &SumReport::left_out,
               "Elements whose sum is without this worker's part.")
        .field(
            "left_out_at",
            [](const SumReport &self) {
                py::list ranges;
                for (const auto &[first, count] : self.left_out_at)
                    ranges.append(py::slice(static_cast<py::ssize_t>(first),
                                            static_cast<py::ssize_t>(first + count), 1));
                return ranges;
            },
            "Where those are: slices of the flat vector.")
        .done();
    Record<CollectiveStats>(module, "CollectiveStats", "Counters of a worker of a job.")
        .field("sent", &CollectiveStats::sent, "Contributions, first sendings.")
        .field("repeated", &CollectiveStats::repeated, "Contributions sent again.")
        .field("joined", &CollectiveStats::joined,
               "Messages handed to the kernel in one piece with others: gso.")
        .field("unsent", &CollectiveStats::unsent, "Messages lost on this host.")
        .field("results", &CollectiveStats::results, "Chunks summed.")
        .field("spared", &CollectiveStats::spared, "Chunks that needn't be sent: guess_bits.")
        .field("partial", &CollectiveStats::partial, "Of those: without all workers.")
        .field("late", &CollectiveStats::late, "Of those: without this worker's part.")
        .field("missed", &CollectiveStats::missed, "Chunks whose sum this worker will never get.")
        .field("agreed", &CollectiveStats::agreed, "How often all had to agree on where to begin.")
        .field("unasked", &CollectiveStats::unasked, "Answers that came twice, or too late.")
        .field(
            "rejected", [](const CollectiveStats &self) { return rejects_dict(self.rejected); },
            "Messages not accepted, by reason.")
        .done();
}

} // namespace

void bind_collective(py::module_ &module) {
    bind_collective_records(module);
    py::class_<Sum>(module, "Sum", "A vector that is being summed.")
        .def("wait", &wait, "Waits until the sum is in the vector's place. Once.")
        .def_property_readonly(
            "done",
            [](Sum &sum) {
                return sum.owner.cast<CollectiveHandle &>().locked(
                    [&](Collective &) { return sum.operation.done(); });
            },
            "Whether wait() returns at once.");
    py::class_<CollectiveHandle>(
        module, "Collective",
        "One worker's end of a job: sums vectors with the other workers, in a host "
        "with Olaf. After an error start() again, at every worker.")
        .def(py::init(&make_collective), py::arg("node"), py::arg("job"), py::arg("rank"),
             py::arg("workers"), py::kw_only(), py::arg("format") = "i32x2",
             py::arg("checksum") = true, py::arg("mtu") = 0, py::arg("lanes") = 0,
             py::arg("ahead") = 64, py::arg("guess_bits") = 2, py::arg("threads") = 1,
             py::arg("timeout") = 30.0, py::arg("group") = py::none(), py::arg("run") = py::none(),
             py::arg("run_number") = 0, py::arg("gso") = true,
             "'run': the training's name, the same at all workers and another one for each "
             "training; without it torchrun's or Slurm's, else ValueError. 'run_number': higher at "
             "each further start of the training, which takes the job over from the one before. "
             "'group': the multicast group that results come to, where the job has --fanout "
             "multicast=GROUP. 'threads': that sum, each a range of every vector in a job of its "
             "own: 'job', 'job' + 1, ...; for vectors of megabytes, where CPUs are free. "
             "'guess_bits': of an element, that may be lost so that a short vector takes one "
             "round trip, not two; 0: none. 'gso': messages that are sent together are handed to "
             "the kernel in one piece, if start() finds that they get to the node so.")
        .def("start", &start,
             "Waits until all workers have asked where to begin. TimeoutError says who is missing.")
        .def("finish", &finish, py::arg("timeout") = py::none(),
             "Waits until no other worker can need this one, even if a node is restarted: call it "
             "at every worker after the last sum. False if a threshold or deadline of the job "
             "hides that. TimeoutError, after so many seconds without news (None: those of the "
             "constructor), says who is missing. Without it a worker just goes.")
        .def("join", &join,
             "In place of start(): joins workers that are summing already, under a rank that is "
             "free, or in place of a member that is lost. Returns the round of the next vector: "
             "how many the others have summed before it. TimeoutError if nobody answers, or the "
             "job's members haven't started it.")
        .def(
            "leave", &leave, py::arg("timeout") = 30.0,
            "In place of finish(): leaves while the others go on, who sum without this worker from "
            "the next vector on. Waits for sums under way, then until nobody can need what it "
            "contributed. False if that isn't known after so many seconds, because the others have "
            "paused. After it, only join() is possible. Where all workers leave, the job has no "
            "member left to start(): set it anew.")
        .def("__getattr__", &former)
        .def("allreduce", &allreduce, py::arg("vector"), py::arg("op") = "sum",
             "Puts the sum over all workers in place of the vector: float32, int64 or int32. Or, "
             "with op='mean' and float32, the sum divided by how many workers are in it.")
        .def("allreduce_async", &allreduce_async, py::arg("vector"), py::arg("op") = "sum",
             "The same, but doesn't wait. The vector isn't to be touched until wait() returns.")
        .def(
            "poll",
            [](CollectiveHandle &handle) {
                value_of(handle.locked([](Collective &collective) { return collective.poll(); }));
            },
            "Sends and takes in what there is, without waiting: while computing, now and then.")
        .def_property_readonly(
            "stats",
            [](CollectiveHandle &handle) {
                return handle.locked([](Collective &collective) { return collective.stats(); });
            },
            "Counters.")
        .def(
            "fileno", [](CollectiveHandle &handle) { return handle.constant().fd(); },
            "For select(), asyncio and the like: readable when poll() has something to do.");
}

} // namespace olaf::python
