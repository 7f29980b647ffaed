// Graphs without CUDA: the part of the runtime that common/check.cuh and common/graph_compat.cuh call, kept
// in memory. cuda12/cuda_runtime.h and cuda13/cuda_runtime.h give these functions the names and parameters of
// their toolkits.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorLossyQuery };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
enum cudaGraphNodeType { cudaGraphNodeTypeEmpty, cudaGraphNodeTypeConditional };
enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile };
constexpr unsigned cudaGraphCondAssignDefault = 1;

struct CUgraphNode_st {};
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};
struct CUgraph_st;
using cudaGraph_t = CUgraph_st*;
using cudaGraphNode_t = CUgraphNode_st*;
using cudaGraphConditionalHandle = unsigned long long;

struct FakeEdge {
    cudaGraphNode_t from, to;
    bool has_data;
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
    std::vector<FakeEdge> edges;
    std::vector<std::unique_ptr<CUgraph_st>> bodies;
    cudaGraph_t body = nullptr;  ///< the array of bodies that CUDA owns
};
struct CUgraphExec_st {};
using cudaGraphExec_t = CUgraphExec_st*;

struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalNodeType type;
    unsigned size;
    cudaGraph_t* phGraph_out;
};
struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    cudaConditionalNodeParams conditional;
};

/// What the helpers have asked for.
struct FakeRuntime {
    int graphs = 0, execs = 0;  ///< alive
    unsigned condition_value = 0, condition_flags = 0;
};
inline FakeRuntime fake;

inline cudaError_t fake_add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, std::size_t count,
                                 cudaGraphNodeParams* params) {
    *node = graph->nodes.emplace_back(std::make_unique<CUgraphNode_st>()).get();
    for (std::size_t i = 0; i < count; ++i) graph->edges.push_back({dependencies[i], *node, false});
    if (params->type == cudaGraphNodeTypeConditional) {
        if (params->conditional.size != 1 || params->conditional.handle == 0) return cudaErrorInvalidValue;
        graph->body = graph->bodies.emplace_back(std::make_unique<CUgraph_st>()).get();
        params->conditional.phGraph_out = &graph->body;
    }
    return cudaSuccess;
}

/// With room for edges and none for their data, an edge that has some is an error.
inline cudaError_t fake_get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                  const cudaGraphEdgeData* data, std::size_t* count) {
    for (std::size_t i = 0; from && i < graph->edges.size() && i < *count; ++i) {
        if (graph->edges[i].has_data && !data) return cudaErrorLossyQuery;
        from[i] = graph->edges[i].from, to[i] = graph->edges[i].to;
    }
    *count = graph->edges.size();
    return cudaSuccess;
}

inline cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    *graph = new CUgraph_st, ++fake.graphs;
    return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph, --fake.graphs;
    return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
    *exec = new CUgraphExec_st, ++fake.execs;
    return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec, --fake.execs;
    return cudaSuccess;
}
inline cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t,
                                                    unsigned value, unsigned flags) {
    *handle = 1, fake.condition_value = value, fake.condition_flags = flags;
    return cudaSuccess;
}

// What check.cuh needs of a machine: one GPU, with nothing in it.
inline const char* cudaGetErrorString(cudaError_t) {
    return "an error";
}
inline const char* cudaGetErrorName(cudaError_t) {
    return "cudaError";
}
inline cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
    *value = 9;
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
    *free_bytes = *total_bytes = 0;
    return cudaSuccess;
}
inline cudaError_t cudaFree(void*) {
    return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void*) {
    return cudaSuccess;
}
inline cudaError_t cudaMalloc(void**, std::size_t) {
    return cudaErrorInvalidValue;
}
inline cudaError_t cudaMallocHost(void**, std::size_t) {
    return cudaErrorInvalidValue;
}
