/** Removes the values of secrets from text. */

/** Shorter values would match unrelated text. */
const MIN_CHARS = 4;

const utf8 = new TextEncoder();

const base64 = (value: string): string =>
  btoa(Array.from(utf8.encode(value), (byte) => String.fromCharCode(byte)).join(""));

/** Returns the forms in which a service prints a value: plain, quoted, in a URL, and in base64. */
const formsOf = (value: string): string[] => {
  const encoded = base64(value).replace(/=+$/, "");
  const quoted = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value);
  return [
    value,
    // A service prints a value with several lines as several lines of output.
    ...value.split(/\r?\n/),
    quoted,
    url,
    url.replaceAll("%20", "+"),
    new URLSearchParams([["", value]]).toString().slice(1),
    encoded,
    encoded.replaceAll("+", "-").replaceAll("/", "_"),
  ];
};

/** Returns a function that replaces the values in a text. Does not replace values of less than four characters. */
export const redactorOf = (values: readonly string[]): ((text: string) => string) => {
  const forms = [...new Set(values.flatMap(formsOf))]
    .filter((form) => form.length >= MIN_CHARS)
    // A form may contain another one.
    .sort((a, b) => b.length - a.length);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, "[secret]"), text);
};
