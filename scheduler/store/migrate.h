// Brings a database to the newest version of schemas/sql.
#pragma once

#include "scheduler/store/db.h"

namespace trainyard::scheduler {

// Each missing migration in a transaction of its own, in order; `conflict` when the database is of
// a newer program.
Status migrate(Db& db);

}  // namespace trainyard::scheduler
