#include "evidence/capture.h"

#include "evidence/schema.h"

namespace lab {

namespace {

/// An SQL function that asks the capture; no answer is NULL. An Error becomes one of SQLite, since no
/// exception may pass through C code.
template <class Answer>
void answer_sql(sqlite3_context* context, int, sqlite3_value** arguments) {
    const auto argument = [&](int i) { return sqlite3_value_int64(arguments[i]); };
    try {
        const auto& capture = *static_cast<const Capture*>(sqlite3_user_data(context));
        const std::optional<int64_t> answer = Answer{}(capture, argument);
        if (answer) sqlite3_result_int64(context, *answer);
    } catch (const std::exception& problem) {
        sqlite3_result_error(context, problem.what(), -1);
    }
}

}  // namespace

Capture::Capture(const Database& database) : database_(database) {
    const auto add = [&]<class Answer>(const char* name, int arguments, Answer) {
        sqlite3_create_function_v2(database.handle(), name, arguments, SQLITE_UTF8 | SQLITE_INNOCUOUS, this,
                                   answer_sql<Answer>, nullptr, nullptr, nullptr);
    };
    add("launched_by", 2,
        [](const Capture& c, auto argument) { return c.launch_of(argument(0), argument(1)); });
    add("in_range", 2,
        [](const Capture& c, auto argument) { return c.is_in_range(argument(0), argument(1)); });
    add("in_host_range", 1, [](const Capture& c, auto argument) { return c.is_in_host_range(argument(0)); });
    add("in_gpu_range", 1, [](const Capture& c, auto argument) { return c.is_in_gpu_range(argument(0)); });
    add("range_gpu_start", 1, [](const Capture& c, auto argument) {
        const auto time = c.gpu_time_of_range(argument(0));
        return time ? std::optional(time->begin) : std::nullopt;
    });
    add("range_gpu_end", 1, [](const Capture& c, auto argument) {
        const auto time = c.gpu_time_of_range(argument(0));
        return time ? std::optional(time->end) : std::nullopt;
    });
    create_views(database);
}

const Trace& Capture::trace() const {
    if (!trace_) trace_ = read_trace(database_);
    return *trace_;
}

Capture::Narrowed::Narrowed(const Capture& capture, const std::optional<std::string>& range)
    : capture_(capture) {
    if (!range) return;
    auto at = capture.selections_.find(*range);
    if (at == capture.selections_.end())
        at = capture.selections_.emplace(*range, Launches(capture.trace()).select(*range)).first;
    capture.selected_ = &at->second;
}

int64_t Capture::launch_of(int64_t process, int64_t start_ns) const {
    if (!attribution_) attribution_.emplace(database_);
    return attribution_->launch_of(process, start_ns);
}

bool Capture::is_in_range(int64_t process, int64_t correlation) const {
    if (!selected_) return true;
    if (!calls_) calls_.emplace(trace());
    const int64_t call = calls_->find(process, correlation);
    return call >= 0 && selected_->calls[static_cast<std::size_t>(call)];
}

bool Capture::is_in_host_range(int64_t time_ns) const {
    return !selected_ || contains(selected_->host, time_ns);
}

bool Capture::is_in_gpu_range(int64_t time_ns) const {
    return !selected_ || is_in_any(selected_->windows, time_ns);
}

std::optional<Interval> Capture::gpu_time_of_range(int64_t id) const {
    if (!gpu_times_) {
        const Launches launches(trace());
        gpu_times_.emplace();
        for (const Range& range : trace().ranges)
            if (const auto time = launches.gpu_time_of(range)) gpu_times_->emplace(range.id, *time);
    }
    const auto at = gpu_times_->find(id);
    return at == gpu_times_->end() ? std::nullopt : std::optional(at->second);
}

}  // namespace lab
