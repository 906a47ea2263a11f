/** Yields the pauses between polls of a slow cloud operation, in milliseconds. They grow from short to long. */
const GROWTH = 1.5;

export function* backoff(first: number, longest: number): Generator<number, never> {
  for (let pause = first; ; pause = Math.min(pause * GROWTH, longest)) yield pause;
}
