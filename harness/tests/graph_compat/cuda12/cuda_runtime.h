// The graph functions that changed, as CUDA 12.4 to 12.9 have them: the plain names know of no edge data, and
// lose what an edge carries; the names that end in _v2 know of it.
#pragma once

#include "../fake_graphs.h"

#define CUDART_VERSION 12040

inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, std::size_t count,
                                    cudaGraphNodeParams* params) {
    return fake_add_node(node, graph, dependencies, count, params);
}
inline cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                       std::size_t count, cudaGraphNodeParams* params) {
    return fake_add_node(node, graph, dependencies, count, params);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     std::size_t* count) {
    return fake_get_edges(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                        cudaGraphEdgeData* data, std::size_t* count) {
    return fake_get_edges(graph, from, to, data, count);
}
