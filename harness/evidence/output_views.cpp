#include "evidence/output_views.h"

namespace lab {

void create_output_views(const Database& database) {
    if (!database.has_table("PROGRAM")) return;
    database.execute(R"(
CREATE TEMP VIEW printed_json AS
SELECT substr(line, 1, instr(line, char(10)) - 1) AS json
FROM (SELECT substr(text, instr(text, char(10) || '{"') + 1) AS line
      FROM (SELECT char(10) || stdout || char(10) AS text FROM main.PROGRAM)
      WHERE instr(text, char(10) || '{"') > 0);
CREATE TEMP VIEW roofs AS
SELECT json_extract(roof.value, '$.name') AS name, json_extract(roof.value, '$.unit') AS unit,
       json_extract(roof.value, '$.measured') AS measured,
       json_extract(roof.value, '$.theoretical') AS theoretical,
       json_extract(roof.value, '$.work') AS work, json_extract(roof.value, '$.how') AS how,
       json_extract(roof.value, '$.clock_Hz') AS clock
FROM printed_json, json_each(printed_json.json, '$.roofs') AS roof;
)");
}

}  // namespace lab
