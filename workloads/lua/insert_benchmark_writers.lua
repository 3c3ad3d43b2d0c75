-- What goes on beside qr and qp: of each table one thread inserts rows at a given rate, and one deletes the oldest.

local ffi = require("ffi")
local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({
   rows_per_commit = {"Rows of each INSERT or DELETE", 50},
   rows_per_second = {"Rows that each thread is to write in a second", 100},
})

ffi.cdef[[
typedef struct { long s; long ns; } cpubisect_time;
int clock_gettime(int clock, cpubisect_time *now);
int usleep(unsigned int us);
]]

local CLOCK_MONOTONIC = 1
local LONGEST_SLEEP_S = 0.5

local connection
local name
local inserts
local least
local largest
local due

local function now()
   local time = ffi.new("cpubisect_time")
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time.s) + tonumber(time.ns) / 1e9
end

local function sleep_until(moment)
   local left = moment - now()
   while left > 0 do
      ffi.C.usleep(math.ceil(math.min(left, LONGEST_SLEEP_S) * 1e6))
      left = moment - now()
   end
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   name = benchmark.table_of(math.floor(sysbench.tid / 2))
   inserts = sysbench.tid % 2 == 0
   least, largest = benchmark.keys(connection, name)
   due = now()
end

function event()
   local rows = sysbench.opt.rows_per_commit
   sleep_until(due)
   due = due + rows / sysbench.opt.rows_per_second
   if inserts then
      benchmark.insert(connection, name, largest + 1, rows, sysbench.rand.uniform)
      largest = largest + rows
   else
      benchmark.delete(connection, name, least, rows)
      least = least + rows
   end
end

function thread_done()
   connection:disconnect()
end
