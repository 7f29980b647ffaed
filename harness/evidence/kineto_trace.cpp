#include "evidence/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "core/compressed_file.h"
#include "core/error.h"
#include "core/text.h"
#include "evidence/kernel_names.h"
#include "evidence/launches.h"
#include "evidence/trace_checks.h"

namespace lab {

namespace {

constexpr const char* kExportAgain = "Export it again with export_chrome_trace().";

/// The fields that are read: of an event, and of its "args".
enum class Field : char {
    none,
    phase,
    category,
    name,
    process,
    thread,
    start,
    duration,
    args,
    device,
    stream,
    correlation,
    bytes,
    grid,
    block,
    group,
    domain,
    crosses_threads,
    result
};

template <std::size_t n>
Field field_of(std::string_view key, const std::pair<std::string_view, Field> (&fields)[n]) {
    for (const auto& [name, field] : fields)
        if (key == name) return field;
    return Field::none;
}

constexpr std::pair<std::string_view, Field> kOfEvent[] = {
    {"ph", Field::phase},   {"cat", Field::category}, {"name", Field::name},    {"pid", Field::process},
    {"tid", Field::thread}, {"ts", Field::start},     {"dur", Field::duration}, {"args", Field::args}};

/// The last three are no words of Kineto's: draw/chrome_trace.cpp writes them for what it has no field for.
constexpr std::pair<std::string_view, Field> kOfArgs[] = {{"device", Field::device},
                                                          {"stream", Field::stream},
                                                          {"correlation", Field::correlation},
                                                          {"bytes", Field::bytes},
                                                          {"grid", Field::grid},
                                                          {"block", Field::block},
                                                          {"Process Group Ranks", Field::group},
                                                          {"domain", Field::domain},
                                                          {"crosses_threads", Field::crosses_threads},
                                                          {"result", Field::result}};

/// One event of the file, as far as it is read.
struct Event {
    std::string phase, category, name, group, domain;
    std::optional<int64_t> process, thread, start_ns, duration_ns, device, stream;
    std::optional<int64_t> result;
    int64_t correlation = 0, bytes = 0;
    LaunchSize size{{0, 0, 0}, {0, 0, 0}};
    bool crosses_threads = false;

    /// Keeps the memory of its strings.
    void clear() {
        phase.clear(), category.clear(), name.clear(), group.clear(), domain.clear();
        process = thread = start_ns = duration_ns = device = stream = result = std::nullopt;
        correlation = bytes = 0;
        size = {{0, 0, 0}, {0, 0, 0}};
        crosses_threads = false;
    }
};

/// What an event is about. Until 2021 the categories were Kernel, Memcpy, Memset, Runtime and Operator.
enum class Kind { other, kernel, copy, set, call, annotation, operation };

Kind kind_of(const std::string& category) {
    static const std::unordered_map<std::string_view, Kind> kinds{
        {"kernel", Kind::kernel},     {"Kernel", Kind::kernel},      {"gpu_memcpy", Kind::copy},
        {"Memcpy", Kind::copy},       {"gpu_memset", Kind::set},     {"Memset", Kind::set},
        {"cuda_runtime", Kind::call}, {"cuda_driver", Kind::call},   {"Runtime", Kind::call},
        {"cpu_op", Kind::operation},  {"Operator", Kind::operation}, {"user_annotation", Kind::annotation}};
    const auto known = kinds.find(category);
    return known == kinds.end() ? Kind::other : known->second;
}

/// A kind of memory as the views of nsys's exports have it: "device" of "Device" and of "Device Static".
std::string memory_kind(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (text.ends_with(" static")) text.resize(text.size() - std::string_view(" static").size());
    return text.empty() || text == "unknown" ? "other" : clipped(std::move(text), kLongestName);
}

/// Takes direction and kinds of memory from "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)".
void read_name(const std::string& name, Copy& copy) {
    using enum Direction;
    static const std::unordered_map<std::string_view, Direction> directions{
        {"HtoD", host_to_device},   {"HtoA", host_to_device},   {"DtoH", device_to_host},
        {"AtoH", device_to_host},   {"DtoD", device_to_device}, {"AtoA", device_to_device},
        {"AtoD", device_to_device}, {"DtoA", device_to_device}, {"PtoP", device_to_device},
        {"HtoH", host_to_host}};
    const std::size_t open = name.find('('), close = name.rfind(')'), arrow = name.find(" -> ");
    const bool has_kinds = open != name.npos && close != name.npos && open < close;
    copy.from = copy.to = "other";
    if (copy.direction == set) {
        copy.from = "";
        if (has_kinds) copy.to = memory_kind(name.substr(open + 1, close - open - 1));
        return;
    }
    const std::size_t word = name.find(' ');
    const auto known = directions.find(trim(std::string_view(name).substr(std::min(word, name.size()), 6)));
    if (known != directions.end()) copy.direction = known->second, copy.between_gpus = known->first == "PtoP";
    if (!has_kinds || arrow == name.npos || arrow < open || arrow + 4 > close) return;
    copy.from = memory_kind(name.substr(open + 1, arrow - open - 1));
    copy.to = memory_kind(name.substr(arrow + 4, close - arrow - 4));
}

/// When a thread of autograd's engine began a node of the graph.
struct AutogradWork {
    int64_t start_ns = 0, thread = 0;
};

/// Takes the file's events one by one, as nlohmann's parser finds them.
class Reader {
  public:
    using number_integer_t = int64_t;
    using number_unsigned_t = uint64_t;
    using number_float_t = double;
    using string_t = std::string;
    using binary_t = nlohmann::json::binary_t;

