// CUDA graphs: owners for them, and the calls whose signatures changed between CUDA 12 and 13. Since 12.3 an
// edge of a graph may carry data. Up to 12.9 the calls that know of it are named ..._v2, beside the plain
// names; in 13.0 they took over the plain names. All other calls of the graph API need no help.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/check.cuh"

#if CUDART_VERSION < 12040
#error "CUDA 12.4 or later is needed: graphs with conditional nodes begin there"
#elif CUDART_VERSION < 13000
#define GRAPH_CALL(name) name##_v2
#else
#define GRAPH_CALL(name) name
#endif

struct GraphDestroy {
    void operator()(cudaGraph_t graph) const noexcept {
        report_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
};
struct GraphExecDestroy {
    void operator()(cudaGraphExec_t exec) const noexcept {
        report_cuda(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    }
};

/// What shall be done, in which order: nodes and edges. It cannot be launched.
using Graph = std::unique_ptr<CUgraph_st, GraphDestroy>;
/// A graph made ready for the GPU. It outlives its Graph, which updates by node still need.
using GraphExec = std::unique_ptr<CUgraphExec_st, GraphExecDestroy>;

[[nodiscard]] inline Graph make_graph() {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaGraphCreate(&graph, 0));
    return Graph(graph);
}

[[nodiscard]] inline GraphExec instantiate(const Graph& graph) {
    cudaGraphExec_t exec = nullptr;
    CUDA_CHECK(cudaGraphInstantiate(&exec, graph.get(), 0));
    return GraphExec(exec);
}

/// A node that runs when all of `dependencies` are done. CUDA may write into `params` (a conditional's
/// bodies).
inline cudaGraphNode_t add_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& dependencies,
                                cudaGraphNodeParams& params) {
    cudaGraphNode_t node = nullptr;
    // No data: plain edges, whose end waits until all of their beginning is done.
    CUDA_CHECK(GRAPH_CALL(cudaGraphAddNode)(&node, graph, dependencies.data(), nullptr, dependencies.size(),
                                            &params));
    return node;
}

/// All edges of a graph, each as (from, to), in no particular order.
[[nodiscard]] inline std::vector<std::pair<cudaGraphNode_t, cudaGraphNode_t>> edges_of(cudaGraph_t graph) {
    std::size_t count = 0;
    CUDA_CHECK(GRAPH_CALL(cudaGraphGetEdges)(graph, nullptr, nullptr, nullptr, &count));
    std::vector<cudaGraphNode_t> from(count), to(count);
    std::vector<cudaGraphEdgeData> data(count);  // without room for it, edges that carry some are an error
    CUDA_CHECK(GRAPH_CALL(cudaGraphGetEdges)(graph, from.data(), to.data(), data.data(), &count));
    std::vector<std::pair<cudaGraphNode_t, cudaGraphNode_t>> edges;
    for (std::size_t i = 0; i < count; ++i) edges.emplace_back(from[i], to[i]);
    return edges;
}

/// A value that kernels of `graph` can set (cudaGraphSetConditional) and that a conditional node reads. It is
/// `value` again at every launch of the graph; without the flag its value there would be undefined.
[[nodiscard]] inline cudaGraphConditionalHandle make_condition(cudaGraph_t graph, unsigned value) {
    cudaGraphConditionalHandle condition = 0;
    CUDA_CHECK(cudaGraphConditionalHandleCreate(&condition, graph, value, cudaGraphCondAssignDefault));
    return condition;
}

/// A node that runs its body once (cudaGraphCondTypeIf) or again and again (cudaGraphCondTypeWhile) while
/// `condition` is not 0. Returns the body, an empty graph to be filled; it belongs to the node.
[[nodiscard]] inline cudaGraph_t add_conditional(cudaGraph_t graph,
                                                 const std::vector<cudaGraphNode_t>& dependencies,
                                                 cudaGraphConditionalHandle condition,
                                                 cudaGraphConditionalNodeType type) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = condition;
    params.conditional.type = type;
    params.conditional.size = 1;
    add_node(graph, dependencies, params);
    return params.conditional.phGraph_out[0];
}
