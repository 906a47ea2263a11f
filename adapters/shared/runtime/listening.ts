/** Finds the addresses that processes listen on, from /proc/net/tcp and the open files of the processes (proc(5)). */
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

/** Parses /proc/net/tcp or tcp6. Returns the listening sockets by inode. Pure. */
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

/** Reads asynchronously, because each table takes milliseconds: the kernel walks its whole connection hash. */
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

/** The address of Docker's resolver, which listens in every container. */
const RESOLVER = "127.0.0.11";

/** Returns the listeners in the network namespace of a process. */
export const listenersIn = async (pid: number): Promise<Listener[]> =>
  [...(await readTables(`/proc/${pid}/net`)).values()].filter(({ address }) => address !== RESOLVER);

/** The lines that count the TCP sockets of each family: https://man7.org/linux/man-pages/man5/proc_pid_net.5.html */
const COUNTS = [
  { file: "sockstat", line: /^TCP: inuse \d+/m },
  { file: "sockstat6", line: /^TCP6: inuse \d+/m },
];

/**
 * Returns the numbers of TCP sockets in the network namespace of a process as text, or undefined if the kernel does not
 * report them. Reading the numbers is much cheaper than reading the tables.
 */
export const countSocketsIn = (pid: number): string | undefined => {
  try {
    return COUNTS.map(({ file, line }) => line.exec(readFileSync(`/proc/${pid}/net/${file}`, "utf8"))?.[0]).join();
  } catch {
    return undefined;
  }
};

/** Returns the listening TCP sockets that the processes have open. */
export const listenersOf = async (pids: readonly number[]): Promise<Listener[]> => {
  const table = await readTables("/proc/net");
  const inodes = new Set(pids.flatMap(socketsOf));
  return [...inodes].flatMap((inode) => table.get(inode) ?? []);
};

/** Uses the name of the executable, because the kernel calls Node's main thread "MainThread". */
const nameOf = (pid: number): string => {
  try {
    return `${basename(readlinkSync(`/proc/${pid}/exe`))} (process ${pid})`;
  } catch {
    return `process ${pid}`;
  }
};

/**
 * Returns the name of the program that listens on an address, or on all addresses of its family. Returns undefined if
 * this user lacks permission to see the program.
 */
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