    Reader(const std::filesystem::path& path, const CompressedFile& file, bool with_operators)
        : path_(path), file_(file), with_operators_(with_operators) {
        trace_.format = SourceFormat::kineto;
        trace_.knows_results = false;
    }

    bool null() { return true; }
    bool binary(binary_t&) { return true; }
    bool boolean(bool value) {
        if (in_args() && field_ == Field::crosses_threads) event_.crosses_threads = value;
        return true;
    }
    bool number_integer(int64_t value) { return number(value); }
    bool number_unsigned(uint64_t value) {
        return number(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
    }
    bool number_float(double value, const std::string& digits) {
        if (is_time()) {
            time(ns_of_microseconds(digits));
            return true;
        }
        return number(std::abs(value) < 9e18 ? static_cast<int64_t>(value)
                      : value < 0            ? INT64_MIN
                                             : INT64_MAX);
    }
    bool string(std::string& value);
    bool start_object(std::size_t) {
        ++depth_;
        if (depth_ == event_depth_) event_.clear();
        if (depth_ == event_depth_ + 1) in_args_ = field_ == Field::args;
        if (section_ == Section::gpus && depth_ == 3) gpu_ = {};
        return true;
    }
    bool end_object() {
        if (depth_ == event_depth_) add_event();
        if (section_ == Section::gpus && depth_ == 3) trace_.gpus.push_back(gpu_);
        return end_container();
    }
    bool start_array(std::size_t) {
        ++depth_;
        element_ = 0;
        if (depth_ == 1) section_ = Section::events;
        if (section_ == Section::events && depth_ <= 2 && event_depth_ < 0)
            event_depth_ = depth_ + 1, has_events_ = true;
        return true;
    }
    bool end_array() { return end_container(); }
    bool key(std::string& key);
    [[noreturn]] bool parse_error(std::size_t position, const std::string& last,
                                  const nlohmann::detail::exception& problem);

    /// The trace, once the file has been read.
    Trace finish();

  private:
    enum class Section { none, events, gpus, job, epoch };

    [[nodiscard]] bool in_event() const { return depth_ == event_depth_; }
    [[nodiscard]] bool in_args() const { return depth_ == event_depth_ + 1 && in_args_; }
    [[nodiscard]] bool is_time() const {
        return in_event() && (field_ == Field::start || field_ == Field::duration);
    }
    bool end_container() {
        if (depth_ == event_depth_ + 1) in_args_ = false;
        if (depth_ == event_depth_ - 1) event_depth_ = -1;  // the events are over
        --depth_;
        if (depth_ <= event_depth_ + 1) field_ = Field::none;
        return true;
    }
    void time(int64_t ns) { (field_ == Field::start ? event_.start_ns : event_.duration_ns) = ns; }
    bool number(int64_t value);
    void number_in_args(int64_t value);

    void add_event();
    void add_call(int64_t start_ns, int64_t end_ns);
    void add_operator(int64_t start_ns, int64_t end_ns, bool is_of_autograd);
    void add_work(Kind kind, int64_t start_ns, int64_t end_ns);
    int64_t name_index(const std::string& name);
    int64_t size_index(const LaunchSize& size);

    template <class Visit>
    void for_all_records(const Visit& visit);
    void mark_ranges_across_threads(int64_t process);
    void check_units() const;

    const std::filesystem::path& path_;
    const CompressedFile& file_;
    const bool with_operators_;
    Trace trace_;
    Event event_;
    Gpu gpu_;
    Section section_ = Section::none;  ///< of the top level
    Field field_ = Field::none;        ///< that the next value belongs to
    std::string key_;                  ///< the same, of a GPU or of the job
    int depth_ = 0, event_depth_ = -1;
    std::size_t element_ = 0;  ///< of an array
    bool has_events_ = false, in_args_ = false;
    int64_t epoch_ns_ = 0;  ///< when the clock of the file began, since 1970
    std::set<int64_t> processes_;
    std::vector<AutogradWork> autograd_;
    std::unordered_map<std::string, int64_t> index_of_name_;
    std::map<LaunchSize, int64_t> index_of_size_;
};

bool Reader::key(std::string& key) {
    if (depth_ == 1) {
        section_ = key == "traceEvents"           ? Section::events
                   : key == "deviceProperties"    ? Section::gpus
                   : key == "distributedInfo"     ? Section::job
                   : key == "baseTimeNanoseconds" ? Section::epoch
                                                  : Section::none;
    } else if (in_event()) {
        field_ = field_of(key, kOfEvent);
    } else if (in_args()) {
        field_ = field_of(key, kOfArgs);
    } else if (section_ == Section::gpus || section_ == Section::job) {
        key_ = key;
    }
    return true;
}

bool Reader::string(std::string& value) {
    if (in_event()) {
        if (field_ == Field::phase) event_.phase.swap(value);
        if (field_ == Field::category) event_.category.swap(value);
        if (field_ == Field::name) event_.name.swap(value);
    } else if (in_args()) {
        if (field_ == Field::domain) event_.domain.swap(value);
        if (field_ == Field::group) event_.group.swap(value);
    } else if (section_ == Section::gpus && depth_ == 3 && key_ == "name") {
        gpu_.name = clipped(value, kLongestName);
    }
    return true;
}

bool Reader::number(int64_t value) {
    if (is_time()) {
        const bool overflows = __builtin_mul_overflow(value, int64_t{1000}, &value);
        time(overflows ? (value < 0 ? INT64_MIN : INT64_MAX) : value);
    } else if (in_event()) {
        if (field_ == Field::process) event_.process = value;
        if (field_ == Field::thread) event_.thread = value;
    } else if (in_args()) {
        number_in_args(value);
    } else if (depth_ == event_depth_ + 2 && in_args_ && element_ < 3) {
        if (field_ == Field::grid) event_.size.grid[element_++] = value;
        if (field_ == Field::block) event_.size.block[element_++] = value;
    } else if (section_ == Section::epoch && depth_ == 1) {
        epoch_ns_ = value;
    } else if (section_ == Section::gpus && depth_ == 3 && key_ == "id") {
        gpu_.device = value;
    } else if (section_ == Section::job && depth_ == 2 && key_ == "rank") {
        trace_.rank = value;
    } else if (section_ == Section::job && depth_ == 2 && key_ == "world_size") {
        trace_.world_size = value;
    }
    return true;
}

void Reader::number_in_args(int64_t value) {
    if (field_ == Field::device) event_.device = value;
    if (field_ == Field::stream) event_.stream = value;
    if (field_ == Field::correlation) event_.correlation = value;
    if (field_ == Field::bytes) event_.bytes = value;
    if (field_ == Field::result) event_.result = value;
}

bool Reader::parse_error(std::size_t position, const std::string& last,
                         const nlohmann::detail::exception& problem) {
    if (file_.is_at_end())
        throw Error(fmt::format("{} is cut short: its JSON ends at byte {}, in the middle. {}",
                                path_.string(), position, kExportAgain));
    // Its sentence begins with "[json.exception.parse_error.101] parse error at line 1, column 7: ".
    const std::string_view said = problem.what();
    const std::size_t colon = said.find(": "), semicolon = said.find(';');
    const std::string_view reason =
        colon == said.npos
            ? said
            : said.substr(colon + 2, semicolon == said.npos ? semicolon : semicolon - colon - 2);
    constexpr std::size_t kShown = 40;
    throw Error(fmt::format("{} is no valid JSON at byte {}{}, behind '{}' ({}). {}", path_.string(),
                            position, file_.is_compressed() ? " of what gzip packed" : "",
                            printable(last.substr(last.size() - std::min(last.size(), kShown))), reason,
                            kExportAgain));
}

int64_t Reader::name_index(const std::string& name) {
    const auto [known, is_new] = index_of_name_.try_emplace(name, std::ssize(trace_.names));
    if (is_new) trace_.names.push_back(name);
    return known->second;
}

int64_t Reader::size_index(const LaunchSize& size) {
    if (!size.possible()) return -1;
    const auto [known, is_new] = index_of_size_.try_emplace(size, std::ssize(trace_.launch_sizes));
    if (is_new) trace_.launch_sizes.push_back(size);
    return known->second;
}

void Reader::add_event() {
    if (event_.phase != "X") return;
    const Kind kind = kind_of(event_.category);
    if (kind == Kind::other) return;
    const bool is_of_autograd = event_.name.starts_with("autograd::engine::evaluate_function");
    if (kind == Kind::operation && !is_of_autograd && !with_operators_) return;
    if (!event_.start_ns || !event_.duration_ns)
        throw Error(fmt::format("{} is damaged: its event '{}' of category {} has no {}. {}", path_.string(),
                                shorten(printable(event_.name), 60), event_.category,
                                event_.start_ns ? "dur, a duration in µs" : "ts, a time in µs",
                                kExportAgain));
    const int64_t start_ns = *event_.start_ns;
    int64_t end_ns = 0;
    if (__builtin_add_overflow(start_ns, *event_.duration_ns, &end_ns)) end_ns = INT64_MAX;
    if (kind == Kind::call)
        add_call(start_ns, end_ns);
    else if (kind == Kind::operation)
        add_operator(start_ns, end_ns, is_of_autograd);
    else if (kind == Kind::annotation)
        trace_.ranges.push_back({start_ns, end_ns, 0, event_.thread.value_or(0), event_.crosses_threads,
                                 clipped(event_.name, kLongestName), clipped(event_.domain, kLongestName)});
    else
        add_work(kind, start_ns, end_ns);
}

void Reader::add_call(int64_t start_ns, int64_t end_ns) {
    constexpr int64_t kNoCorrelation = -1;  // so that no work without one finds it
    if (event_.process) processes_.insert(*event_.process);
    trace_.api_calls.push_back({start_ns, end_ns,
                                event_.correlation == 0 ? kNoCorrelation : event_.correlation, 0,
                                event_.thread.value_or(0), name_index(clipped(event_.name, kLongestName)),
                                event_.result.value_or(0)});
    if (event_.result) trace_.knows_results = true;
}

void Reader::add_operator(int64_t start_ns, int64_t end_ns, bool is_of_autograd) {
    const int64_t thread = event_.thread.value_or(0);
    if (is_of_autograd) autograd_.push_back({start_ns, thread});
    if (with_operators_)
        trace_.operators.push_back(
            {start_ns, end_ns, thread, name_index(clipped(event_.name, kLongestName))});
}

void Reader::add_work(Kind kind, int64_t start_ns, int64_t end_ns) {
    const int64_t device = event_.device.value_or(event_.process.value_or(0));
    const int64_t stream = event_.stream.value_or(event_.thread.value_or(0));
    if (kind == Kind::kernel) {
        trace_.kernels.push_back(
            {start_ns, end_ns, stream, device, event_.correlation, 0, -1, name_index(event_.name),
             size_index(event_.size),
             event_.group.empty() ? -1 : name_index(clipped(event_.group, kLongestName))});
        return;
    }
    Copy copy{start_ns,         end_ns, stream, device, event_.correlation, 0, -1, event_.bytes,
              Direction::other, "",     "",     false};
    if (kind == Kind::set) copy.direction = Direction::set;
    read_name(event_.name, copy);
    trace_.copies.push_back(std::move(copy));
}

template <class Visit>
void Reader::for_all_records(const Visit& visit) {
    for (auto& kernel : trace_.kernels) visit(kernel);
    for (auto& copy : trace_.copies) visit(copy);
    for (auto& call : trace_.api_calls) visit(call);
    for (auto& range : trace_.ranges) visit(range);
}

/// The steps of the profiler's schedule are of the whole process. And backward() has its work launched by a
/// thread of autograd's, while the thread that called it waits: an annotation of the main thread, in which
/// autograd is busy elsewhere, has that work, too. The main thread is the one that takes the steps, or else
/// the process's first. Any other annotation has the work that its own thread launched, as in Kineto's own
/// gpu_user_annotation events.
void Reader::mark_ranges_across_threads(int64_t process) {
    const auto is_step = [](const Range& range) { return range.name.starts_with("ProfilerStep#"); };
    const auto step = std::find_if(trace_.ranges.begin(), trace_.ranges.end(), is_step);
    const int64_t main_thread = step == trace_.ranges.end() ? process : step->thread;
    std::vector<int64_t> elsewhere_ns;  // when autograd began something on another thread
    for (const AutogradWork& work : autograd_)
        if (work.thread != main_thread) elsewhere_ns.push_back(work.start_ns);
    std::sort(elsewhere_ns.begin(), elsewhere_ns.end());
    for (Range& range : trace_.ranges) {
        const auto next = std::lower_bound(elsewhere_ns.begin(), elsewhere_ns.end(), range.start_ns);
        const bool waits = range.thread == main_thread && next != elsewhere_ns.end() && *next < range.end_ns;
        range.crosses_threads = range.crosses_threads || is_step(range) || waits;
    }
}

/// A file that mixes units or clocks has work that begins years from its call. Where both begin at 0 nothing
/// tells them apart.
void Reader::check_units() const {
    constexpr int64_t kSecond_ns = 1'000'000'000, kEarliest_ns = -60 * kSecond_ns,
                      kLatest_ns = 86'400 * kSecond_ns;
    const auto check = [&](const auto& all) {
        for (const auto& work : all) {
            if (work.call < 0) continue;
            const int64_t later_ns =
                work.start_ns - trace_.api_calls[static_cast<std::size_t>(work.call)].start_ns;
            if (later_ns < kEarliest_ns || later_ns > kLatest_ns)
                throw Error(
                    fmt::format("{} mixes units of time, or clocks: GPU work begins {} s {} the call that "
                                "launched it. Times are read in µs, as Kineto writes them. {}",
                                path_.string(), std::abs(later_ns / kSecond_ns),
                                later_ns < 0 ? "before" : "after", kExportAgain));
        }
    };
    check(trace_.kernels);
    check(trace_.copies);
}

Trace Reader::finish() {
    if (!has_events_)
        throw Error(
            fmt::format("{} is JSON, but no trace: it has no array traceEvents. "
                        "export_chrome_trace() of torch.profiler writes one.",
                        path_.string()));
    if (trace_.kernels.empty() && trace_.copies.empty())
        throw Error(
            fmt::format("{} holds no GPU work. Profile with ProfilerActivity.CUDA, and let the profiler "
                        "stop after the GPU has begun.",
                        path_.string()));
    if (processes_.size() > 1)
        throw Error(
            fmt::format("{} holds the CUDA calls of {} processes, and which of them launched a kernel "
                        "cannot be told. Give the trace of one process.",
                        path_.string(), processes_.size()));
    const int64_t process = processes_.empty() ? 0 : *processes_.begin();
    const auto add_epoch = [&](auto& record) {
        if (__builtin_add_overflow(record.start_ns, epoch_ns_, &record.start_ns) ||
            __builtin_add_overflow(record.end_ns, epoch_ns_, &record.end_ns))
            record.start_ns = record.end_ns = INT64_MAX;  // refused below
    };
    for_all_records([&](auto& record) {
        record.process = process;
        add_epoch(record);
    });
    for (Operator& each : trace_.operators) add_epoch(each);
    for (AutogradWork& work : autograd_)
        if (__builtin_add_overflow(work.start_ns, epoch_ns_, &work.start_ns)) work.start_ns = INT64_MAX;
    check_and_sort(trace_, path_, kExportAgain);
    // Before baseTimeNanoseconds came, in 2023, times were since 1970 themselves.
    constexpr int64_t kYear2010_ns = 1'262'304'000'000'000'000;
    const int64_t first_ns =
        trace_.kernels.empty() ? trace_.copies.front().start_ns : trace_.kernels.front().start_ns;
    if (epoch_ns_ > 0 || first_ns > kYear2010_ns) trace_.epoch_ns = 0;
    mark_ranges_across_threads(process);
    link_to_calls(trace_);
    check_units();
    shorten_kernel_names(trace_);
    return std::move(trace_);
}

}  // namespace

int64_t ns_of_microseconds(std::string_view number) {
    const bool is_negative = number.starts_with('-');
    if (is_negative) number.remove_prefix(1);
    int exponent = 0;
    if (const std::size_t e = number.find_first_of("eE"); e != number.npos) {
        const std::size_t digits = e + (number.substr(e + 1).starts_with('+') ? 2 : 1);
        const auto [end, code] =
            std::from_chars(number.data() + digits, number.data() + number.size(), exponent);
        if (code != std::errc()) exponent = number[e + 1] == '-' ? -1000 : 1000;
        number = number.substr(0, e);
    }
    const std::size_t point = number.find('.');
    const std::string_view whole = number.substr(0, point);
    const std::string_view decimals = point == number.npos ? "" : number.substr(point + 1);
    // Digits in front of the point, once it has moved three places for ns.
    const int64_t kept = static_cast<int64_t>(whole.size()) + std::clamp(exponent, -1000, 1000) + 3;
    const auto digit = [&](int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        if (i < 0 || at >= whole.size() + decimals.size()) return 0;
        return (at < whole.size() ? whole[at] : decimals[at - whole.size()]) - '0';
    };
    int64_t ns = 0;
    bool overflows = false;
    for (int64_t i = 0; i < kept && !overflows; ++i)
        overflows = __builtin_mul_overflow(ns, int64_t{10}, &ns) ||
                    __builtin_add_overflow(ns, int64_t{digit(i)}, &ns);
    overflows = overflows || __builtin_add_overflow(ns, int64_t{digit(kept) >= 5}, &ns);
    if (overflows) return is_negative ? INT64_MIN : INT64_MAX;
    return is_negative ? -ns : ns;
}

bool is_kineto_trace(const std::filesystem::path& path) {
    try {
        CompressedFile file(path);
        std::istream text(&file);
        char first = 0;
        text.exceptions(std::ios::badbit);
        if (!(text >> first)) return false;
        return first == '{' || first == '[';
    } catch (const Error&) {
        return false;  // whoever opens it says why
    }
}

Trace read_kineto_trace(const std::filesystem::path& path, bool with_operators) {
    CompressedFile file(path);
    std::istream text(&file);
    Reader reader(path, file, with_operators);
    nlohmann::json::sax_parse(text, &reader);
    return reader.finish();
}

}  // namespace lab
