/** The names of certificate authorities in messages and in the state. */

/**
 * Returns the name of the authority with a directory: its host, and its path unless that is `/directory`. Several
 * authorities may share a host.
 */
export const authorityName = (directory: string): string => {
  const { host, pathname, search } = new URL(directory);
  const path = `${pathname}${search}`;
  return path === "/directory" ? host : `${host}${path}`;
};
