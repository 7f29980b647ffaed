// Are the edges of a graph those that were asked for? Builds small graphs with common/graph_compat.cuh and
// reads them back. Compiled against the real CUDA it asks CUDA itself and says 77 where there is no GPU;
// graph_compat.sh compiles it against the fakes beside it. Exits 1 if something is lost, added or turned
// round, with a line that says what.
#include <algorithm>

#include "common/graph_compat.cuh"

namespace {

using Edges = std::vector<std::pair<cudaGraphNode_t, cudaGraphNode_t>>;
int failures = 0;

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    ++failures;
}

void check_edges(cudaGraph_t graph, Edges expected, const char* what) {
    Edges found = edges_of(graph);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    check(found == expected, what);
}

cudaGraphNode_t add_empty(const Graph& graph, const std::vector<cudaGraphNode_t>& dependencies) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeEmpty;
    return add_node(graph.get(), dependencies, params);
}

void test_edges() {
    const Graph graph = make_graph();
    check_edges(graph.get(), {}, "an empty graph has edges");
    const cudaGraphNode_t top = add_empty(graph, {});
    check_edges(graph.get(), {}, "a node that depends on nothing has an edge");
    const cudaGraphNode_t left = add_empty(graph, {top}), right = add_empty(graph, {top});
    check_edges(graph.get(), {{top, left}, {top, right}},
                "a fork does not have the two edges that it was given");
    const cudaGraphNode_t bottom = add_empty(graph, {left, right});
    check_edges(graph.get(), {{top, left}, {top, right}, {left, bottom}, {right, bottom}},
                "a diamond does not have the four edges that it was given");
    check(instantiate(graph) != nullptr, "a diamond cannot be instantiated");
}

void test_conditional() {
    const Graph graph = make_graph();
    const cudaGraphNode_t before = add_empty(graph, {});
    const cudaGraph_t body =
        add_conditional(graph.get(), {before}, make_condition(graph.get(), 1), cudaGraphCondTypeWhile);
    const Edges edges = edges_of(graph.get());
    check(edges.size() == 1 && edges[0].first == before,
          "a conditional node does not wait for what it depends on");
    check(body && body != graph.get() && edges_of(body).empty(), "a conditional node has no empty body");
}

#ifdef FAKE_CUDA
/// What only a fake can show: edges with data, the flags of a condition, and that nothing is left alive.
void test_by_fake() {
    {
        const Graph graph = make_graph();
        const cudaGraphNode_t first = add_empty(graph, {}), second = add_empty(graph, {first});
        for (FakeEdge& edge : graph->edges) edge.has_data = true;
        check_edges(graph.get(), {{first, second}}, "an edge that carries data is lost");
    }
    (void)make_condition(nullptr, 7);
    check(fake.condition_value == 7 && fake.condition_flags == cudaGraphCondAssignDefault,
          "a condition does not begin every launch with its value");
    check(fake.graphs == 0 && fake.execs == 0, "a graph outlives its owner");
}
#endif

}  // namespace

int main() {
    require_gpu(0);
    test_edges();
    test_conditional();
#ifdef FAKE_CUDA
    test_by_fake();
#endif
    return failures == 0 ? 0 : 1;
}
