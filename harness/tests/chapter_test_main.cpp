// doctest's main for a chapter's test: 77 where everything that could be checked holds, and something could
// not.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "chapter_checks.h"
#include "core/error.h"

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (context.shouldExit() || result != 0) return result;
    return lab::anything_skipped() ? lab::kNothingCouldRun : result;
}
