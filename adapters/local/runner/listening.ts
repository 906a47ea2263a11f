/** Which addresses a set of processes listens on, from /proc/net/tcp and the processes' open files (proc(5)). */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Listener {
  readonly address: string;
  readonly port: number;
}

const LISTEN = "0A";

const ipv4 = (hex: string): string =>
  (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join(".");

const ipv6 = (hex: string): string => {
  const words = (hex.match(/.{8}/g) ?? []).flatMap((word) => {
    const bytes = (word.match(/../g) ?? []).reverse().join("");
    return [bytes.slice(0, 4), bytes.slice(4)];
  });
  if (words.slice(0, 5).every((word) => word === "0000") && words[5]?.toLowerCase() === "ffff")
    return ipv4(hex.slice(24));
  if (words.every((word) => word === "0000")) return "::";
  if (words.slice(0, 7).every((word) => word === "0000") && words[7] === "0001") return "::1";
  return words.map((word) => word.toLowerCase().replace(/^0{1,3}/, "")).join(":");
};

/** The listening sockets in the text of /proc/net/tcp or tcp6, by their inode. Pure. */
export const parseTcpTable = (text: string): Map<string, Listener> => {
  const found = new Map<string, Listener>();
  for (const line of text.split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/);
    if (fields[3] !== LISTEN) continue;
    const [address, port] = (fields[1] as string).split(":") as [string, string];
    const decode = address.length === 8 ? ipv4 : ipv6;
    found.set(fields[9] as string, { address: decode(address), port: Number.parseInt(port, 16) });
  }
  return found;
};

const readTable = (path: string): Map<string, Listener> => {
  try {
    return parseTcpTable(readFileSync(path, "utf8"));
  } catch {
    return new Map();
  }
};

const socketsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1] ?? [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
};

/** Docker's own resolver, which listens in every container. */
const RESOLVER = "127.0.0.11";

/** What listens in the network of a process that has one of its own. */
export const listenersIn = (pid: number): Listener[] =>
  ["tcp", "tcp6"]
    .flatMap((table) => [...readTable(`/proc/${pid}/net/${table}`).values()])
    .filter(({ address }) => address !== RESOLVER);

/** Every listening TCP socket that one of the processes holds. */
export const listenersOf = (pids: readonly number[]): Listener[] => {
  const table = new Map([...readTable("/proc/net/tcp"), ...readTable("/proc/net/tcp6")]);
  const inodes = new Set(pids.flatMap(socketsOf));
  return [...inodes].flatMap((inode) => table.get(inode) ?? []);
};
