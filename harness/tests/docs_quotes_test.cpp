// Numbers in the text of pages, held against the recorded evidence of the course itself.
#include "lab/docs_quotes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace lab::docs_quotes_test {

namespace {

std::string filled(const std::string& line, const std::string& chapter = "ch05_streams") {
    static const Course course(LAB_SOURCE_FOLDER);
    static const std::vector<Chapter> chapters = course.chapters();
    static Quotes quotes(course, chapters);
    const auto page = std::find_if(chapters.begin(), chapters.end(),
                                   [&](const Chapter& each) { return each.id == chapter; });
    return quotes.filled(line, page == chapters.end() ? nullptr : &*page);
}

void refused(const std::string& line, const std::string& why, const std::string& chapter = "ch05_streams") {
    CAPTURE(line);
    CHECK_THROWS_WITH_AS((void)filled(line, chapter), doctest::Contains(why.c_str()), Error);
}

}  // namespace

// As recorded, `buggy` and `fixed` of chapter 5 have kernels in 1 and in 4 streams: its findings assert it.
TEST_CASE("quotes: a number becomes what its finding says, with the decimals that it is written with") {
    CHECK(filled("7<!--fixed.streams_used-->") == "4<!--fixed.streams_used-->");
    CHECK(filled("7.00<!--fixed.streams_used-->") == "4.00<!--fixed.streams_used-->");
    CHECK(filled("from 9<!--buggy.streams_used--> to 9.5<!--fixed.streams_used--> (9)") ==
          "from 1<!--buggy.streams_used--> to 4.0<!--fixed.streams_used--> (9)");
    CHECK(filled("1,5<!--fixed.streams_used-->") == "4<!--fixed.streams_used-->");
    CHECK(filled("0,000.0<!--fixed.streams_used*250000-->") == "1,000,000.0<!--fixed.streams_used*250000-->");
    CHECK(filled("1000<!--fixed.streams_used*250-->") == "1000<!--fixed.streams_used*250-->");
    CHECK(filled("0.0<!--3*(buggy.streams_used+fixed.streams_used)/2-->") ==
          "7.5<!--3*(buggy.streams_used+fixed.streams_used)/2-->");
}

TEST_CASE("quotes: exercises, single programs, other chapters and numbers in texts have names, too") {
    CHECK(filled("9<!--pageable_async.solution.answer-->") == "0<!--pageable_async.solution.answer-->");
    CHECK(filled("9<!--ch05.fixed.streams_used-->", "") == "4<!--ch05.fixed.streams_used-->");
    CHECK(filled("9<!--ch07.ceilings.tensor_how[1]-->") == "8192<!--ch07.ceilings.tensor_how[1]-->");
}

TEST_CASE("quotes: code and other comments are left alone") {
    for (const char* line : {"no number", "", "<!-- measured: pair -->", "5 <!-- five -->",
                             "`4<!--fixed.no_such-->` is code", "4 and `code` and 5"})
        CHECK(filled(line) == line);
}

TEST_CASE("quotes: what cannot be looked up is an error that says what to write") {
    refused("4<!--fixed.stream_used-->", "has no finding 'stream_used'; did you mean streams_used?");
    refused("4<!--pageable_async.fixed.answer-->", "is no program of ch05_streams");
    refused("4<!--fixed.streams_used-->", "names no chapter, and the page belongs to none", "");
    refused("4 <!--fixed.streams_used-->", "stands directly behind the number");
    refused("4<!--fixed.streams_used", "ends in -->");
    refused("4<!--fixed.streams_used;1-->", "';' is neither a name nor");
    refused("4<!--fixed.streams_used/0-->", "cannot be worked out");
    refused("4<!--2+2-->", "'2+2' names no finding");
    refused("4<!--fixed.streams_used[2]-->", "is one number, 4: leave [2] out");
    refused("4<!--fixed.streams_used[0]-->", "the number is chosen by [1]");
    refused("4<!--ch07.ceilings.tensor_how-->", "is the text");
}

}  // namespace lab::docs_quotes_test
