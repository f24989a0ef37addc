// SPDX-License-Identifier: Apache-2.0
// Tables and columns of the exports of Nsight Systems 2020.3 to 2025: kernels in
// CUPTI_ACTIVITY_KIND_KERNEL with names as ids of StringIds, copies in CUPTI_ACTIVITY_KIND_MEMCPY.
#include <limits>
#include <memory>
#include <sqlite3.h>

#include <fmt/format.h>

#include "calibration/import/nsys.hpp"
#include "configs/reader/foreign_text.hpp"

namespace weft::calibration {
namespace {

using config::Findings;

constexpr std::int64_t kPeerCopy = 10;  // CUPTI_ACTIVITY_MEMCPY_KIND_PTOP (cupti_activity.h)
constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;
constexpr std::int64_t kLongestRowNs = std::int64_t{1} << 47;  // two days

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

Statement prepare(sqlite3* database, const char* query) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, query, -1, &statement, nullptr) != SQLITE_OK) return nullptr;
  return Statement(statement);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  if (text == nullptr) return {};
  return {text, text + sqlite3_column_bytes(statement, column)};
}

class DatabaseReader {
 public:
  DatabaseReader(sqlite3* database, GpuTrace& trace, Findings& findings)
      : database_(database), trace_(trace), findings_(findings), index_(trace) {}

  void read() {
    Statement kernels;
    for (const char* query :
         {"SELECT k.start, k.end, k.deviceId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN "
          "StringIds s ON s.id = k.demangledName",
          "SELECT k.start, k.end, k.deviceId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN "
          "StringIds s ON s.id = k.shortName"}) {
      if (!kernels) kernels = prepare(database_, query);
    }
    if (!kernels) {
      findings_.error(0, "the database has no table of GPU kernels",
                      "nsys profile --trace=cuda, then nsys export --type sqlite");
      return;
    }
    rows(kernels.get(), [&](const std::string& name) {
      Operation operation;
      operation.name = "compute";
      if (auto collective = communication_of(name)) {
        operation.kind = ActivityKind::communication;
        operation.name = std::move(*collective);
      }
      return operation;
    });
    if (const Statement copies = prepare(database_,
                                         "SELECT start, end, deviceId, copyKind FROM "
                                         "CUPTI_ACTIVITY_KIND_MEMCPY")) {
      rows(copies.get(), [&](const std::string& kind) {
        const bool peer = kind == std::to_string(kPeerCopy);
        Operation operation;
        operation.kind = peer ? ActivityKind::communication : ActivityKind::memory;
        operation.name = peer ? "peer copy" : "memory";
        return operation;
      });
    }
    if (const Statement gpus = prepare(database_, "SELECT id, name FROM TARGET_INFO_GPU")) {
      while (sqlite3_step(gpus.get()) == SQLITE_ROW) {
        const std::int64_t id = sqlite3_column_int64(gpus.get(), 0);
        if (id >= 0 && id < 4096)
          trace_.devices[static_cast<std::int32_t>(id)] = text_of(gpus.get(), 1);
      }
    }
    if (bad_ != 0) findings_.note(0, fmt::format("{} rows without usable times are ignored", bad_));
    findings_.note(0, "groups and message sizes of collectives are not in this database");
  }

 private:
  template <class Name>
  void rows(sqlite3_stmt* statement, Name&& operation_of) {
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      const std::int64_t begin = sqlite3_column_int64(statement, 0);
      const std::int64_t end = sqlite3_column_int64(statement, 1);
      const std::int64_t device = sqlite3_column_int64(statement, 2);
      if (begin < 0 || end < begin || end > kLatestNs || end - begin > kLongestRowNs ||
          device < 0 || device > std::numeric_limits<std::int32_t>::max()) {
        ++bad_;
        continue;
      }
      trace_.activities.push_back({begin, end, index_.of(operation_of(text_of(statement, 3))),
                                   static_cast<std::int32_t>(device)});
    }
    if (code == SQLITE_DONE) return;
    trace_.cut = true;
    findings_.note(0, fmt::format("the database is cut or damaged: {} rows of it were read",
                                  trace_.activities.size()));
  }

  sqlite3* database_;
  GpuTrace& trace_;
  Findings& findings_;
  OperationIndex index_;
  std::uint64_t bad_ = 0;
};

GpuTrace read_database(sqlite3* database, const std::string& name) {
  Findings findings(name);
  GpuTrace trace;
  trace.source = "Nsight Systems";
  DatabaseReader(database, trace, findings).read();
  if (findings.good() && trace.activities.empty()) {
    findings.error(0, "no GPU activity is in this database");
  }
  findings.throw_errors();
  trace.notes = findings.take_notes();
  return trace;
}

[[noreturn]] void refuse(const std::string& name, sqlite3* database) {
  throw config::ConfigErrors(
      {.file = name,
       .line = 0,
       .column = 0,
       .json_pointer = {},
       .message = fmt::format("cannot be opened as a database: {}",
                              database ? sqlite3_errmsg(database) : "no memory"),
       .hint = {}});
}

}  // namespace

bool looks_like_sqlite(std::string_view head) {
  return head.starts_with("SQLite format 3");
}

GpuTrace read_nsys_sqlite(const std::string& file) {
  sqlite3* open = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &open, SQLITE_OPEN_READONLY, nullptr);
  const Database database(open);
  if (code != SQLITE_OK) refuse(file, open);
  return read_database(open, file);
}

GpuTrace parse_nsys_sqlite(std::string_view bytes, const std::string& name) {
  sqlite3* open = nullptr;
  const int code = sqlite3_open_v2(":memory:", &open, SQLITE_OPEN_READWRITE, nullptr);
  const Database database(open);
  if (code != SQLITE_OK) refuse(name, open);
  // SQLite does not write to what it is told to be read-only.
  std::string copy(bytes);
  auto* data = reinterpret_cast<unsigned char*>(copy.data());
  const auto size = static_cast<sqlite3_int64>(copy.size());
  if (sqlite3_deserialize(open, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    refuse(name, open);
  }
  return read_database(open, name);
}

}  // namespace weft::calibration
