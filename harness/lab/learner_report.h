// What a learner hands in: the JSON that `lab report --json` prints and `lab class` reads. It holds a name,
// states, counts and times; no path and nothing of the machine.
//
//   {"format": "cuda-tools-course report", "version": 1, "learner": "Ada", "made": "2026-11-20T05:24:41Z",
//    "last_activity": a time or null, "chapters": [
//     {"chapter": "ch05_streams", "passed": 0, "quiz": {"right": 3, "questions": 13}, "exercises": [
//      {"name": "vector_add_pipeline", "state": "not started", "started", "ungraded", "tried" or "passed",
//       "checks": 2, "hints": 1, "failed": [findings], "last_activity": a time or null}]}]}
#pragma once

namespace lab {

constexpr const char* kReportFormat = "cuda-tools-course report";
constexpr int kReportVersion = 1;

}  // namespace lab
