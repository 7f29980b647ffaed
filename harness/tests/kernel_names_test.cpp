#include "evidence/kernel_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include "core/files.h"
#include "evidence/analysis.h"
#include "hand_made_export.h"

namespace lab::kernel_names_test {

namespace {

using Made = HandMadeExport;
using Names = std::vector<std::string>;

const std::string kElementwise = "void at::native::vectorized_elementwise_kernel<4, ";

std::string elementwise(const std::string& functor, const std::string& array) {
    return kElementwise + functor + ", " + array + " >(int, " + functor + ", " + array + ")";
}

std::string stream_kernel(const std::string& function) {
    return "void for_each_kernel<CUDAStream<double>::" + function +
           "::[lambda(unsigned long) (instance 1)]>(unsigned long, T1)";
}

}  // namespace

TEST_CASE("kernel names: a short name is that of the function alone") {
    for (const auto& [full, name] : std::initializer_list<std::pair<const char*, const char*>>{
             {"void ns::add<float>(float*, int)", "add"},
             {"add(const float *, float *, unsigned long)", "add"},
             {"unsigned long count<(int)3>(T1 *)", "count"},
             {"void (anonymous namespace)::gemm<float, (bool)1>(int)", "gemm"},
             {"<unnamed>::fill(int *)", "fill"},
             {"void ns::(anonymous namespace)::fill", "fill"},
             {"std::enable_if<(1 < 2), void>::type ns::shift<(8 >> 2)>(int) [clone .cold]", "shift"},
             {"void ns::Functor::operator()<int>(int) const", "operator()"},
             {"void ns::Big::operator<<(Stream&)", "operator<<"},
             {"void ns::run<&ns::Value::operator->, ns::less<int> >(int)", "run"},
             {"void run<main::{lambda(int)#1}>(main::{lambda(int)#1})", "run"},
             {"decltype((x)+(y)) ns::sum<int, int>(int, int)", "sum"},
             {"void ns::tagged[abi:v1]<int>(int)", "tagged"},
             {"void apply<void (int, float)>(void (*)(int, float))", "apply"},
             {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
              "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
             {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)", "Kernel2"},
             {"triton_poi_fused__to_copy_add_0d1d2", "triton_poi_fused__to_copy_add_0d1d2"},
             {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
             {"_Z3addPfi", "_Z3addPfi"},
             {"CUDA graph as a whole", "CUDA graph as a whole"},
             {"", ""},
             {"void ns::cut_off<std::vector<int, std::alloc", "cut_off"},
             {"a < b", "a"},
             {"a, b", "a, b"},
             {")>]}", ")>]}"},
             {"(((", "((("},
             {"operator", "operator"},
             {"::", "::"}}) {
        CAPTURE(full);
        CHECK(short_kernel_name(full) == name);
    }
}

TEST_CASE("kernel names: what is short already stays so, and only what tells kernels apart is added") {
    CHECK(distinct_kernel_names({"add(int *)", "void ns::fill<float>(float *)"}) == Names{"add", "fill"});
    CHECK(distinct_kernel_names({"void add<float>(T1 *)", "void add<double>(T1 *)", "add(int)",
                                 "mul(int)"}) == Names{"add<float>", "add<double>", "add", "mul"});
    CHECK(distinct_kernel_names({"layer(const unsigned int *, int)", "layer(float *, int)"}) ==
          Names{"layer(const unsigned int *, …)", "layer(float *, …)"});
    CHECK(distinct_kernel_names({"void sort<(bool)1, (ns::Order)0, float>(T3 *)",
                                 "void sort<(bool)0, (ns::Order)0, int>(T3 *)",
                                 "void sort<(bool)0, (ns::Order)1, int>(T3 *)"}) ==
          Names{"sort<…, (Order)0, float>", "sort<…, (Order)0, int>", "sort<…, (Order)1, int>"});
    CHECK(distinct_kernel_names({"void a::add(int)", "void b::add(int)"}) ==
          Names{"void a::add(int)", "void b::add(int)"});
    CHECK(distinct_kernel_names({stream_kernel("add()"), stream_kernel("mul()"), stream_kernel("triad()"),
                                 stream_kernel("copy()"),
                                 stream_kernel("init_arrays(double, double, double)")}) ==
          Names{"for_each_kernel<add>", "for_each_kernel<mul>", "for_each_kernel<triad>",
                "for_each_kernel<copy>", "for_each_kernel<init_arrays>"});
    CHECK(distinct_kernel_names({"void f<aaa", "void f<bbb"}) == Names{"f<aaa", "f<bbb"});
    CHECK(distinct_kernel_names({"void f<ns::a<b>", "void f<ns::a<c>"}) == Names{"f<a<b>", "f<a<c>"});
    const std::string two = "std::array<char*, 2ul>", three = "std::array<char*, 3ul>";
    CHECK(distinct_kernel_names({elementwise("at::native::FillFunctor<float>", two),
                                 elementwise("at::native::CUDAFunctor_add<float>", three)}) ==
          Names{"vectorized_elementwise_kernel<…FillFunctor…>",
                "vectorized_elementwise_kernel<…CUDAFunctor_add…>"});
}

TEST_CASE("kernel names: they differ and are short, whatever strangers call their kernels") {
    const std::string long_word(5000, 'x');
    const Names hostile{"",
                        "add",
                        "add(int)",
                        "add(int) ",
                        "add<",
                        "add<>",
                        "add<…>",
                        "void add<float>(int)",
                        "void add<double>(int)",
                        "add<float>",
                        "add<double>",
                        long_word,
                        long_word + "y",
                        "void " + long_word + "<1>(int)",
                        "void " + long_word + "<2>(int)",
                        "void f<" + long_word + "1>(int)",
                        "void f<" + long_word + "2>(int)"};
    const auto check = [](const Names& full) {
        const Names shown = distinct_kernel_names(full);
        REQUIRE(shown.size() == full.size());
        CHECK(std::set<std::string>(shown.begin(), shown.end()).size() == full.size());
        for (const std::string& name : shown) CHECK(name.size() <= 1100);
    };
    check(hostile);
    std::mt19937 random(4);
    constexpr const char* kPieces[] = {
        "a", "b", "<", ">", "(", ")", "::", ", ", " ", "int", "{", "}", "operator"};
    for (int round = 0; round < 300; ++round) {
        std::set<std::string> full;
        for (int name = 0; name < 12; ++name) {
            std::string text = "void k<";
            for (int piece = 0; piece < 8; ++piece) text += kPieces[random() % std::size(kPieces)];
            full.insert(text);
        }
        check({full.begin(), full.end()});
    }
}

TEST_CASE("kernel names: the time that they take grows with their length alone" *
          doctest::test_suite("large input")) {
    const auto began = std::chrono::steady_clock::now();
    for (const char* piece : {"<", "(", ">", "a<(", "ns::", "operator<", "a, ", "x<y>::"}) {
        std::string text = "void k<";
        while (text.size() < 2'000'000) text += piece;
        (void)distinct_kernel_names({text + "1", text + "2"});
    }
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
}

TEST_CASE("kernel names: an analysis has a row for each kernel that differs, under the name that is shown") {
    const MadeCapture made([](Made& to) {
        int64_t at = 0;
        for (const char* function :
             {"add()", "mul()", "triad()", "copy()", "init_arrays(double, double, double)"}) {
            for (int run = 0; run < 2; ++run, at += 20)
                to.launch(at, {.start = at + 5,
                               .end = at + 15,
                               .correlation = at,
                               .name = "for_each_kernel",
                               .full_name = stream_kernel(function)});
        }
        to.launch(at, {.start = at + 5,
                       .end = at + 15,
                       .correlation = at,
                       .name = "cudaLaunchKernel",
                       .full_name = "cudaLaunchKernel"});
    });
    const Trace& trace = made.capture.trace();
    const Analysis a = analyse(trace);
    REQUIRE(a.kernels.size() == 6);
    CHECK(a.kernels[0].name == "for_each_kernel<add>");
    CHECK(a.kernels[0].full_name == stream_kernel("add()"));
    CHECK(a.kernels[0].count == 2);
    CHECK(a.kernels[5].name == "cudaLaunchKernel");
    CHECK(a.api.size() == 1);
    CHECK(made.answer("SELECT DISTINCT name FROM kernels ORDER BY 1") == "cudaLaunchKernel for_each_kernel");
}

}  // namespace lab::kernel_names_test
