/** A request as a host received it: fields by their wire names, unchecked. */
export type Raw = Readonly<Record<string, unknown>>;
