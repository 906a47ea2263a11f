/** A log message for people: the line as it is, a structured entry as its message and its other fields. */

interface HttpRequest {
  readonly requestMethod?: string;
  readonly requestUrl?: string;
  readonly status?: number;
  readonly latency?: string;
}

const requestText = ({ requestMethod = "", requestUrl = "", status = 0, latency = "" }: HttpRequest): string => {
  const path = requestUrl.replace(/^https?:\/\/[^/]+/, "") || "/";
  const millis = Math.round(Number.parseFloat(latency) * 1000);
  return `${requestMethod} ${path} → ${status} in ${Number.isNaN(millis) ? "?" : millis} ms`;
};

/** Said elsewhere on the line, or of no use to a reader. */
const hidden = new Set(["message", "msg", "severity", "level", "time", "timestamp", "pid", "hostname", "event"]);

const fieldText = ([name, value]: [string, unknown]): string =>
  `${name}=${typeof value === "string" && !/\s/.test(value) ? value : JSON.stringify(value)}`;

export const logText = (message: string): string => {
  if (!message.startsWith("{")) return message;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(message) as Record<string, unknown>;
  } catch {
    return message;
  }
  const { httpRequest } = fields;
  if (typeof httpRequest === "object" && httpRequest !== null) return requestText(httpRequest);
  const said = fields["message"] ?? fields["msg"];
  const rest = Object.entries(fields).filter(([name]) => !hidden.has(name));
  return [...(typeof said === "string" ? [said] : []), ...rest.map(fieldText)].join(" ");
};
