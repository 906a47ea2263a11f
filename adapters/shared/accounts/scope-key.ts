/** Returns a map key for a deployment of an account. A name alone does not identify a deployment. */
export const scopeKey = (owner: string, name: string): string => `${owner}\n${name}`;
