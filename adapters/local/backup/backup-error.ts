/** Thrown if a backup cannot be written or restored. The message contains the reason and the next step. */
export class BackupError extends Error {
  override readonly name = "BackupError";
  /** The file or folder that caused the problem. */
  readonly path: string;

  constructor(path: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.path = path;
  }
}
