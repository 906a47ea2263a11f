/**
 * Parses the part of TOML that project files and lock files use: https://toml.io/en/v1.0.0. Pure. Takes linear time and
 * stops at the first error.
 */
export type TomlTable = ReadonlyMap<string, TomlValue>;
/** A TOML value. Numbers, booleans and dates are text. */
export type TomlValue = string | readonly TomlValue[] | TomlTable;

type Table = Map<string, TomlValue>;

/** Bounds the stack. No real file nests this deep. */
const MAX_DEPTH = 20;

/** Bounds the memory and CPU time of this process. A typical 4 MiB lock file has fewer than half as many. */
const MAX_KEYS_AND_VALUES = 200_000;

class Malformed extends Error {}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r" };
const SPACE = new Set(" \t\r");
const BLANK = new Set(" \t\r\n");
const ENDS_SCALAR = new Set(" \t\r\n,]}#");

class Reader {
  readonly #text: string;
  #read = 0;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get next(): string {
    return this.#text[this.at] ?? "";
  }

  isAt(mark: string): boolean {
    return this.#text.startsWith(mark, this.at);
  }

  take(mark: string): boolean {
    if (!this.isAt(mark)) return false;
    this.at += mark.length;
    return true;
  }

  need(mark: string): void {
    if (!this.take(mark)) throw new Malformed();
  }

  /** Skips white space and comments. */
  skip(blank = BLANK): void {
    for (;;) {
      while (this.next !== "" && blank.has(this.next)) this.at++;
      if (!this.isAt("#")) return;
      const end = this.#text.indexOf("\n", this.at);
      this.at = end === -1 ? this.#text.length : end;
    }
  }

  /** Counts a key or a value. */
  #count(): void {
    this.#read += 1;
    if (this.#read > MAX_KEYS_AND_VALUES) throw new Malformed();
  }

  #while(accepts: (character: string) => boolean): string {
    const from = this.at;
    while (this.next !== "" && accepts(this.next)) this.at++;
    return this.#text.slice(from, this.at);
  }

  #string(): string {
    const quote = this.next;
    const mark = this.take(quote.repeat(3)) ? quote.repeat(3) : quote;
    if (mark === quote) this.at++;
    const pieces: string[] = [];
    for (;;) {
      pieces.push(this.#while((one) => one !== quote && one !== "\\" && one !== "\n"));
      if (this.take(mark)) return pieces.join("");
      const character = this.next;
      if (character === "" || (character === "\n" && mark === quote)) throw new Malformed();
      this.at++;
      pieces.push(character === "\\" && quote === '"' ? this.#escape() : character);
    }
  }

  #escape(): string {
    const letter = this.next;
    this.at++;
    const digits = { u: 4, U: 8 }[letter];
    if (digits === undefined) return ESCAPES[letter] ?? letter;
    const code = Number.parseInt(this.#text.slice(this.at, this.at + digits), 16);
    this.at += digits;
    if (!(code <= 0x10ffff)) throw new Malformed();
    return String.fromCodePoint(code);
  }

  keys(): string[] {
    const keys: string[] = [];
    do {
      this.#count();
      this.skip(SPACE);
      const isQuoted = this.next === '"' || this.next === "'";
      const key = isQuoted ? this.#string() : this.#while((one) => /[A-Za-z0-9_-]/.test(one));
      if (key === "" && !isQuoted) throw new Malformed();
      keys.push(key);
      this.skip(SPACE);
    } while (this.take("."));
    return keys;
  }

  assign(table: Table, depth: number): void {
    const keys = this.keys();
    this.need("=");
    this.skip(SPACE);
    tableAt(table, keys.slice(0, -1)).set(keys.at(-1) as string, this.#value(depth));
  }

  #value(depth: number): TomlValue {
    this.#count();
    if (depth > MAX_DEPTH) throw new Malformed();
    if (this.next === '"' || this.next === "'") return this.#string();
    if (this.take("[")) {
      const values: TomlValue[] = [];
      this.#list("]", () => values.push(this.#value(depth + 1)));
      return values;
    }
    if (this.take("{")) {
      const table: Table = new Map();
      this.#list("}", () => this.assign(table, depth + 1));
      return table;
    }
    const scalar = this.#while((one) => !ENDS_SCALAR.has(one));
    if (scalar === "") throw new Malformed();
    return scalar;
  }

  #list(end: string, element: () => void): void {
    for (this.skip(); !this.take(end); this.skip()) {
      element();
      this.skip();
      if (!this.isAt(end)) this.need(",");
    }
  }
}

/** Returns the table at the keys, or creates it. A key of an array of tables refers to the last table of the array. */
const tableAt = (root: Table, keys: readonly string[]): Table => {
  let table = root;
  for (const key of keys) {
    const found = table.get(key) ?? new Map<string, TomlValue>();
    if (!table.has(key)) table.set(key, found);
    const inner = Array.isArray(found) ? found.at(-1) : found;
    if (!(inner instanceof Map)) throw new Malformed();
    table = inner;
  }
  return table;
};

const addTable = (root: Table, keys: readonly string[]): Table => {
  const parent = tableAt(root, keys.slice(0, -1));
  const name = keys.at(-1) as string;
  const list = parent.get(name) ?? [];
  if (!Array.isArray(list)) throw new Malformed();
  const table: Table = new Map();
  list.push(table);
  parent.set(name, list);
  return table;
};

const readStatements = (reader: Reader, root: Table): void => {
  let table = root;
  for (reader.skip(); reader.next !== ""; reader.skip()) {
    if (reader.take("[[")) {
      table = addTable(root, reader.keys());
      reader.need("]]");
    } else if (reader.take("[")) {
      table = tableAt(root, reader.keys());
      reader.need("]");
    } else reader.assign(table, 0);
    reader.skip(SPACE);
    if (reader.next !== "" && reader.next !== "\n") throw new Malformed();
  }
};

/** Parses TOML. Returns the line of the first error, counted from 1, if the text is malformed. */
export const readToml = (text: string): { readonly table: TomlTable } | { readonly flawedLine: number } => {
  const table: Table = new Map();
  const reader = new Reader(text);
  try {
    readStatements(reader, table);
    return { table };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { flawedLine: text.slice(0, reader.at).split("\n").length };
  }
};

/** Returns the value at the keys, or undefined. */
const valueAt = (table: TomlTable, keys: readonly string[]): TomlValue | undefined => {
  let value: TomlValue | undefined = table;
  for (const key of keys) value = value instanceof Map ? value.get(key) : undefined;
  return value;
};

export const tomlText = (table: TomlTable, ...keys: readonly string[]): string | undefined => {
  const value = valueAt(table, keys);
  return typeof value === "string" ? value : undefined;
};

export const tomlList = (table: TomlTable, ...keys: readonly string[]): readonly TomlValue[] => {
  const value = valueAt(table, keys);
  return Array.isArray(value) ? value : [];
};

export const tomlTable = (table: TomlTable, ...keys: readonly string[]): TomlTable | undefined => {
  const value = valueAt(table, keys);
  return value instanceof Map ? value : undefined;
};
