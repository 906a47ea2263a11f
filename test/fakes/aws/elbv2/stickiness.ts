/**
 * Sticky sessions of a load balancer, by cookies that only it reads:
 * - `AWSALB` names a target: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/sticky-sessions.html
 * - `AWSALBTG` names one of a rule's groups, whatever its weight: "the request is routed to the target group specified
 *   in the cookie" (.../application/rule-action-types.html)
 *
 * Each has a second cookie for cross-origin requests, which "will take precedence". "If the cookie is present but
 * cannot be decoded, or if it refers to a target that was deregistered or is unhealthy, the load balancer selects a new
 * target".
 */
type Cookies = ReadonlyMap<string, string>;

/** Browsers keep the cookies for "7 days". A session may end earlier, because the load balancer decides. */
const WEEK_MS = 7 * 86_400_000;

export interface Session {
  readonly group: string;
  readonly target?: string;
}

export type StickyCookie = "AWSALB" | "AWSALBTG";

/**
 * Returns the session in a request's cookie. Returns undefined if there is none or if it has expired.
 * @param now in milliseconds
 */
export const sessionIn = (cookies: Cookies, name: StickyCookie, now: number): Session | undefined => {
  const text = cookies.get(`${name}CORS`) ?? cookies.get(name);
  if (text === undefined) return undefined;
  try {
    const { until, ...session } = JSON.parse(Buffer.from(text, "base64url").toString());
    return now < until ? session : undefined;
  } catch {
    return undefined;
  }
};

/** Returns both cookies as values of `set-cookie`. Every response renews them. */
export const cookiesFor = (name: StickyCookie, session: Session, seconds: number, now: number): readonly string[] => {
  const text = Buffer.from(JSON.stringify({ ...session, until: now + seconds * 1000 })).toString("base64url");
  const attributes = `Expires=${new Date(now + WEEK_MS).toUTCString()}; Path=/`;
  return [`${name}=${text}; ${attributes}`, `${name}CORS=${text}; ${attributes}; SameSite=None; Secure`];
};
