/**
 * Converts exceptions of Stripe's client to errors of the port by their type:
 * https://docs.stripe.com/error-handling?lang=node
 */
import { type Unavailable, unavailable } from "../../../core/errors.ts";

interface StripeFailure {
  readonly type: string;
  readonly code?: string;
  readonly statusCode?: number;
  readonly requestId?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const isStripeFailure = (cause: unknown): cause is StripeFailure =>
  cause instanceof Error && typeof (cause as { type?: unknown }).type === "string";

/** Long, because an operator must act before a retry can succeed. */
const REFUSED_RETRY_S = 60;
const DOWN_RETRY_S = 5;
const LONGEST_RETRY_S = 300;

const wishedRetry = ({ headers }: StripeFailure): number | undefined => {
  const seconds = Number(headers?.["retry-after"] ?? Number.NaN);
  return seconds > 0 ? Math.min(Math.ceil(seconds), LONGEST_RETRY_S) : undefined;
};

/**
 * Returns the fields that help an operator find the cause. Omits the message, which may contain a part of the key.
 */
export const stripeErrorForLogs = (cause: unknown): Readonly<Record<string, unknown>> => {
  const { type, code, statusCode, requestId } = cause as StripeFailure;
  return { type, code, statusCode, requestId };
};

/** Returns undefined if the exception is not from Stripe's client. Such an exception is a bug. */
export const stripeError = (cause: unknown): Unavailable | undefined => {
  if (!isStripeFailure(cause)) return undefined;
  const wished = wishedRetry(cause);
  switch (cause.type) {
    case "StripeRateLimitError":
      return unavailable(
        "The billing provider received too many requests. Try again later.",
        wished ?? DOWN_RETRY_S,
        cause,
      );
    case "StripeAuthenticationError":
    case "StripePermissionError":
    case "StripeInvalidRequestError":
      return unavailable(
        "The billing provider rejects this platform's requests. The operator can find the reason in the server's log.",
        REFUSED_RETRY_S,
        cause,
      );
    default:
      return unavailable("The billing provider does not respond. Try again.", wished ?? DOWN_RETRY_S, cause);
  }
};
