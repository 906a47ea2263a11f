/** Which addresses a set of processes listens on, from /proc/net/tcp and the processes' open files (proc(5)). */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";

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

/** Not in this thread: the kernel walks its whole hash of connections for each table, which takes milliseconds. */
const readTables = async (folder: string): Promise<Map<string, Listener>> => {
  const read = (name: string) => readFile(`${folder}/${name}`, "utf8").catch(() => "");
  const texts = await Promise.all(["tcp", "tcp6"].map(read));
  return new Map(texts.flatMap((text) => [...parseTcpTable(text)]));
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
export const listenersIn = async (pid: number): Promise<Listener[]> =>
  [...(await readTables(`/proc/${pid}/net`)).values()].filter(({ address }) => address !== RESOLVER);

/** The line of each family that counts its TCP sockets. https://man7.org/linux/man-pages/man5/proc_pid_net.5.html */
const COUNTS = [
  { file: "sockstat", line: /^TCP: inuse \d+/m },
  { file: "sockstat6", line: /^TCP6: inuse \d+/m },
];

/**
 * How many TCP sockets there are in the network of a process, which is much cheaper to read than their tables; undefined
 * where the kernel does not tell.
 */
export const countSocketsIn = (pid: number): string | undefined => {
  try {
    return COUNTS.map(({ file, line }) => line.exec(readFileSync(`/proc/${pid}/net/${file}`, "utf8"))?.[0]).join();
  } catch {
    return undefined;
  }
};

/** Every listening TCP socket that one of the processes holds. */
export const listenersOf = async (pids: readonly number[]): Promise<Listener[]> => {
  const table = await readTables("/proc/net");
  const inodes = new Set(pids.flatMap(socketsOf));
  return [...inodes].flatMap((inode) => table.get(inode) ?? []);
};

/** By its file: the kernel calls Node's main thread "MainThread". */
const nameOf = (pid: number): string => {
  try {
    return `${basename(readlinkSync(`/proc/${pid}/exe`))} (process ${pid})`;
  } catch {
    return `process ${pid}`;
  }
};

/** The program that listens at an address, or at every address of its family; undefined where this user may not see it. */
export const holderOf = async (address: string, port: number): Promise<string | undefined> => {
  const table = await readTables("/proc/net");
  const family = address.includes(":") ? ["::"] : ["0.0.0.0", "::"];
  const inodes = [...table].flatMap(([inode, one]) =>
    one.port === port && [address, ...family].includes(one.address) ? [inode] : [],
  );
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const holder = pids.find((pid) => socketsOf(pid).some((inode) => inodes.includes(inode)));
  return holder === undefined ? undefined : nameOf(holder);
};
