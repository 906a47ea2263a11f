/** Sets the seed of every property to `PORTSIDE_SEED` if it is set, to reproduce a failure of any test. */
import fc from "fast-check";

const { PORTSIDE_SEED: seed } = process.env;

if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
