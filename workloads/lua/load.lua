-- Creates and fills sbtest1, sbtest2, …: the tables of sysbench's own OLTP tests, always with the same rows.
-- The secondary index is there from the start: its pages are then filled the same way by every server version, while
-- versions that build an index on a full table sort first and fill the pages to the brim.

local common = require("cpubisect")

common.declare({})

-- sysbench's own generator follows --rand-seed only while a test runs, not while it prepares.
local SEED = 1

local function digits(groups)
   local all = {}
   for i = 1, groups do
      all[i] = string.format("%011.0f", math.random(0, 99999999999))
   end
   return table.concat(all, "-")
end

local function fill(connection, name)
   connection:query(string.format(
      "CREATE TABLE %s (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER NOT NULL DEFAULT 0, " ..
      "c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', " ..
      "PRIMARY KEY (id), KEY k_%s (k)) ENGINE=InnoDB", name, name))
   connection:bulk_insert_init(string.format("INSERT INTO %s (k, c, pad) VALUES", name))
   for _ = 1, sysbench.opt.table_size do
      connection:bulk_insert_next(string.format("(%d, '%s', '%s')",
         math.random(1, sysbench.opt.table_size), digits(common.C_GROUPS), digits(common.PAD_GROUPS)))
   end
   connection:bulk_insert_done()
end

function prepare()
   math.randomseed(SEED)
   local connection = sysbench.sql.driver():connect()
   for n = 1, sysbench.opt.tables do
      fill(connection, "sbtest" .. n)
   end
   connection:disconnect()
end
