/** Block characters of one to eight eighths: https://www.unicode.org/charts/PDF/U2580.pdf */
const BLOCKS = "▁▂▃▄▅▆▇█";

/**
 * Draws values as one line of characters, from 0 to the largest value. A null value is a space.
 * @param width the maximum number of characters; several values that share a character show the largest one
 */
export const sparkline = (values: readonly (number | null)[], width: number): string => {
  const max = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const columns = Math.min(width, values.length);
  const line: string[] = [];
  for (let column = 0; column < columns; column++) {
    const [from, to] = [column, column + 1].map((edge) => Math.floor((edge * values.length) / columns));
    const known = values.slice(from, to).filter((value) => value !== null);
    const share = max === 0 ? 0 : Math.max(...known, 0) / max;
    const level = Math.max(0, Math.ceil(share * BLOCKS.length) - 1);
    line.push(known.length === 0 ? " " : (BLOCKS[level] as string));
  }
  return line.join("");
};
