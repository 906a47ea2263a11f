/** How a command gets into a network that has been made. https://man7.org/linux/man-pages/man1/nsenter.1.html */

export const isRoot = process.getuid?.() === 0;

/** Where the kernel shows the namespaces of a process. */
export const namespacesOf = (pid: number): string => `/proc/${pid}/ns`;

/**
 * Returns the wrapper of the command. A server that is not root has rights only in the user namespaces of its networks.
 * @param folder of the namespaces
 */
export const enterNetwork = (folder: string): string[] =>
  isRoot
    ? ["nsenter", `--net=${folder}/net`]
    : ["nsenter", `--user=${folder}/user`, `--net=${folder}/net`, "--preserve-credentials"];
