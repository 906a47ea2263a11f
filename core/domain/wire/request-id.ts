/**
 * Returns a client's request id, or undefined if the id is too long or has characters that are unsafe in logs or
 * headers.
 */
export const saneRequestId = (given: string | readonly string[] | undefined): string | undefined =>
  typeof given === "string" && /^[A-Za-z0-9._:/+=-]{1,128}$/.test(given) ? given : undefined;
