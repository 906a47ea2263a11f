/** The authority's advice about renewals: RFC 9773. */
import { z } from "zod";
import { type Instant, parseInstant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { RenewalAdvice } from "../../../core/ports/certificate-authority.ts";
import { readAll } from "../../shared/domains/der.ts";
import { leafOf } from "./certificate-chain.ts";

const AUTHORITY_KEY_IDENTIFIER = Buffer.from("0603551d23", "hex");
const EXTENSIONS_TAG = 0xa3;
const KEY_IDENTIFIER_TAG = 0x80;

/** Returns the identifier of the key that signed a certificate (RFC 5280, section 4.2.1.1); undefined if it has none. */
const authorityKeyIdentifier = (certificate: Buffer): Buffer | undefined => {
  const within = (bytes: Buffer | undefined) => (bytes === undefined ? [] : (readAll(bytes) ?? []));
  const fields = within(within(within(certificate)[0]?.content)[0]?.content);
  const list = within(fields.find(({ tag }) => tag === EXTENSIONS_TAG)?.content)[0];
  for (const { content } of within(list?.content)) {
    const parts = within(content);
    if (parts[0]?.encoding.equals(AUTHORITY_KEY_IDENTIFIER) !== true) continue;
    return within(within(parts.at(-1)?.content)[0]?.content).find(({ tag }) => tag === KEY_IDENTIFIER_TAG)?.content;
  }
  return undefined;
};

/** Returns the DER content of the serial number, including the leading zero byte of a number whose first bit is set. */
const serialNumberOf = (certificate: Buffer): Buffer | undefined => {
  const fields = readAll(
    readAll(readAll(certificate)?.[0]?.content ?? Buffer.alloc(0))?.[0]?.content ?? Buffer.alloc(0),
  );
  return fields?.[1]?.content;
};

/**
 * Returns the identifier of a certificate for its authority (section 4.1); undefined if the certificate lacks the
 * fields for it.
 */
export const certificateId = (pem: string): string | undefined => {
  const certificate = leafOf(pem)?.raw;
  if (certificate === undefined) return undefined;
  const [keyIdentifier, serial] = [authorityKeyIdentifier(certificate), serialNumberOf(certificate)];
  return keyIdentifier === undefined || serial === undefined
    ? undefined
    : `${keyIdentifier.toString("base64url")}.${serial.toString("base64url")}`;
};

const instant = z.string().transform((text, context): Instant => {
  const parsed = parseInstant(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({ code: "custom", message: "not an RFC 3339 time" });
  return z.NEVER;
});

export const renewalInfoSchema = z.object({ suggestedWindow: z.object({ start: instant, end: instant }) });

/** The delay if the authority specifies none: section 4.3.2 leaves it to the client. */
const DEFAULT_RETRY_MS = 6 * 3_600_000;

/** Creates the advice. The caller bounds the delay. */
export const adviceOf = (
  { suggestedWindow }: z.infer<typeof renewalInfoSchema>,
  retryAfterMs: number | null,
  now: Instant,
): RenewalAdvice => ({ window: suggestedWindow, askAgainAt: plusMillis(now, retryAfterMs ?? DEFAULT_RETRY_MS) });
