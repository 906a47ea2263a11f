/** The patterns of ignore files, with git's rules. */

export interface IgnoreRules {
  /** @param path relative to the folder of the rules; the path of a folder ends with a slash */
  ignores(path: string): boolean;
}

/** @param texts the contents of the ignore files of one folder */
export const readIgnoreRules = async (texts: readonly string[]): Promise<IgnoreRules> => {
  const { default: ignore } = await import("ignore");
  return (ignore as unknown as () => { add(text: string): IgnoreRules })().add(texts.join("\n"));
};
