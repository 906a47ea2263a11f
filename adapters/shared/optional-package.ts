/** Packages that are installed only where somebody wants what they are for. */

/** One that is used, and not there. */
export class MissingPackage extends Error {
  /** The command that brings it. */
  readonly fix: string;

  /** @param who what needs it, as the beginning of a sentence: `The provider gcp` */
  constructor(who: string, names: readonly string[], cause: unknown) {
    const fix = `npm install ${names.join(" ")}`;
    const quoted = names.map((name) => `'${name}'`).join(" and ");
    super(`${who} needs the ${names.length === 1 ? "package" : "packages"} ${quoted}: ${fix}`, { cause });
    this.fix = fix;
  }
}

/** What `load` gives; throws `MissingPackage` where a module is not found. */
export const needPackages = async <T>(who: string, names: readonly string[], load: () => Promise<T>): Promise<T> => {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new MissingPackage(who, names, cause);
  }
};

export const isInstalled = (name: string): boolean => {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
};
