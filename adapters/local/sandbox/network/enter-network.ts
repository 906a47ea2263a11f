/** Runs a command in an existing network namespace. https://man7.org/linux/man-pages/man1/nsenter.1.html */

export const isRoot = process.getuid?.() === 0;

/** Returns the folder of a process's namespaces. */
export const namespacesOf = (pid: number): string => `/proc/${pid}/ns`;

/**
 * Returns the arguments that precede the command. A server that is not root must also enter the network's user
 * namespace, because it has the necessary rights only there.
 * @param folder the folder of the network's namespaces
 */
export const enterNetwork = (folder: string): string[] =>
  isRoot
    ? ["nsenter", `--net=${folder}/net`]
    : ["nsenter", `--user=${folder}/user`, `--net=${folder}/net`, "--preserve-credentials"];
