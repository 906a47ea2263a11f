/** How long to wait between looks at something that takes its time at a cloud: first little, then more; milliseconds. */
const GROWTH = 1.5;

export function* pausesBetween(first: number, longest: number): Generator<number, never> {
  for (let pause = first; ; pause = Math.min(pause * GROWTH, longest)) yield pause;
}
