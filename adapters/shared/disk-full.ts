/** Whether a file could not be written for lack of space: on the disk, in a quota, or below a limit of the file system. */
export const isDiskFull = (error: unknown): boolean =>
  ["ENOSPC", "EDQUOT", "EFBIG"].includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
