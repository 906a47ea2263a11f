// Sends POST /cron to a service when its schedule fires.
// docs/providers/aws-template.yaml contains a copy of at most 4096 characters.
const logs = () => require("@aws-sdk/client-cloudwatch-logs");
exports.clientOf = () => new (logs().CloudWatchLogsClient)({});
exports.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
exports.now = Date.now;

// fetch() aborts after five minutes. Over HTTPS, the load balancer accepts HTTP/2 for every service. It rejects an
// HTTP/1.1 request to an HTTP/2 service with 464.
const post = (fire, seconds) =>
  new Promise((resolve) => {
    const url = new URL(`${fire.url}/cron`);
    const headers = { "x-cron-token": fire.token, "x-cron-time": fire.time, "user-agent": "portside-cron" };
    const signal = AbortSignal.timeout(seconds * 1000);
    const session = url.protocol === "https:" ? require("node:http2").connect(url) : undefined;
    const end = (status) => {
      resolve(status);
      session?.destroy();
    };
    const request = session
      ? session.request({ ":method": "POST", ":path": url.pathname, "content-length": 0, ...headers }, { signal })
      : require("node:http").request(url, { method: "POST", headers, signal });
    request.on("response", (response) => {
      const body = session ? request : response;
      body.on("end", () => end(response[":status"] ?? response.statusCode)).resume();
    });
    request.on("close", () => end());
    for (const one of [session, request]) one?.on("error", () => end());
    request.end();
  });

const dayOf = ({ time, zone: timeZone }) =>
  Number(new Intl.DateTimeFormat("en", { timeZone, day: "numeric" }).format(new Date(time)));

const isDue = (fire) => {
  const { only, not } = fire.days ?? { not: [] };
  return only ? only.includes(dayOf(fire)) : !not.includes(dayOf(fire));
};

const write = async ({ log }, severity, json, id) => {
  const at = `${exports.now()}000000`;
  const message = JSON.stringify({ portside: 1, at, id, log: "platform", severity, json });
  const { CreateLogStreamCommand, PutLogEventsCommand } = logs();
  const client = exports.clientOf();
  const place = { logGroupName: log.group, logStreamName: log.stream };
  const put = new PutLogEventsCommand({ ...place, logEvents: [{ timestamp: exports.now(), message }] });
  try {
    await client.send(put).catch(async (error) => {
      if (error.name !== "ResourceNotFoundException") throw error;
      await client.send(new CreateLogStreamCommand(place)).catch(() => {});
      await client.send(put);
    });
  } catch (error) {
    console.error("a fire's entry was not written", error.name);
  }
};

const isFailed = (status) => !status || status === 464 || status >= 500;

const sentence = (fire, status, ms, at) => {
  const outcome = status === undefined ? "no response" : `status ${status}`;
  const then = at ? `; next attempt at ${new Date(at).toISOString()}` : isFailed(status) ? "; no more retries" : "";
  return `The schedule '${fire.cron}' fired: ${outcome} after ${ms} ms${then}`;
};

exports.handler = async (fire, context) => {
  if (!isDue(fire)) return { fired: false };
  const begun = exports.now();
  const next = Date.parse(fire.time) + fire.gap * 1000;
  for (let attempt = 1; ; attempt++) {
    const started = exports.now();
    const left = context.getRemainingTimeInMillis() / 1000 - 5;
    const status = await post(fire, Math.max(1, Math.min(fire.seconds, left)));
    const ended = exports.now();
    const delay = isFailed(status) ? fire.delays[attempt - 1] : undefined;
    const hasTime = ended + delay < next && context.getRemainingTimeInMillis() > delay + 10_000;
    const at = hasTime ? ended + delay : undefined;
    const message = sentence(fire, status, ended - started, at);
    const json = { event: "cron", message, scheduled: fire.time, attempt, status, latency_ms: ended - started };
    const severity = at ? "WARNING" : status >= 200 && status <= 299 ? "INFO" : "ERROR";
    await write(fire, severity, json, `${begun}-${attempt}`);
    if (!at) return { fired: true, status };
    await exports.sleep(delay);
  }
};
