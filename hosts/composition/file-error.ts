/** Formats file system errors as one sentence with the path, without Node's error code and system call. */

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EISDIR: "is a folder, not a file",
  EACCES: "cannot be opened: permission denied",
  EPERM: "cannot be opened: the operation is not permitted",
  ELOOP: "cannot be opened: its path has too many links",
  ENAMETOOLONG: "cannot be opened: its path is too long",
  EMFILE: "cannot be opened: this process has too many open files",
  ENOTDIR: "cannot be opened: a part of its path is a file, not a folder",
};

/** Removes Node's error code prefix and system call suffix. */
const plainMessage = ({ message }: Error): string => message.replace(/^[A-Z]+: /, "").replace(/, [a-z]+ '.*$/s, "");

export const formatFileError = (path: string, error: NodeJS.ErrnoException): string =>
  `'${path}' ${reasons[error.code ?? ""] ?? `cannot be used: ${plainMessage(error)}`}.`;
