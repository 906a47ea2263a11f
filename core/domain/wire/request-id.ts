/** Request ids: a client's own where it is short and printable, so that it cannot write into logs or headers. */
export const saneRequestId = (given: string | readonly string[] | undefined): string | undefined =>
  typeof given === "string" && /^[A-Za-z0-9._:/+=-]{1,128}$/.test(given) ? given : undefined;
