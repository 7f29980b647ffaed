// The blocks of slides, and the answer key, from the recorded evidence of the course itself.
#include "lab/docs_slides.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "core/error.h"
#include "lab_binary.h"

namespace lab::docs_slides_test {

namespace {

const Course& the_course() {
    static const Course course(LAB_SOURCE_FOLDER);
    return course;
}

const Chapter& streams() {
    static const Chapter chapter = the_course().chapter("ch05");
    return chapter;
}

}  // namespace

TEST_CASE("slides: questions come without answers, and answers with their reasons") {
    const std::string asked = questions_block(streams(), "look");
    CHECK(asked.starts_with("1. " + streams().look[0].asks + "\n2. "));
    CHECK(asked.find(streams().look[0].why) == std::string::npos);
    CHECK(answers_block(the_course(), streams(), "look")
              .starts_with("1. **1 stream.** " + streams().look[0].why));
    CHECK(questions_block(the_course().chapter("ch07"), "look").find("? *a)* ") != std::string::npos);
    const std::string share = answers_block(the_course(), the_course().chapter("ch02"), "look");
    CHECK(std::regex_search(share, std::regex(R"(^1\. \*\*[\d.]+ %\.\*\*)")));
}

TEST_CASE("slides: chosen findings, a share of them in percent") {
    const std::string proof = proof_block(the_course(), streams(), "streams_used h2d_hidden");
    CHECK(std::regex_search(proof, std::regex(R"(\| streams that carry kernels *\| 1 *\| 4 *\|)")));
    CHECK(std::regex_search(proof, std::regex(R"(\| 0 % \| [\d.]+ % \|)")));
    CHECK(proof.find("*recorded · ") != std::string::npos);
}

TEST_CASE("slides: a wrong answer is shown without its reason, which is for the notes") {
    const std::string shown = wrong_block(the_course(), streams(), "pageable_async no_wait");
    CHECK(shown.starts_with("```diff\n@@ "));
    CHECK(shown.find("-        CUDA_CHECK(cudaDeviceSynchronize());\n") != std::string::npos);
    const std::string why = why_block(streams(), "pageable_async no_wait");
    const std::string sentence = why.substr(0, why.find('\n'));
    CHECK(sentence.size() > 20);
    CHECK(shown.find(sentence) == std::string::npos);
    CHECK(why.find("\n- exit code of the program") != std::string::npos);
}

TEST_CASE("slides: what is not there is an error that names it") {
    const auto refused = [](const auto& make, const char* why) {
        CHECK_THROWS_WITH_AS((void)make(), doctest::Contains(why), Error);
    };
    refused([] { return questions_block(streams(), "quiz no_such"); }, "no question 'no_such'");
    refused([] { return questions_block(streams(), "looks"); }, "neither 'look' nor 'quiz ID ID'");
    refused([] { return proof_block(the_course(), streams(), "streams_use"); }, "no finding 'streams_use'");
    refused([] { return wrong_block(the_course(), streams(), "pageable_async no_wai"); },
            "'EXERCISE ANSWER'");
}

TEST_CASE("answers: the key grades as right, and has each draw of an unknown exercise") {
    const auto key = nlohmann::json::parse(run_lab({"answers", "ch05", "--json"}).out);
    const TemporaryFolder folder;
    std::string look, review;
    std::set<std::string> of;
    for (const auto& item : key) {
        CHECK_MESSAGE(!item.at("answer").get<std::string>().empty(), item.at("id"));
        of.insert(item.at("of"));
        if (item.at("command") == "look")
            look += item.at("id").get<std::string>() + " = " + item.at("answer").get<std::string>() + "\n";
        if (item.at("command") == "review" && item.at("of") == "ch05/pageable_async")
            review += item.at("id").get<std::string>() + " = " +
                      split(item.at("answer").get<std::string>(), ' ')[0] + "\n";
    }
    CHECK(of.contains("ch05"));
    CHECK(of.contains("ch05/frame_store:1"));
    CHECK(of.contains("ch05/frame_store:2"));
    write_file(folder.path() / "look.txt", look);
    const CourseCopy copy;
    CHECK(run_lab({"look", "ch05", "--answers", (folder.path() / "look.txt").string()}, copy.root())
              .exit_code == 0);
    CHECK(run_lab({"answers", "ch05/beehives"}).out.find("./lab diagnose ch05/beehives") !=
          std::string::npos);
    write_file(folder.path() / "review.txt", review);
    CHECK(run_lab({"review", "ch05/pageable_async", "--answers", (folder.path() / "review.txt").string()},
                  copy.root())
              .exit_code == 0);
    CHECK(run_lab({"answers", "ch05/pageable_async"}).out.find("right/registered.patch") !=
          std::string::npos);
}

}  // namespace lab::docs_slides_test
