// Short names for what a program says of itself, if it prints a line of JSON: TEMP views over PROGRAM.
//
//   printed_json  json
//                 (the first line that begins with {" ; no row if there is none)
//
//   roofs         name unit measured theoretical work how
//                 (of {"roofs": [{"name": ..., ...}, ...]}; a value that is null there, or missing, is NULL)
#pragma once

#include "evidence/database.h"

namespace lab {

/// Makes the views on evidence. Where no program was run by itself, there are none.
void create_output_views(const Database& database);

}  // namespace lab
