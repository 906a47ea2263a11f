/** Every property starts from `PORTSIDE_SEED`, where one is given: a failure can be met again, whichever test it was. */
import fc from "fast-check";

const { PORTSIDE_SEED: seed } = process.env;

if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
