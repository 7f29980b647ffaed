#include "bench/synthetic_export.h"

#include <fmt/format.h>

#include <string>

#include "evidence/database.h"

namespace lab {

namespace {

constexpr int64_t kStreams = 8, kThreads = 2, kKernelNames = 400;
constexpr int64_t kKernelsPerCopy = 50, kKernelsPerRange = 10, kKernelsPerPause = 1000;
constexpr int64_t kStep_ns = 5000, kPause_ns = 60'000;
constexpr int64_t kProcess = (int64_t{1} << 48) + (int64_t{4711} << 24);

/// Tables and columns as nsys 2025.3 writes them, those that the views read.
constexpr const char* kSchema = R"(
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
BEGIN;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
    (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device');
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
    (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host');
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59, 'NvtxPushPopRange', NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'a GPU that does not exist');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
    gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
    copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, contextId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER);
)";

/// Writes one row; the cells are whole numbers.
template <class... Cell>
void insert(Statement& row, Cell... cell) {
    row.reset();
    int parameter = 0;
    (row.bind(++parameter, static_cast<int64_t>(cell)), ...);
    row.next();
}

void write_names(const Database& database) {
    Statement row = database.prepare("INSERT INTO StringIds VALUES (?1, ?2)");
    const auto add = [&](int64_t id, const std::string& name) {
        row.reset();
        row.bind(1, id).bind(2, name).next();
    };
    add(1, "cudaLaunchKernel_v7000");
    add(2, "cudaMemcpyAsync_v3020");
    add(3, "time step");
    for (int64_t i = 0; i < kKernelNames; ++i) add(100 + i, fmt::format("kernel_{}", i));
}

}  // namespace

void write_synthetic_export(const std::filesystem::path& path, int64_t kernels) {
    const Database database = Database::create(path);
    database.execute(kSchema);
    write_names(database);
    Statement kernel = database.prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, 0, 1, ?3, ?4, ?5, ?6, ?6, 128, 1, 1, 256, 1, "
        "1)");
    Statement copy = database.prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)");
    Statement call =
        database.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, ?3, ?4, ?5, 0)");
    Statement range = database.prepare("INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, NULL, ?3, 3, 0)");
    for (int64_t i = 0; i < kernels; ++i) {
        const int64_t at = i * kStep_ns + i / kKernelsPerPause * kPause_ns, began = at + 8000 + i % 7 * 300,
                      took = 2000 + i % 11 * 900;
        const int64_t stream = 13 + i % kStreams, thread = kProcess + 1 + i % kThreads;
        const bool copies = i % kKernelsPerCopy == 0, up = i / kKernelsPerCopy % 2 == 0;
        insert(call, at, at + 2500, thread, i, copies ? 2 : 1);
        if (copies)
            insert(copy, began, began + took, stream, i, kProcess, 1'000'000, up ? 1 : 2, up ? 1 : 2,
                   up ? 2 : 1);
        insert(kernel, began + (copies ? took : 0), began + took + (copies ? took : 0), stream, i, kProcess,
               100 + i * kKernelNames / kernels);
        if (i % kKernelsPerRange == 0) insert(range, at, at + kKernelsPerRange * kStep_ns, thread);
    }
    database.execute("COMMIT");
}

}  // namespace lab
