#include "core/text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/process.h"
#include "core/table.h"

namespace lab::text_test {

TEST_CASE("durations take the unit that suits them") {
    CHECK(format_ns(999.6) == "1 µs");
    CHECK(format_ns(15'872) == "15.9 µs");
    CHECK(format_ns(24'498'926) == "24.5 ms");
    CHECK(format_ns(7.2e12) == "7200 s");
    CHECK(format_ns(-2'500) == "-2.5 µs");
    CHECK(format_ns(std::nan("")) == "n/a ns");
}

TEST_CASE("sizes are decimal") {
    CHECK(format_bytes(1'024) == "1.02 kB");
    CHECK(format_bytes(400'000'000) == "400 MB");
    CHECK(format_bytes(1.2e12) == "1200 GB");
}

TEST_CASE("numbers have no more digits than they need") {
    CHECK(format_number(0) == "0");
    CHECK(format_number(1.0 / 3) == "0.3333");
    CHECK(format_number(2.0 / 3, 2) == "0.67");
    CHECK(format_number(-12.3456) == "-12.35");
    CHECK(format_number(0.000123456) == "0.0001235");
    CHECK(format_number(9.9996) == "10");
    CHECK(format_number(1'234'567) == "1234567");
    CHECK(format_number(std::nan("")) == "n/a");
    CHECK(with_commas("123") == "123");
    CHECK(with_commas("-123456.125") == "-123,456.125");
    CHECK(percent_of(1, 8) == "12.5 %");
    CHECK(percent_of(1, 0) == "n/a");
}

TEST_CASE("valid UTF-8 survives, and each broken byte is replaced") {
    const std::string valid = "aµ…日😀";
    CHECK(encode_utf8(decode_utf8(valid)) == valid);
    CHECK(decode_utf8("\x80") == U"\uFFFD");                                // continuation alone
    CHECK(decode_utf8("\xC0\xAF") == U"\uFFFD\uFFFD");                      // overlong
    CHECK(decode_utf8("\xE0\x80\xAF") == U"\uFFFD\uFFFD\uFFFD");            // overlong
    CHECK(decode_utf8("\xF4\x90\x80\x80") == U"\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond the last
    CHECK(decode_utf8("\xE2\x82x") == U"\uFFFD\uFFFDx");
}

TEST_CASE("a name from a stranger cannot steer the terminal") {
    CHECK(printable("kernel<float>(int)") == "kernel<float>(int)");
    CHECK(printable("a\nb\tc") == "a b c");
    CHECK(printable("\x1b[31mred\x1b[0m") == "[31mred[0m");
    CHECK(printable("a\rb\x7f") == "ab");
    CHECK(printable(std::string_view("a\0b", 3)) == "ab");
    const std::string one_byte_escape = "\xc2\x9b";  // U+009B begins a sequence as ESC [ does
    CHECK(printable(one_byte_escape + "31m") == "31m");
    CHECK(printable("\x9b"
                    "31m") == "\uFFFD31m");
    // C0 and DEL with C1, marks and overrides of direction, line and paragraph separators, and what XML
    // forbids.
    constexpr std::pair<char32_t, char32_t> kHarmful[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200B, 0x200F}, {0x2028, 0x202E},
        {0x2060, 0x2064}, {0x2066, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFFE, 0xFFFF}};
    for (const auto& [first, last] : kHarmful)
        for (char32_t character = first; character <= last; ++character) {
            CAPTURE(static_cast<int>(character));
            const bool is_space = character == '\n' || character == '\t';
            CHECK(printable("a" + encode_utf8({&character, 1}) + "b") == (is_space ? "a b" : "ab"));
        }
}

TEST_CASE("width counts characters, not bytes") {
    CHECK(display_width("µs … ─") == 6);
    CHECK(display_width("\x1b[31mred\x1b[0m") == 3);
    CHECK(display_width("\x1b[31") == 0);
    CHECK(display_width("日本 😀") == 7);
    CHECK(display_width("e\u0301") == 1);  // an accent joins its letter
}

TEST_CASE("a long text is cut where a character ends") {
    CHECK(shorten("abcdefg", 6) == "abcde…");
    CHECK(shorten("µµµµ", 3) == "µµ…");
    CHECK(shorten("ab", 1) == "…");
    CHECK(shorten("ab", 0).empty());
    CHECK(shorten("日本語", 5) == "日本…");
    CHECK(shorten("日本語", 4) == "日…");
    for (std::size_t width = 0; width < 12; ++width)
        CHECK(display_width(shorten("aµb…c─dé", width)) <= width);
}

TEST_CASE("a name keeps its ends") {
    CHECK(shorten_middle("abcdefg", 7) == "abcdefg");
    CHECK(shorten_middle("abcdefg", 6) == "ab…efg");
    CHECK(shorten_middle("日本語日本", 6) == "日…本");
    for (std::size_t width = 0; width < 12; ++width)
        CHECK(display_width(shorten_middle("aµb…c─déf日", width)) <= width);
}

TEST_CASE("text splits at every separator and joins again") {
    CHECK(split("", ',') == std::vector<std::string>{""});
    CHECK(split(",a,,b,", ',') == std::vector<std::string>{"", "a", "", "b", ""});
    CHECK(join(split(",a,,b,", ','), ",") == ",a,,b,");
    CHECK(join({}, ", ").empty());
    CHECK(join({"a", "b"}, ", ") == "a, b");
}

TEST_CASE("a shell reads a printed command back as the same words") {
    CHECK(shell_line({"nsys", "profile", "--trace=cuda,nvtx", "-o", "a/b.nsys-rep"}) ==
          "nsys profile --trace=cuda,nvtx -o a/b.nsys-rep");
    CHECK(shell_line({"./a program", ""}) == "'./a program' ''");

    std::mt19937 random(11);
    const std::string letters = "ab '\"\\$`!*?[]{}()<>|&;#~=-\n\t%^@,.:+µ";
    std::uniform_int_distribution<std::size_t> letter(0, letters.size() - 1), length(0, 8);
    std::vector<std::string> words{"printf", "%s\\037"};
    for (int i = 0; i < 200; ++i) {
        std::string word;
        for (std::size_t n = length(random); n > 0; --n) word += letters[letter(random)];
        words.push_back(word);
    }
    std::string expected;
    for (std::size_t i = 2; i < words.size(); ++i) expected += words[i] + "\037";
    CHECK(run({.words = {"sh", "-c", shell_line(words)}}).out == expected);
}

TEST_CASE("the nearest word is suggested, or none") {
    const std::vector<std::string> names{"vector_add_pipeline", "pageable_async", "priority"};
    CHECK(nearest("priorty", names) == "priority");
    CHECK(nearest("vector_add_piplin", names) == "vector_add_pipeline");
    CHECK(nearest("pageable-async", names) == "pageable_async");
    CHECK(nearest("ch04", {"ch05", "ch07"}) == "ch05");
}

namespace {

Table measured() {
    Table table({"finding", "value"}, {Align::left, Align::right});
    table.add({"streams", "4"});
    table.add({"wall time", "12.5 µs"});
    return table;
}

}  // namespace

TEST_CASE("columns are as wide as their widest cell") {
    CHECK(measured().text() ==
          "  finding      value\n"
          "  ─────────  ───────\n"
          "  streams          4\n"
          "  wall time  12.5 µs\n");
}

TEST_CASE("Markdown keeps the alignment and its own bars") {
    CHECK(measured().markdown() ==
          "| finding | value |\n"
          "| --- | ---: |\n"
          "| streams | 4 |\n"
          "| wall time | 12.5 µs |\n");
    Table bars({"sql"});
    bars.add({"a || b"});
    CHECK(bars.markdown() == "| sql |\n| --- |\n| a \\|\\| b |\n");
}

TEST_CASE("a name that is wider than its column has a line of its own, as far in as its cell") {
    Table table({"counter", "value"}, {Align::left, Align::right});
    table.add({"launch 0  of a kernel with a long name", ""});
    table.add({"  smsp__sass_average_data_bytes.ratio", "4"});
    table.add({"  two words that are rather long", "5"});
    CHECK(table.text(2, 40) ==
          "  counter                          value\n"
          "  ───────────────────────────────  ─────\n"
          "  launch 0  of a kernel with a long name\n"
          "    smsp__sass_average_data_bytes.ratio\n"
          "                                       4\n"
          "    two words that are rather          5\n"
          "    long\n");
    table.add({"  smsp__sass_average_data_bytes_per_sector.ratio", "6"});
    CHECK(table.text(2, 40).find("\n    smsp__sass_avera…es_per_sector.ratio\n") != std::string::npos);
}

TEST_CASE("a value that does not fit goes below its row, and a sentence is broken between words") {
    Table table({"what", "value", "verdict"}, {Align::left, Align::right, Align::left});
    table.add({"kernel", "sm90_xmma_gemm_f32f32_tf32f32", "pass"});
    table.add({"bytes", "1.5 MB", "not run"});
    CHECK(table.text(0, 40) ==
          "what     value  verdict\n"
          "──────  ──────  ───────\n"
          "kernel          pass\n"
          "  value: sm90_xmma_gemm_f32f32_tf32f32\n"
          "bytes   1.5 MB  not run\n");
    CHECK(table.text(0, 33).find("  value:\n    sm90_xmma_gemm_f32f32_tf32f32\n") != std::string::npos);
    CHECK(table.text(0, 60).find("kernel  sm90_xmma_gemm_f32f32_tf32f32  pass") != std::string::npos);
}

TEST_CASE("lines break between words, and never in a command or in code") {
    using Lines = std::vector<std::string>;
    CHECK(wrapped("one two three", 7) == Lines{"one two", "three"});
    CHECK(wrapped("as in ./lab run ch05/x --live it runs", 9) ==
          Lines{"as in", "./lab run ch05/x --live", "it runs"});
    CHECK(wrapped("then ./lab doctor. It says more", 12) == Lines{"then", "./lab doctor.", "It says more"});
    CHECK(wrapped("with `nsys profile ./a` and so", 8) == Lines{"with", "`nsys profile ./a`", "and so"});
    CHECK(wrapped("the `nsys profile", 8) == Lines{"the", "`nsys", "profile"});
    CHECK(wrapped("it is " + unbroken("> 5 and < 7"), 8) == Lines{"it is", "> 5 and < 7"});
    CHECK(wrapped("H2D at 10 GB/s, for 5 ms", 10) == Lines{"H2D at", "10 GB/s,", "for 5 ms"});
}

}  // namespace lab::text_test
