// Evidence as `lab record` writes it, of exports made by hand.
#pragma once

#include "evidence/evidence.h"
#include "hand_made_export.h"
#include "tools/evidence_writer.h"

namespace lab {

struct MadeEvidence {
    TemporaryFolder folder;
    fs::path path = folder.path() / "h200/evidence.sqlite";
    RunRecord run;

    MadeEvidence() { run.provenance["gpu"] = "NVIDIA H200"; }

    /// A further path in the same folder.
    [[nodiscard]] fs::path in(const char* name) const { return folder.path() / name; }

    /// Writes what the run holds, and opens it.
    [[nodiscard]] Evidence written() const {
        write_evidence(run, path);
        return Evidence::open(path);
    }
    template <class Fill>
    [[nodiscard]] Evidence of_export(const Fill& fill) {
        fs::remove(in("export.sqlite"));
        {
            HandMadeExport made(in("export.sqlite"));
            fill(made);
        }
        run.nsys = NsysRun{"", in("export.sqlite"), ""};
        return written();
    }
};

}  // namespace lab
