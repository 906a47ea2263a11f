/** A DNS server on a loopback address, over UDP and TCP (RFC 1035), with the records that a test publishes. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

export interface ServedRecord {
  readonly name: string;
  readonly type: "A" | "AAAA" | "CNAME" | "NS" | "TXT" | "CAA";
  readonly value: string;
}

/** What the server does with a query: `silent` sends no response, `failing` responds with SERVFAIL. */
export type DnsBehavior = "normal" | "silent" | "failing" | "truncated";

export interface DnsServer extends AsyncDisposable {
  readonly port: number;
  readonly records: ServedRecord[];
  /** The questions that the server received, as `NAME TYPE`. */
  readonly questions: string[];
  /** Returns what the server does with queries for a name. */
  behavior: (name: string) => DnsBehavior;
}

const numbers: Readonly<Record<ServedRecord["type"], number>> = { A: 1, NS: 2, CNAME: 5, TXT: 16, AAAA: 28, CAA: 257 };
const typeOf = new Map(Object.entries(numbers).map(([type, number]) => [number, type as ServedRecord["type"]]));

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);

const ipv6Bytes = (address: string): Buffer => {
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const missing = 8 - groups(head).length - groups(tail ?? "").length;
  const all =
    tail === undefined ? groups(head) : [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)];
  return Buffer.concat(all.map((group) => uint16(Number.parseInt(group, 16))));
};

const strings = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const part = bytes.subarray(at, at + 255);
    parts.push(Buffer.from([part.length]), part);
  }
  return Buffer.concat(parts);
};

const dataOf = ({ type, value }: ServedRecord): Buffer => {
  switch (type) {
    case "A":
      return Buffer.from(value.split(".").map(Number));
    case "AAAA":
      return ipv6Bytes(value);
    case "CNAME":
    case "NS":
      return encodeName(value);
    case "TXT":
      return strings(value);
    case "CAA": {
      const [, flags, tag = "", text = ""] = /^(\d+) (\w+) "(.*)"$/.exec(value) ?? [];
      return Buffer.from([Number(flags), tag.length, ...Buffer.from(tag), ...Buffer.from(text)]);
    }
  }
};

/** Reads the question of a query: its name, its type, and the position of its end. */
const questionOf = (query: Buffer): { name: string; number: number; end: number } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), number: query.readUInt16BE(at + 1), end: at + 5 };
};

/** Starts a server for all names. Like an authoritative server of one zone, it follows no CNAME records. */
export const startDnsServer = async (address = "127.0.0.1"): Promise<DnsServer> => {
  const server = {
    records: [] as ServedRecord[],
    questions: [] as string[],
    behavior: (_name: string): DnsBehavior => "normal",
  };

  const respond = (query: Buffer, isUdp: boolean): Buffer | undefined => {
    const { name, number, end } = questionOf(query);
    const type = typeOf.get(number);
    server.questions.push(`${name} ${type ?? number}`);
    const behavior = server.behavior(name);
    if (behavior === "silent") return undefined;
    const own = server.records.filter((record) => record.name === name);
    const aliases = own.filter((record) => record.type === "CNAME");
    const found = aliases.length > 0 ? aliases : own.filter((record) => record.type === type);
    const isTruncated = behavior === "truncated" && isUdp;
    const answers = behavior === "failing" || isTruncated ? [] : found;
    const code = behavior === "failing" ? 2 : own.length === 0 ? 3 : 0;
    // A response by an authoritative server, with recursion available.
    const flags = uint16(0x8480 | (isTruncated ? 0x0200 : 0) | code);
    const counts = [1, answers.length, 0, 0].map(uint16);
    const rendered = answers.map((record) => {
      const data = dataOf(record);
      return Buffer.concat([
        encodeName(record.name),
        uint16(numbers[record.type]),
        uint16(1),
        Buffer.from([0, 0, 0, 60]),
        uint16(data.length),
        data,
      ]);
    });
    return Buffer.concat([query.subarray(0, 2), flags, ...counts, query.subarray(12, end), ...rendered]);
  };

  const tcp = createServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const response = respond(received.subarray(2), false);
      if (response !== undefined) socket.write(Buffer.concat([uint16(response.length), response]));
    });
  });
  tcp.listen(0, address);
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket(address.includes(":") ? "udp6" : "udp4");
  udp.on("message", (query, { port: from, address: to }) => {
    const response = respond(query, true);
    if (response !== undefined) udp.send(response, from, to);
  });
  udp.bind(port, address);
  await once(udp, "listening");
  return Object.assign(server, {
    port,
    [Symbol.asyncDispose]: async () => {
      udp.close();
      tcp.close();
      await once(tcp, "close");
    },
  });
};
