/** One key for what belongs to a deployment of an account: it is matched by both, never by the name alone. */
export const scopeKey = (owner: string, name: string): string => `${owner}\n${name}`;
