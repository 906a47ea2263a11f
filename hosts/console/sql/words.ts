/** The keywords and types of GoogleSQL that a `SELECT` may use. */
export const keywords = [
  ...["SELECT", "DISTINCT", "AS", "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "ORDER BY", "ASC", "DESC"],
  ...["LIMIT", "OFFSET", "WITH", "UNION ALL", "UNION DISTINCT", "INTERSECT DISTINCT", "EXCEPT DISTINCT"],
  ...["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "ON", "USING", "UNNEST"],
  ...["AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "EXISTS"],
  ...["CASE", "WHEN", "THEN", "ELSE", "END", "OVER", "PARTITION BY", "ROWS", "RANGE", "INTERVAL"],
] as const;

export const types = [
  ...["INT64", "FLOAT64", "NUMERIC", "BOOL", "STRING", "BYTES", "DATE", "DATETIME", "TIME", "TIMESTAMP"],
  ...["ARRAY", "STRUCT", "JSON"],
] as const;
