/**
 * Yields the pauses between polls of a slow cloud operation, in milliseconds. Each is `growth` times the previous one,
 * up to `longest`.
 */
export function* backoff(first: number, longest: number, growth = 1.5): Generator<number, never> {
  for (let pause = first; ; pause = Math.min(pause * growth, longest)) yield pause;
}
