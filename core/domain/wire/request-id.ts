/** Returns a client's request id, or undefined if it is long or unprintable and could inject into logs or headers. */
export const saneRequestId = (given: string | readonly string[] | undefined): string | undefined =>
  typeof given === "string" && /^[A-Za-z0-9._:/+=-]{1,128}$/.test(given) ? given : undefined;
