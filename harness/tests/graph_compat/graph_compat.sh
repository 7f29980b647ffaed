#!/usr/bin/env bash
# Tests common/graph_compat.cuh without CUDA:  graph_compat.sh COMPILER, in the repository's root
# The test is compiled against a fake of either generation of the graph API, and must pass. Then the helper is spoilt in
# every way that a port might, above all by losing a dependency, and the test must notice.
set -uo pipefail
if (($# != 1)) || [[ ! -f common/graph_compat.cuh ]]; then
    echo "usage: $0 COMPILER, a C++ compiler, in the repository's root" >&2
    exit 2
fi
readonly tests=harness/tests/graph_compat
folder=$(mktemp -d) || exit 2
trap 'rm -rf -- "$folder"' EXIT
checks=0 failures=0

fail() { # sentence
    ((++failures))
    echo "$1" >&2
}

# Compiles the test against one generation, with the headers of a folder, and runs it. Leaves `said`; 3: no program.
run_test() { # compiler, generation, folder that holds common/
    "$1" -std=c++17 -Wall -Wextra -Werror -DFAKE_CUDA -I"$3" -I"$tests/$2" -I. "$tests/edges.cpp" \
        -o "$folder/test" 2>"$folder/said" || return 3
    "$folder/test" >"$folder/said" 2>&1
}

for generation in cuda12 cuda13; do
    ((++checks))
    run_test "$1" "$generation" . || fail "with $generation: $(<"$folder/said")"
done

spoilt() { # what is spoilt, the sed command that does it, the sentence by which the test notices
    mkdir -p "$folder/common"
    cp common/check.cuh "$folder/common/"
    sed "$2" common/graph_compat.cuh >"$folder/common/graph_compat.cuh"
    if cmp -s common/graph_compat.cuh "$folder/common/graph_compat.cuh"; then
        fail "$1: '$2' changes nothing in common/graph_compat.cuh any more"
        return
    fi
    for generation in cuda12 cuda13; do
        ((++checks))
        run_test "$compiler" "$generation" "$folder"
        local status=$?
        if ((status != 1)) || [[ $(<"$folder/said") != *"$3"* ]]; then
            fail "$1, with $generation: exit code $status, and the test says: $(<"$folder/said")"
        fi
    done
}
readonly compiler=$1

spoilt 'all dependencies are lost' 's/dependencies\.size(),/dependencies.size() * 0,/' 'a fork does not have'
spoilt 'all dependencies but one are lost' 's/dependencies\.size(),/dependencies.empty() ? 0u : 1u,/' 'a diamond'
spoilt 'edges are turned round' 's/emplace_back(from\[i\], to\[i\])/emplace_back(to[i], from[i])/' 'a fork does not have'
spoilt 'the last edge is not read' 's/for (std::size_t i = 0; i < count/for (std::size_t i = 1; i < count/' 'a fork'
spoilt 'a conditional node depends on nothing' 's/add_node(graph, dependencies, params);$/(void)dependencies, add_node(graph, {}, params);/' \
    'a conditional node does not wait'
spoilt 'a condition keeps its last value' 's/value, cudaGraphCondAssignDefault/value, 0/' 'a condition does not begin'
spoilt 'edges with data are not asked for it' 's/to\.data(), data\.data(), &count/to.data(), nullptr, \&count/' \
    'cudaError'
spoilt 'graphs are not destroyed' 's/CUDA_CHECK(cudaGraphDestroy(graph));/(void)graph;/' 'a graph outlives its owner'

if ((failures > 0)); then
    echo "$failures of $checks checks of common/graph_compat.cuh failed" >&2
    exit 1
fi
echo "$checks checks of common/graph_compat.cuh passed"
