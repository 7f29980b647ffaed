// The graph functions that changed, as CUDA 13 has them: the plain names take edge data, and there is no _v2.
#pragma once

#include "../fake_graphs.h"

#define CUDART_VERSION 13000

inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                    std::size_t count, cudaGraphNodeParams* params) {
    return fake_add_node(node, graph, dependencies, count, params);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     cudaGraphEdgeData* data, std::size_t* count) {
    return fake_get_edges(graph, from, to, data, count);
}
