// Every command of lab, in the order of its help.
#include "lab/command.h"

namespace lab {

void add_commands(Session& session) {
    add_list(session);
    add_doctor(session);
    add_run(session);
    add_start(session);
    add_check(session);
    add_watch(session);
    add_quiz(session);
    add_report(session);
    add_class(session);
    add_analyze(session);
    add_timeline(session);
    add_tools(session);
    add_gate(session);
    add_record(session);
    add_verify(session);
    add_docs(session);
    add_help(session);
    add_completion(session);
}

}  // namespace lab
