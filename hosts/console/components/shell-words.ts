/** Builds the shell commands for an action in the console. */

/** Quotes a word for a POSIX shell if it needs quotes. */
export const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** An API request. */
export interface ApiRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** The texts of a form's fields. */
  readonly form?: Readonly<Record<string, string>>;
  /** The paths of a form's files, by their fields. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Returns a `curl` command that reads the key from the variable `PORTSIDE_API_KEY`. */
export const curlOf = (apiUrl: string, { method, path, query = {}, json, form, files = {} }: ApiRequest): string => {
  const search = new URLSearchParams(query).toString();
  const words = ["curl", quote(`${apiUrl}${path}${search === "" ? "" : `?${search}`}`)];
  words.push("-H", '"x-api-key: $PORTSIDE_API_KEY"');
  if (form !== undefined)
    // With `-F`, curl would interpret characters such as `@` and `;` in the text of a field.
    words.push(
      ...Object.entries(form).flatMap(([name, text]) => ["--form-string", quote(`${name}=${text}`)]),
      ...Object.entries(files).flatMap(([name, file]) => ["-F", quote(`${name}=@${file}`)]),
    );
  else if (method === "POST")
    words.push("-H", quote("content-type: application/json"), "-d", quote(JSON.stringify(json ?? {})));
  return words.join(" ");
};

/** Returns a `portside` command. */
export const cliOf = (...words: readonly string[]): string => ["portside", ...words].map(quote).join(" ");
