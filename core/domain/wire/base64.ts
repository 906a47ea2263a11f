/** Base64 of UTF-8 text, in web and Node runtimes. */

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

export const toBase64 = (text: string): string => {
  let binary = "";
  for (const byte of utf8.encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
};

/** Throws if the text is not base64 of UTF-8. */
export const fromBase64 = (encoded: string): string =>
  strictUtf8.decode(Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0)));
