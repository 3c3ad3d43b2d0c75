-- What the steps of the insert benchmark share: pi1, pi2, …, one table for each client, and the rows that go into them.

local M = {}

local CASH_REGISTERS = 1000
local PRODUCTS = 10000
local CUSTOMERS = 100000
local PRICES = 500

M.INDEXES = {
   {name = "product", values = PRODUCTS, columns = {"productid", "customerid", "price"}},
   {name = "register", values = CASH_REGISTERS, columns = {"cashregisterid", "customerid", "price"}},
   {name = "market", values = PRICES, columns = {"price", "dateandtime", "customerid"}},
}

local LEAST_DATA = 10
local MOST_DATA = 20
-- A row's time is so many seconds later than 2026 as its key says.
local BEGINNING = 1767225600
local LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
local TEXT = string.rep(LETTERS, 2)

function M.create(connection, name)
   connection:query(string.format(
      "CREATE TABLE %s (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME NOT NULL, " ..
      "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price FLOAT NOT NULL, " ..
      "data VARCHAR(4000) NOT NULL, PRIMARY KEY (transactionid)) ENGINE=InnoDB", name))
end

-- All three indexes in one ALTER.
function M.add_indexes(connection, name)
   local parts = {}
   for i, index in ipairs(M.INDEXES) do
      parts[i] = string.format("ADD INDEX %s (%s)", index.name, table.concat(index.columns, ","))
   end
   connection:query(string.format("ALTER TABLE %s %s", name, table.concat(parts, ", ")))
end

function M.drop_indexes(connection, name)
   local parts = {}
   for i, index in ipairs(M.INDEXES) do
      parts[i] = "DROP INDEX " .. index.name
   end
   connection:query(string.format("ALTER TABLE %s %s", name, table.concat(parts, ", ")))
end

-- Inserts `count` rows in one statement; the first will have the key `first`. `random(a, b)` draws a whole number.
function M.insert(connection, name, first, count, random)
   local rows = {}
   for i = 1, count do
      local length = random(LEAST_DATA, MOST_DATA)
      local start = random(1, #LETTERS)
      rows[i] = string.format("('%s',%d,%d,%d,%d,'%s')",
         os.date("!%Y-%m-%d %H:%M:%S", BEGINNING + first + i - 1), random(1, CASH_REGISTERS), random(1, CUSTOMERS),
         random(1, PRODUCTS), random(1, PRICES), TEXT:sub(start, start + length - 1))
   end
   connection:query(string.format(
      "INSERT INTO %s (dateandtime,cashregisterid,customerid,productid,price,data) VALUES %s",
      name, table.concat(rows, ",")))
end

-- Deletes the `count` oldest rows in one statement; no row has a key below `first`.
function M.delete(connection, name, first, count)
   connection:query(string.format(
      "DELETE FROM %s WHERE transactionid>=%d ORDER BY transactionid LIMIT %d", name, first, count))
end

-- The least and the largest key; 1 and 0 if there are no rows.
function M.keys(connection, name)
   local least, largest = connection:query_row(string.format(
      "SELECT COALESCE(MIN(transactionid),1), COALESCE(MAX(transactionid),0) FROM %s", name))
   return tonumber(least), tonumber(largest)
end

-- The table of the client with a number from 0 on.
function M.table_of(client)
   return "pi" .. client + 1
end

return M
