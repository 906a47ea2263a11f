/** Names of the parser's node kinds and keys, and of GoogleSQL's functions and date parts. */

/** Splits a list of words at white space. */
export const wordsOf = (text: string): string[] => text.trim().split(/\s+/);

/** Node kinds that every query may contain. */
export const plainKinds: ReadonlySet<string> = new Set(
  wordsOf(`
    select union intersect except subquery paren column identifier literal boolean null star alias dot table
    and or not eq neq lt lte gt gte add sub mul div mod neg concat in between like is is_null is_true is_false
    case ordered unnest subscript array_func tuple interval var raw_string byte_string data_type over
    window_function is_not_null bitwise_and bitwise_or bitwise_not bitwise_xor similar_to
  `),
);

/** Function kinds whose GoogleSQL name differs from the kind in upper case. */
export const functionNames: Readonly<Record<string, string>> = {
  count_if: "COUNTIF",
  if_func: "IF",
  substring: "SUBSTR",
  str_position: "STRPOS",
  mod_func: "MOD",
  n_tile: "NTILE",
  var_samp: "VARIANCE",
};

/** Node kinds that are queries. */
export const queryKinds: ReadonlySet<string> = new Set(["select", "union", "intersect", "except", "subquery"]);

/** Keys that a select may have. All other keys must be unset. */
export const selectKeys: ReadonlySet<string> = new Set(
  wordsOf("expressions from joins where_clause group_by having qualify order_by limit offset distinct with windows"),
);

/** Keys that a table may have in addition to its name. */
export const tableKeys: ReadonlySet<string> = new Set(
  wordsOf("name schema catalog alias alias_explicit_as column_aliases span"),
);

/** The date parts that EXTRACT, the TRUNC functions and the DIFF functions support. */
export const timeParts = {
  extract: wordsOf(
    "YEAR ISOYEAR QUARTER MONTH WEEK ISOWEEK DAY DAYOFWEEK DAYOFYEAR HOUR MINUTE SECOND MILLISECOND DATE",
  ),
  truncate: wordsOf("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK ISOWEEK MONTH QUARTER YEAR"),
  timestampDiff: wordsOf("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY"),
  dateDiff: wordsOf("DAY MONTH QUARTER YEAR"),
};
