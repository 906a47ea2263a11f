/** Session affinity by a cookie that contains the id of an instance. https://www.rfc-editor.org/rfc/rfc6265 */

const COOKIE = "portside_affinity";

/** Returns the instance id in the client's affinity cookie, or undefined if there is no valid one. */
export const affinityInstance = (header: string | undefined): string | undefined => {
  if (header === undefined || !header.includes(COOKIE)) return undefined;
  for (const pair of header.split(";")) {
    const [name, value] = pair.trim().split("=") as [string, string?];
    if (name === COOKIE && value !== undefined && /^[a-z0-9]{1,40}$/.test(value)) return value;
  }
  return undefined;
};

export const affinityCookie = (instance: string): string => `${COOKIE}=${instance}; Path=/; HttpOnly; SameSite=Lax`;
