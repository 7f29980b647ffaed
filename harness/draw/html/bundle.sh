#!/usr/bin/env bash
# Makes d3.min.js, the parts of d3 that timeline.js uses, from the sources that d3 publishes. Needs git, the network and
# esbuild 0.17 (Debian has it). The same versions give the same bytes.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd "$work"
mkdir node_modules
modules=(d3/d3-{array@v3.2.4,axis@v3.0.0,color@v3.1.0,dispatch@v3.0.1,drag@v3.0.0,ease@v3.0.1,format@v3.1.2}
    d3/d3-{interpolate@v3.0.1,scale@v4.0.2,selection@v3.0.0,time@v3.1.0,time-format@v4.1.0,timer@v3.0.1}
    d3/d3-{transition@v3.0.1,zoom@v3.0.0} mbostock/internmap@v2.0.3)
for module in "${modules[@]}"; do
    repository=${module%@*}
    git -c advice.detachedHead=false clone -q --depth 1 --branch "${module#*@}" "https://github.com/$repository" \
        "node_modules/${repository#*/}"
done
cat >parts.js <<'END'
export { axisTop } from "d3-axis";
export { format } from "d3-format";
export { scaleLinear } from "d3-scale";
export { select } from "d3-selection";
export { zoom, zoomIdentity } from "d3-zoom";
END
# All but d3-ease have the same licence, whose first line alone differs.
{
    printf '/*! Parts of d3 (https://d3js.org), made by harness/draw/html/bundle.sh from\n%s\n\n' "${modules[*]}"
    cat node_modules/d3-format/LICENSE
    printf '\nd3-ease:\n'
    cat node_modules/d3-ease/LICENSE
    printf '*/\n'
    esbuild parts.js --bundle --minify --format=iife --global-name=d3 --target=es2020
} >d3.min.js
cp d3.min.js "$here"
